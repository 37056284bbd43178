//! Isolation of package runners (`npx`, `pnpm dlx`, …) from their working folder. They prefer its
//! `node_modules` and `.npmrc`, which in a cloned repository is a stranger's code, run with the user's
//! tokens. This module changes such a command so that it takes the package from the registry, as it would in
//! an empty folder; the server's working folder stays. `docs/security.md` has the findings for each runner.
//!
//! # Layout
//! - `npmrc`: npm's machine-wide settings, which `--prefix` would hide.
//! - `local`: detection of the package in the workspace, for the hint of a failed start.

mod local;
mod npmrc;

use crate::command_line::{self, FoundRunner, Runner};
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use switchboard_process::child::Launch;
use switchboard_process::private;

pub(crate) use local::hint;

const NPM_SHELL: &str = include_str!("npm-shell.sh");
const BUN_NODE: &str = include_str!("bun-node.sh");

/// Variable that tells `bun-node.sh` the server's working folder.
const WORKING_FOLDER: &str = "SWITCHBOARD_WORKING_FOLDER";

/// Folder for isolated runners, inside our state folder.
#[derive(Clone, Debug)]
pub(crate) struct PackagesFolder(PathBuf);

impl PackagesFolder {
    pub(crate) fn new(state_folder: &Path) -> Self {
        Self(state_folder.join("packages"))
    }

    /// Folder without packages and settings.
    fn empty(&self) -> PathBuf {
        self.0.join("empty")
    }

    fn npm_shell(&self) -> PathBuf {
        self.0.join("npm-shell")
    }

    /// Folder with nothing but our `node`.
    fn bun(&self) -> PathBuf {
        self.0.join("bun")
    }

    /// Creates the files that [`isolate`](Self::isolate) refers to.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        let bun_programs = self.bun().join("node_modules").join(".bin");
        for folder in [&self.0, &self.empty(), &bun_programs] {
            private::folder(folder)?;
        }
        private::script(&self.npm_shell(), NPM_SHELL.as_bytes())?;
        private::script(&bun_programs.join("node"), BUN_NODE.as_bytes())
    }

    /// Changes the launch of a package runner so that it ignores its working
    /// folder. False for other commands.
    pub(crate) fn isolate(&self, launch: &mut Launch) -> bool {
        let Some(FoundRunner { runner, flags_at, .. }) = command_line::find(&launch.program, &launch.args)
        else {
            return false;
        };
        let mut flags = Vec::new();
        match runner {
            // The user's own flags come later on the command line, and the last one wins.
            Runner::Npm => {
                flags.push(flag("--prefix=", &self.empty()));
                // npm puts the workspace's `node_modules/.bin` in front of PATH; our shell, a
                // POSIX script, removes it again.
                if cfg!(unix) {
                    flags.push(flag("--script-shell=", &self.npm_shell()));
                }
                // `--prefix` also moves npm's machine-wide settings, which may name a company's registry.
                if let Some(file) = npmrc::machine_wide(&launch.env) {
                    set(&mut launch.env, "npm_config_globalconfig", file.into());
                }
            }
            // `--dir` changes what pnpm reads, not where the server works.
            Runner::Pnpm => flags.push(flag("--dir=", &self.empty())),
            Runner::Bun => {
                // Settings, packages and PATH follow bunx's working folder, so it starts in ours, whose
                // `node` changes back. That is a POSIX script: on Windows the server would stay in our folder.
                if cfg!(unix) {
                    flags.push(flag("--cwd=", &self.bun()));
                    if let Some(cwd) = launch.cwd.clone().or_else(|| std::env::current_dir().ok()) {
                        set(&mut launch.env, WORKING_FOLDER, cwd.into());
                    }
                }
            }
            // These runners read no settings and run no code of the workspace.
            Runner::Uv | Runner::Pipx => return false,
            Runner::Yarn => {
                // `yarnPath` in a workspace's settings names a program that yarn runs first of all.
                set(&mut launch.env, "YARN_IGNORE_PATH", "1".into());
                set(&mut launch.env, "YARN_RC_FILENAME", unguessable().into());
            }
        }
        // The workspace's `packageManager` may name any version of pnpm or yarn, even by URL.
        set(&mut launch.env, "COREPACK_ENABLE_PROJECT_SPEC", "0".into());
        // Windows searches the working folder before PATH.
        if cfg!(windows) {
            set(&mut launch.env, "NoDefaultCurrentDirectoryInExePath", "1".into());
        }
        keep_absolute_folders(&mut launch.env);
        launch.args.splice(flags_at..flags_at, flags);
        true
    }
}

/// Random file name that no workspace can contain.
fn unguessable() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let random = || BuildHasher::hash_one(&RandomState::new(), 0);
        format!(".switchboard-{:016x}{:016x}.yml", random(), random())
    })
}

fn flag(name: &str, path: &Path) -> OsString {
    let mut flag = OsString::from(name);
    flag.push(path);
    flag
}

/// Sets a variable that has no value yet.
fn set(env: &mut Vec<(OsString, OsString)>, name: &str, value: OsString) {
    if !env.iter().any(|(known, _)| is_name(known, name)) {
        env.push((name.into(), value));
    }
}

/// Case-insensitive: npm accepts its variables in capitals, and Windows ignores case.
fn is_name(name: &OsStr, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

/// Removes relative entries of PATH, such as `./node_modules/.bin`: they are folders of the workspace.
fn keep_absolute_folders(env: &mut [(OsString, OsString)]) {
    for (_, value) in env.iter_mut().filter(|(name, _)| is_name(name, "PATH")) {
        let folders = std::env::split_paths(value).filter(|folder| folder.is_absolute());
        if let Ok(kept) = std::env::join_paths(folders.collect::<Vec<_>>()) {
            *value = kept;
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn launch(words: &[&str], env: &[(&str, &str)]) -> Launch {
        let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        Launch {
            program: words[0].into(),
            args: words[1..].iter().map(OsString::from).collect(),
            env: env.iter().map(pair).collect(),
            cwd: Some("/work".into()),
        }
    }

    fn isolated(words: &[&str], env: &[(&str, &str)]) -> Launch {
        let mut launch = launch(words, env);
        assert!(PackagesFolder(PathBuf::from("/state/packages")).isolate(&mut launch), "{words:?}");
        launch
    }

    #[track_caller]
    fn check(words: &[&str], expect: &str) {
        let args = isolated(words, &[("PATH", "/none")]).args;
        let shown: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
        assert_eq!(shown.join(" "), expect);
    }

    #[test]
    fn flags_go_before_the_package() {
        let npm = "--prefix=/state/packages/empty --script-shell=/state/packages/npm-shell";
        check(&["npx", "-y", "thing"], &format!("{npm} -y thing"));
        check(&["npm", "exec", "thing"], &format!("{npm} exec thing"));
        check(&["cmd", "/c", "npx", "thing"], &format!("/c npx {npm} thing"));
        check(&["pnpm", "dlx", "thing"], "--dir=/state/packages/empty dlx thing");
        check(&["pnpx", "thing"], "--dir=/state/packages/empty thing");
        check(&["bunx", "thing"], "--cwd=/state/packages/bun thing");
        check(&["bun", "x", "thing"], "x --cwd=/state/packages/bun thing");
        check(&["yarn", "dlx", "thing"], "dlx thing");
    }

    #[test]
    fn other_commands_stay_as_they_are() {
        for words in [&["node", "x.js"][..], &["uvx", "thing"], &["npm", "start"], &["npxx"]] {
            let mut changed = launch(words, &[("PATH", "./bin:/bin")]);
            assert!(!PackagesFolder("/state/packages".into()).isolate(&mut changed));
            assert!(changed == launch(words, &[("PATH", "./bin:/bin")]), "{words:?}");
        }
    }

    #[test]
    fn the_users_own_variables_stay() {
        let launch = isolated(&["yarn", "dlx", "x"], &[("YARN_RC_FILENAME", "mine"), ("PATH", "./a:/b::/c")]);
        let value = |name: &str| launch.env.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        assert_eq!(value("YARN_RC_FILENAME"), Some(&"mine".into()));
        assert_eq!(value("YARN_IGNORE_PATH"), Some(&"1".into()));
        assert_eq!(value("PATH"), Some(&"/b:/c".into()));
    }
}

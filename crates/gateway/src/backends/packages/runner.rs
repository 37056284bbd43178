//! Which commands are package runners, and where their flags go. Pure.

use std::ffi::{OsStr, OsString};

/// Runners that are told in the same way what to ignore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runner {
    Npm,
    Pnpm,
    Bun,
    Yarn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) runner: Runner,
    /// Where in the arguments its flags go.
    pub(super) flags_at: usize,
}

/// The runner that a command line starts, itself or through `cmd /c` or `env`.
pub(super) fn find(program: &OsStr, args: &[OsString]) -> Option<Found> {
    let name = base_name(program);
    let own = match name.as_str() {
        "npx" => Some((Runner::Npm, 0)),
        "pnpx" => Some((Runner::Pnpm, 0)),
        "bunx" => Some((Runner::Bun, 0)),
        "npm" => subcommand(args, &["exec", "x"]).map(|_| (Runner::Npm, 0)),
        "pnpm" => subcommand(args, &["dlx"]).map(|_| (Runner::Pnpm, 0)),
        "bun" => subcommand(args, &["x"]).map(|at| (Runner::Bun, at + 1)),
        "yarn" => subcommand(args, &["dlx"]).map(|at| (Runner::Yarn, at + 1)),
        _ => None,
    };
    if let Some((runner, flags_at)) = own {
        return Some(Found { runner, flags_at });
    }
    let inner = match name.as_str() {
        "cmd" => args.iter().position(|arg| arg.eq_ignore_ascii_case("/c")).map(|at| at + 1),
        "env" => args.iter().position(|arg| !arg.as_encoded_bytes().contains(&b'=')),
        _ => None,
    }?;
    let (program, rest) = args.get(inner..)?.split_first()?;
    let found = find(program, rest)?;
    Some(Found { flags_at: inner + 1 + found.flags_at, ..found })
}

/// Without folder and ending, in small letters: `C:\node\npx.CMD` is `npx`.
fn base_name(program: &OsStr) -> String {
    let text = program.to_string_lossy();
    let name = text.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let endings = [".cmd", ".exe", ".bat", ".ps1"];
    let bare = endings.iter().find_map(|ending| name.strip_suffix(ending));
    bare.unwrap_or(&name).to_owned()
}

/// Where one of these subcommands is, if it is the command's own: behind flags, and values of flags.
fn subcommand(args: &[OsString], names: &[&str]) -> Option<usize> {
    let mut may_be_value = false;
    for (at, arg) in args.iter().enumerate() {
        let arg = arg.to_string_lossy();
        if names.contains(&&*arg) {
            return Some(at);
        }
        let is_flag = arg.starts_with('-');
        if !is_flag && !may_be_value {
            return None;
        }
        may_be_value = is_flag && !arg.contains('=');
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: Option<(Runner, usize)>) {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let found = find(&words[0], &words[1..]);
        assert_eq!(found.map(|found| (found.runner, found.flags_at)), expect, "{line}");
    }

    #[test]
    fn runners_are_recognised() {
        check("npx thing", Some((Runner::Npm, 0)));
        check("/usr/local/bin/npx thing", Some((Runner::Npm, 0)));
        check(r"C:\nodejs\NPX.CMD thing", Some((Runner::Npm, 0)));
        check("npm exec -- thing", Some((Runner::Npm, 0)));
        check("npm x thing", Some((Runner::Npm, 0)));
        check("npm.cmd --loglevel silent exec thing", Some((Runner::Npm, 0)));
        check("pnpm --silent dlx thing", Some((Runner::Pnpm, 0)));
        check("pnpx thing", Some((Runner::Pnpm, 0)));
        check("bunx.exe thing", Some((Runner::Bun, 0)));
        check("bun x thing", Some((Runner::Bun, 1)));
        check("yarn dlx thing", Some((Runner::Yarn, 1)));
        check("cmd /c npx thing", Some((Runner::Npm, 2)));
        check("cmd.exe /d /C npx.cmd thing", Some((Runner::Npm, 3)));
        check("/usr/bin/env A=1 npx thing", Some((Runner::Npm, 2)));
        check("env bun x thing", Some((Runner::Bun, 2)));
    }

    #[test]
    fn other_commands_are_none() {
        for line in [
            "node npx",
            "npm run exec",
            "npm start",
            "npm",
            "pnpm exec thing",
            "bun run x",
            "bun server.ts x",
            "yarn start",
            "uvx thing",
            "env A=1",
            "cmd /k npx thing",
            "cmd /c",
            "npxx thing",
        ] {
            check(line, None);
        }
    }
}

//! Recognition of package runners, and of the place for their flags. Pure.

use std::ffi::OsStr;

/// Package runners; those of one variant read the same flags and the same variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    Npm,
    Pnpm,
    Bun,
    Yarn,
    Uv,
    Pipx,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoundRunner {
    pub(crate) runner: Runner,
    /// Index at which flags can be inserted.
    pub(crate) flags_at: usize,
    /// Index of the runner's first own argument.
    pub(super) args_at: usize,
    /// Index of the subcommand that makes it a runner, such as `exec`.
    pub(super) subcommand_at: Option<usize>,
    /// False for `uv run`, whose command comes from the project in the working folder.
    pub(super) names_package: bool,
}

/// Finds the runner that a command line starts, directly or through `cmd /c` or `env`.
pub(crate) fn find(program: &OsStr, args: &[impl AsRef<OsStr>]) -> Option<FoundRunner> {
    let inner = unwrapped(program, args);
    let (program, own) = match inner {
        0 => (program, args),
        _ => (args[inner - 1].as_ref(), &args[inner..]),
    };
    let whole = |runner| Some((runner, 0, None));
    let behind = |runner, at: Option<usize>| at.map(|at| (runner, at + 1, Some(at)));
    let (runner, flags_at, subcommand_at) = match base_name(program).as_str() {
        "npx" => whole(Runner::Npm),
        "pnpx" => whole(Runner::Pnpm),
        "bunx" => whole(Runner::Bun),
        "uvx" => whole(Runner::Uv),
        // Flags of these may precede the subcommand.
        "npm" => subcommand(own, &["exec", "x"]).map(|at| (Runner::Npm, 0, Some(at))),
        "pnpm" => subcommand(own, &["dlx"]).map(|at| (Runner::Pnpm, 0, Some(at))),
        "bun" => behind(Runner::Bun, subcommand(own, &["x"])),
        "yarn" => behind(Runner::Yarn, subcommand(own, &["dlx"])),
        "pipx" => behind(Runner::Pipx, subcommand(own, &["run"])),
        "uv" => behind(Runner::Uv, tool_run(own).or_else(|| subcommand(own, &["run"]))),
        _ => None,
    }?;
    let names_package = base_name(program) != "uv" || tool_run(own).is_some();
    Some(FoundRunner {
        runner,
        flags_at: inner + flags_at,
        args_at: inner,
        subcommand_at: subcommand_at.map(|at| inner + at),
        names_package,
    })
}

/// Number of arguments that `cmd /c` and `env A=1` take in front of the command
/// they start, including its name.
pub(super) fn unwrapped(program: &OsStr, args: &[impl AsRef<OsStr>]) -> usize {
    let start = match base_name(program).as_str() {
        // Other flags of `cmd` may stand before `/c`.
        "cmd" => args.iter().position(|arg| arg.as_ref().eq_ignore_ascii_case("/c")).map(|at| at + 1),
        "env" => args.iter().position(|arg| !arg.as_ref().as_encoded_bytes().contains(&b'=')),
        _ => None,
    };
    match start.and_then(|start| Some((start, args.get(start)?))) {
        // Wrappers may be nested.
        Some((start, program)) => start + 1 + unwrapped(program.as_ref(), &args[start + 1..]),
        None => 0,
    }
}

/// Base name without extension, in lower case: `C:\node\npx.CMD` is `npx`.
pub(super) fn base_name(program: &OsStr) -> String {
    let text = program.to_string_lossy();
    let name = text.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let endings = [".cmd", ".exe", ".bat", ".ps1"];
    let bare = endings.iter().find_map(|ending| name.strip_suffix(ending));
    bare.unwrap_or(&name).to_owned()
}

/// Index of `run` in `uv tool run`.
fn tool_run(args: &[impl AsRef<OsStr>]) -> Option<usize> {
    let tool = subcommand(args, &["tool"])?;
    let run = args.get(tool + 1).filter(|next| next.as_ref() == "run");
    run.map(|_| tool + 1)
}

/// Index of one of these subcommands, if only flags and their values precede it.
pub(super) fn subcommand(args: &[impl AsRef<OsStr>], names: &[&str]) -> Option<usize> {
    let mut may_be_value = false;
    for (at, arg) in args.iter().enumerate() {
        let arg = arg.as_ref().to_string_lossy();
        if names.contains(&&*arg) {
            return Some(at);
        }
        let is_flag = arg.starts_with('-');
        if !is_flag && !may_be_value {
            return None;
        }
        // A flag without `=` may take the next word as its value.
        may_be_value = is_flag && !arg.contains('=');
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: Option<(Runner, usize)>) {
        let words: Vec<&str> = line.split(' ').collect();
        let found = find(words[0].as_ref(), &words[1..]);
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
        check("cmd /c env A=1 npx thing", Some((Runner::Npm, 4)));
        check("uvx thing", Some((Runner::Uv, 0)));
        check("uv tool run thing", Some((Runner::Uv, 2)));
        check("uv --offline run server.py", Some((Runner::Uv, 2)));
        check("pipx run thing", Some((Runner::Pipx, 1)));
    }

    #[test]
    fn other_commands_are_no_runners() {
        for line in [
            "node npx",
            "npm run exec",
            "npm start",
            "npm",
            "pnpm exec thing",
            "bun run x",
            "bun server.ts x",
            "yarn start",
            "uv sync",
            "pipx list",
            "env A=1",
            "cmd /k npx thing",
            "cmd /c",
            "npxx thing",
        ] {
            check(line, None);
        }
    }
}

//! Relative paths in a server's entry, which mean another file in every working
//! folder. Pure: the disk is not read.

use crate::command_line::{self, Package};
use crate::config::ServerConfig;

/// Words in the name of a variable or flag whose value is a path.
const PATH_WORDS: &[&str] =
    &["PATH", "PATHS", "FILE", "FILES", "DIR", "DIRS", "DIRECTORY", "FOLDER", "FOLDERS", "CWD"];

/// Flags whose value is text, even with a slash: `Europe/Berlin`, `Mozilla/5.0`.
const TEXT_FLAGS: &[&str] =
    &["TIMEZONE", "TIME-ZONE", "LOCAL-TIMEZONE", "TZ", "USER-AGENT", "HEADER", "HEADERS"];

/// File extensions of typical arguments.
const FILE_ENDINGS: &[&str] = &[
    ".cfg", ".conf", ".crt", ".csv", ".db", ".env", ".ini", ".js", ".json", ".jsonl", ".log", ".md", ".mjs",
    ".pem", ".py", ".sqlite", ".toml", ".ts", ".txt", ".yaml", ".yml",
];

/// Place of the first relative path in a server's launch. Never its value, which
/// may be a secret with a slash.
pub(super) fn first_relative(server: &ServerConfig) -> Option<String> {
    // A remote server has no working folder.
    if server.remote.is_some() {
        return None;
    }
    if server.cwd.as_ref().is_some_and(|cwd| !is_anchored(cwd)) {
        return Some("cwd".to_owned());
    }
    if server.command.contains(['/', '\\']) && !is_anchored(&server.command) {
        return Some("command".to_owned());
    }
    let argument = relative_argument(server).map(|at| format!("args[{at}]"));
    argument.or_else(|| {
        let mut env = server.env.iter();
        env.find(|(name, value)| is_relative_value(name, value)).map(|(name, _)| format!("env.{name}"))
    })
}

fn relative_argument(server: &ServerConfig) -> Option<usize> {
    let started = command_line::started(&server.command, &server.args);
    let (flags, paths, package) = match started {
        // The package itself may contain a slash: `@scope/name`, `ghcr.io/owner/name`.
        Some(started) => {
            let is_program = matches!(started.package, Package::Program(_));
            (started.flags, started.paths, started.at.filter(|_| !is_program))
        }
        None => (0..0, Vec::new(), None),
    };
    let by_runner = paths.iter().filter(|(_, path)| is_file(path)).map(|(at, _)| *at);
    let own = (0..server.args.len())
        .filter(|at| !flags.contains(at) && Some(*at) != package)
        .filter(|&at| is_relative_word(&server.args, at));
    by_runner.chain(own).min()
}

/// Whether a path means the same in every folder: absolute, or starting with a variable or `~`.
fn is_anchored(path: &str) -> bool {
    let has_drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    has_drive || path.starts_with(['/', '\\', '~']) || path.starts_with("${")
}

/// Whether an argument after the runner's flags is a relative path, or a flag with one.
fn is_relative_word(args: &[String], at: usize) -> bool {
    let arg = args[at].as_str();
    let flag_before = || at.checked_sub(1).and_then(|at| args[at].strip_prefix("--")).unwrap_or_default();
    let (flag, value) = match arg.split_once('=') {
        Some((flag, value)) if flag.starts_with('-') => (flag.trim_start_matches('-'), value),
        Some(_) | None if arg.starts_with('-') => ("", arg),
        Some(_) | None => (flag_before(), arg),
    };
    let is_text = || TEXT_FLAGS.iter().any(|text| text.eq_ignore_ascii_case(flag));
    let looks_like_path =
        || value.contains(['/', '\\']) || FILE_ENDINGS.iter().any(|ending| value.ends_with(ending));
    match value.strip_prefix('@') {
        // `@FILE` stands for the file's content.
        Some(file) => is_file(file),
        None if is_text() => is_dotted(value),
        None if value.starts_with('-') => value.contains('/') && is_file(value),
        None => is_relative_value(flag, value) || (looks_like_path() && is_file(value)),
    }
}

/// `.`, `..`, `./x`, `..\x`.
fn is_dotted(path: &str) -> bool {
    matches!(path.split(['/', '\\']).next(), Some("." | ".."))
}

/// Whether a value that names a file does so by a relative path.
fn is_file(value: &str) -> bool {
    // Variables such as `LOG_FILE` may also be switches.
    let is_switch = matches!(value, "" | "0" | "1" | "true" | "false");
    !is_anchored(value) && !value.contains("://") && !is_switch
}

fn is_relative_value(name: &str, value: &str) -> bool {
    let is_path = || name.to_ascii_uppercase().split(['_', '-']).any(|word| PATH_WORDS.contains(&word));
    is_dotted(value) || (is_path() && is_file(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known::relative_path;

    #[track_caller]
    fn check(line: &str, expect: Option<&str>) {
        let mut words = line.split(' ').map(str::to_owned);
        let command = words.next().unwrap();
        let server = ServerConfig::for_command("s", command, words.collect());
        assert_eq!(relative_path(&server).as_deref(), expect, "{line}");
    }

    #[track_caller]
    fn check_env(name: &str, value: &str, is_relative: bool) {
        let mut server = ServerConfig::for_command("s", "x", Vec::new());
        server.env.push((name.to_owned(), value.to_owned()));
        let expect = is_relative.then(|| format!("env.{name}"));
        assert_eq!(relative_path(&server), expect, "{name}={value}");
    }

    #[test]
    fn words() {
        check("npx -y @scope/thing@1 --verbose", None);
        check("npx -y --package=@scope/thing bin", None);
        check("npx -y @scope/thing @scope/other", Some("args[2]"));
        check("docker run -i ghcr.io/github/github-mcp-server", None);
        check("docker run -i -v .:/data mcp/time", Some("args[3]"));
        check("docker run -i -v /data:/data mcp/time", None);
        check("cmd /c npx -y @scope/thing", None);
        check("x ./data", Some("args[0]"));
        check("x --flag .", Some("args[1]"));
        check("x ..", Some("args[0]"));
        check(r"x ..\data", Some("args[0]"));
        check(r"x .\data", Some("args[0]"));
        check("x .hidden", None);
        check("x a/b", Some("args[0]"));
        check("x --file=a/b", Some("args[0]"));
        check("x --file=./b", Some("args[0]"));
        check("x --file=/a/b", None);
        check("x --env-file .env", Some("args[1]"));
        check("x --db-path=data.db", Some("args[0]"));
        check("x --db-path /data.db --read-file --verbose", None);
        check("uvx --cache-dir /c --env-file /e thing", None);
        check("x --url=https://x/y https://x/y", None);
        check("x /a/b ~/c ${root}/d C:/e C:\\f", None);
        check("x --tz Europe/Berlin --timezone=Europe/Berlin --user-agent=Mozilla/5.0", None);
        check("x --tz ./zones", Some("args[1]"));
        check("x Europe/Berlin", Some("args[0]"));
        check("x --header A:b/c --headers A:b/c", None);
        check("x --info @/a/b @~/c", None);
        check("x --info @b.json", Some("args[1]"));
        check("x --config rules.json", Some("args[1]"));
        check("x --config=rules.json", Some("args[0]"));
        check(r"x data\rules", Some("args[0]"));
        check("x api.example.com 1.2.3", None);
        check("env A=./x uvx thing", Some("args[0]"));
        check("env A=1 bin/thing", Some("args[1]"));
        check("docker run --platform linux/amd64 -e A=b/c -v d:/e mcp/time", None);
        check("node node_modules/thing/index.js", Some("args[0]"));
        check("node /x/node_modules/thing/index.js", None);
    }

    #[test]
    fn command_and_folder() {
        check("./server", Some("command"));
        check("bin/server", Some("command"));
        check(r"bin\server", Some("command"));
        check("/bin/server", None);
        check("~/bin/server", None);
        check("server", None);
        for (cwd, is_relative) in
            [("sub", true), (".", true), ("/sub", false), ("${root}", false), ("~", false)]
        {
            let mut server = ServerConfig::for_command("s", "x", Vec::new());
            server.cwd = Some(cwd.to_owned());
            assert_eq!(relative_path(&server), is_relative.then(|| "cwd".to_owned()));
        }
    }

    #[test]
    fn variables() {
        check_env("DATA", "./x", true);
        check_env("DATA", "..", true);
        check_env("DATA", "a/b", false);
        check_env("MEMORY_FILE_PATH", "memory.json", true);
        check_env("CONFIG_DIR", "conf", true);
        check_env("CONFIG_DIR", "/conf", false);
        check_env("CONFIG_DIR", "${HOME}/conf", false);
        check_env("DATABASE_PATH", "sqlite://x", false);
        check_env("LOG_FILE", "true", false);
        check_env("PATHOS", "x", false);
        check_env("PROFILE", "x", false);
    }
}

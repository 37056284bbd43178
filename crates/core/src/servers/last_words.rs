//! The output of an ended process, and the one line of it that names the cause. Knows how package runners and
//! language runtimes report errors. Must not know the process itself.

/// Limit on stderr lines in an error answer.
const MAX_STDERR_LINES: usize = 20;

/// The output of a process before it ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastWords {
    /// The last lines of stderr.
    stderr: String,
    /// Stdout lines that are not messages: some servers print their errors there.
    stdout: String,
    cause: Option<String>,
}

impl LastWords {
    pub(crate) fn new(stderr: &str, stdout: String) -> Self {
        // From all of stderr: the cause may be above the lines that are kept.
        let cause = cause_line(stderr).or_else(|| cause_line(&stdout));
        let lines: Vec<&str> = stderr.lines().collect();
        let last = lines[lines.len().saturating_sub(MAX_STDERR_LINES)..].join("\n");
        Self { stderr: last, stdout, cause }
    }

    pub(crate) fn stderr(&self) -> &str {
        &self.stderr
    }

    pub(crate) fn stdout(&self) -> &str {
        &self.stdout
    }

    /// Appends the line that names the cause, since many clients show only the message of an error.
    pub(crate) fn after(&self, text: String) -> String {
        match &self.cause {
            Some(line) => format!("{text}; it said: {line}"),
            None => text,
        }
    }
}

/// The line that names the cause; if none is recognised, the last line that is not just a reference.
fn cause_line(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    // Most specific first: an `error:` line may also occur within the other reports.
    let known = [python, exception, panic, npm, uv, error];
    known.iter().find_map(|find| find(&lines)).or_else(|| last(&lines))
}

/// The exception at the end of a Python traceback; of an exception group, the innermost one.
fn python(lines: &[&str]) -> Option<String> {
    const HEAD: &str = "Traceback (most recent call last):";
    let head = lines.iter().rposition(|line| line.ends_with(HEAD))?;
    let margin = lines[head].len() - HEAD.len();
    let body = lines[head + 1..].iter().filter_map(|line| line.get(margin..));
    // Frames are indented; the exception is not.
    let raised = body.into_iter().find(|line| !line.starts_with([' ', '\t']))?;
    Some(raised.to_owned())
}

/// An uncaught exception of Node or the JVM, followed by a stack: `TypeError: …`, `Error [ERR_X]: …`.
fn exception(lines: &[&str]) -> Option<String> {
    let is_name = |name: &str| {
        let name = name.rsplit(' ').next().unwrap_or(name);
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '$');
        name.chars().all(is_word) && (name.ends_with("Error") || name.ends_with("Exception"))
    };
    let names_one = |line: &&str| {
        let Some((name, _)) = line.split_once(": ") else { return false };
        is_name(name.split(" [").next().unwrap_or(name)) && !line.starts_with("npm ")
    };
    let is_frame = |line: &&str| line.trim_start().starts_with("at ");
    let stack = lines.iter().rposition(is_frame)?;
    // The message may span several lines, and mention other exceptions.
    let at = lines[..stack].iter().rposition(names_one)?;
    // `fetch failed` says nothing without its cause.
    let cause = lines[at..].iter().find_map(|line| line.trim_start().strip_prefix("[cause]: "));
    Some(match cause {
        Some(cause) => format!("{} (cause: {})", lines[at].trim(), cause.trim_end_matches(" {")),
        None => lines[at].trim().to_owned(),
    })
}

/// A panic of Rust (with the message on the next line) or Go.
fn panic(lines: &[&str]) -> Option<String> {
    let at = lines.iter().rposition(|line| line.contains("' panicked at ") || line.starts_with("panic: "))?;
    match lines[at].strip_prefix("panic: ") {
        Some(_) => Some(lines[at].to_owned()),
        None => lines.get(at + 1).map(|message| format!("panicked: {}", message.trim())),
    }
}

/// The first line of npm that is a sentence. Codes come before it, advice and the path of a log after it. If
/// npm only reports that a script failed, the script's own output has the cause.
fn npm(lines: &[&str]) -> Option<String> {
    const FIELDS: &[&str] = &["code ", "syscall ", "errno ", "path ", "dest ", "signal "];
    const SCRIPT: &[&str] = &["command ", "Lifecycle script ", "workspace ", "location "];
    let said = |line: &&str| {
        let rest = line.strip_prefix("npm error").or_else(|| line.strip_prefix("npm ERR!"))?;
        Some(rest.trim().to_owned())
    };
    let begins = |line: &str, words: &[&str]| words.iter().any(|word| line.starts_with(word));
    let before_log = lines.iter().filter_map(said).take_while(|line| !line.starts_with("A complete log "));
    let all: Vec<String> = before_log.filter(|line| !line.is_empty()).collect();
    let first = all.first()?;
    let is_sentence = |line: &&String| !begins(line, FIELDS) && !begins(line, SCRIPT);
    let others: Vec<&str> = lines.iter().filter(|line| said(line).is_none()).copied().collect();
    match (all.iter().find(is_sentence), last(&others)) {
        (Some(sentence), _) => Some(format!("npm error {sentence}")),
        (None, Some(other)) => Some(other),
        (None, None) => Some(format!("npm error {first}")),
    }
}

/// The report of uv: `× what` with `╰─▶ why` below it, wrapped.
fn uv(lines: &[&str]) -> Option<String> {
    let at = lines.iter().rposition(|line| line.trim_start().starts_with("× "))?;
    let parts = lines[at..].iter().map(|line| line.trim_start_matches([' ', '×', '│', '├', '╰', '─', '▶']));
    let is_end = |line: &&str| line.starts_with("hint:") || line.starts_with("help:");
    Some(parts.take_while(|line| !is_end(line)).collect::<Vec<_>>().join(" "))
}

/// The usual output of command-line programs: `error: …`, with `Caused by: …` below it; of pip the last
/// `ERROR: …`.
fn error(lines: &[&str]) -> Option<String> {
    let begins = |line: &&str| line.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("error: "));
    let at = lines.iter().rposition(begins)?;
    let root = lines[at..].iter().rev().find_map(|line| line.trim_start().strip_prefix("Caused by: "));
    Some(match root {
        Some(root) => format!("{}: {root}", lines[at]),
        None => lines[at].to_owned(),
    })
}

fn last(lines: &[&str]) -> Option<String> {
    const POINTERS: &[&str] = &[
        "Node.js v",
        "note: run with `RUST_BACKTRACE",
        "For more information, try ",
        "[notice] ",
        "npm notice",
        "npm warn",
    ];
    let is_pointer = |line: &&&str| POINTERS.iter().any(|pointer| line.trim().starts_with(pointer));
    // A reference is better than no line at all.
    let last = lines.iter().rev().find(|line| !is_pointer(line)).or(lines.last())?;
    Some(last.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stderr: &str, expect: &str) {
        assert_eq!(cause_line(stderr).as_deref(), Some(expect));
    }

    #[test]
    fn npm_names_cause_not_log() {
        check(
            "npm error code E404\n\
             npm error 404 Not Found - GET http://127.0.0.1:1/no-such-server - Not found\n\
             npm error 404\n\
             npm error 404  'no-such-server@*' is not in this registry.\n\
             npm error A complete log of this run can be found in: /home/me/.npm/_logs/x-debug-0.log",
            "npm error 404 Not Found - GET http://127.0.0.1:1/no-such-server - Not found",
        );
        check(
            "npm error code ECONNREFUSED\n\
             npm error syscall connect\n\
             npm error errno ECONNREFUSED\n\
             npm error FetchError: request to http://127.0.0.1:9/x failed, reason: connect ECONNREFUSED 127.0.0.1:9\n\
             npm error     at ClientRequest.<anonymous> (/npm/minipass-fetch/lib/index.js:130:14)\n\
             npm error   code: 'ECONNREFUSED',\n\
             npm error }\n\
             npm error A complete log of this run can be found in: /x.log",
            "npm error FetchError: request to http://127.0.0.1:9/x failed, reason: connect ECONNREFUSED 127.0.0.1:9",
        );
        check(
            "npm ERR! code ENOTFOUND\nnpm ERR! syscall getaddrinfo\nnpm ERR! errno ENOTFOUND\n\
             npm ERR! network request to http://a.invalid/x failed, reason: getaddrinfo ENOTFOUND a.invalid\n\
             npm ERR! network This is a problem related to network connectivity.\n\
             npm ERR! A complete log of this run can be found in:\nnpm ERR!     /x.log",
            "npm error network request to http://a.invalid/x failed, reason: getaddrinfo ENOTFOUND a.invalid",
        );
        check("npm error code EPERM\nnpm error errno -1", "npm error code EPERM");
        check(
            "API_KEY is not set\nnpm ERR! code 1\nnpm ERR! path /srv\nnpm ERR! command failed\nnpm ERR! command sh -c run\n\n\
             npm ERR! A complete log of this run can be found in:\nnpm ERR!     /x.log",
            "API_KEY is not set",
        );
    }

    #[test]
    fn node_names_exception_above_stack() {
        check(
            "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\n\
             Error: Cannot find module 'nope'\nRequire stack:\n- /srv/[eval]\n    \
             at Module._load (node:internal/modules/cjs/loader:1038:27)\n    at [eval]:1:1 {\n  \
             code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/srv/[eval]' ]\n}\n\nNode.js v20.20.2",
            "Error: Cannot find module 'nope'",
        );
        check(
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'nope' imported from /srv/x.mjs\n    \
             at packageResolve (node:internal/modules/esm/resolve:873:9) {\n  code: 'ERR_MODULE_NOT_FOUND'\n}\n\n\
             Node.js v20.20.2",
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'nope' imported from /srv/x.mjs",
        );
        check(
            "TypeError: fetch failed\n    at [eval]:1:7 {\n  [cause]: Error: connect ECONNREFUSED\n      at [eval]:1:45\n}",
            "TypeError: fetch failed (cause: Error: connect ECONNREFUSED)",
        );
        check(
            "Exception in thread \"main\" java.lang.IllegalStateException: no key\n\tat Main.main(Main.java:3)",
            "Exception in thread \"main\" java.lang.IllegalStateException: no key",
        );
    }

    #[test]
    fn python_names_innermost_exception() {
        check(
            "Traceback (most recent call last):\n  File \"s.py\", line 1, in <module>\n    import nope\n\
             ModuleNotFoundError: No module named 'nope'\nsome log line",
            "ModuleNotFoundError: No module named 'nope'",
        );
        check(
            "  + Exception Group Traceback (most recent call last):\n  |   File \"s.py\", line 6, in <module>\n  \
             | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  +-+---------------- 1 ----------------\n    \
             | Traceback (most recent call last):\n    |   File \"s.py\", line 3, in f\n    | ConnectionError: no db\n    \
             +------------------------------------",
            "ConnectionError: no db",
        );
        check("/usr/bin/python3: No module named nope", "/usr/bin/python3: No module named nope");
        check(
            "ERROR: Could not find a version that satisfies the requirement nope (from versions: none)\n\
             ERROR: No matching distribution found for nope\n\n[notice] A new release of pip is available: 1 -> 2",
            "ERROR: No matching distribution found for nope",
        );
    }

    #[test]
    fn uv_reports_are_joined() {
        check(
            "  × No solution found when resolving tool dependencies:\n  ╰─▶ Because nope was not found in the package registry and you\n      \
             require nope, we can conclude that your requirements are unsatisfiable.",
            "No solution found when resolving tool dependencies: Because nope was not found in the package registry and \
             you require nope, we can conclude that your requirements are unsatisfiable.",
        );
        check(
            "error: Request failed after 3 retries\n  Caused by: Failed to fetch: `http://127.0.0.1:9/nope/`\n  \
             Caused by: error sending request\n  Caused by: Connection refused (os error 111)",
            "error: Request failed after 3 retries: Connection refused (os error 111)",
        );
    }

    #[test]
    fn others_name_panic_error_or_last_line() {
        check(
            "thread 'main' panicked at src/main.rs:3:5:\nno key\nnote: run with `RUST_BACKTRACE=1` environment variable",
            "panicked: no key",
        );
        check(
            "panic: no key\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:4 +0x2c",
            "panic: no key",
        );
        check(
            "error: the following required arguments were not provided:\n  <FILE>\n\nUsage: s <FILE>\n\n\
             For more information, try '--help'.",
            "error: the following required arguments were not provided:",
        );
        check("starting\nAPI_KEY is not set\n\n", "API_KEY is not set");
        assert_eq!(cause_line(" \n"), None);
    }

    /// The cause may be above the lines that an error contains.
    #[test]
    fn cause_is_found_above_last_lines() {
        let stack: String = (0..40).map(|n| format!("    at f{n} (x.js:1:1)\n")).collect();
        let words = LastWords::new(&format!("Error: no key\n{stack}"), String::new());
        assert_eq!(words.after("x".to_owned()), "x; it said: Error: no key");
        assert_eq!(words.stderr.lines().count(), MAX_STDERR_LINES);
    }
}

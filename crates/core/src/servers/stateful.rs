//! Servers that keep client state between calls, recognised by whole words in the names of their tools. Must
//! not know what a tool does.

use serde::Deserialize;
use std::borrow::Cow;

/// Verdict on a server's state, by the names of its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateHint {
    /// This tool shows that the server keeps client state: a browser, a login, a session.
    Keeps(String),
    /// This tool may indicate the same. `state` in the config decides.
    Doubtful(String),
    /// No indication of state.
    Stateless,
}

/// Prefixes of tools that work on one browser.
const BROWSERS: &[&str] = &["browser_", "puppeteer_", "playwright_"];

/// Whole names.
const NAMES: &[&str] =
    &["sequentialthinking", "new_page", "close_page", "start_process", "read_process_output"];
/// Single words.
const WORDS: &[&str] = &["login", "logout", "connect", "disconnect", "repl"];

/// Pairs of words, the second anywhere after the first.
const PAIRS: &[(&str, &[&str])] = &[
    ("create", &["session"]),
    ("open", &["session", "terminal"]),
    ("close", &["session", "terminal"]),
    ("run", &["python"]),
    ("begin", &["transaction"]),
    ("start", &["transaction", "session"]),
    ("commit", &["transaction"]),
    ("rollback", &["transaction"]),
];

/// Words that may indicate state, or not: `rollback` of a deployment, `session` of a web page.
const DOUBTFUL: &[&str] = &[
    "session",
    "transaction",
    "begin",
    "rollback",
    "terminal",
    "shell",
    "kernel",
    "notebook",
    "attach",
    "switch",
];

/// Verbs of read-only tools: the words after them name what is read.
const LOOKING: &[&str] = &["list", "get", "search", "find", "show", "describe", "count", "read"];

/// Longest list that is scanned for names.
const MAX_SCANNED_LIST_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
struct ToolNames<'a> {
    #[serde(borrow)]
    tools: Vec<ToolName<'a>>,
}

#[derive(Deserialize)]
struct ToolName<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

/// Judges a server by the result of its `tools/list`; `None` if that is too long or malformed.
pub(crate) fn state_hint_of_list(result: &[u8]) -> Option<StateHint> {
    if result.len() > MAX_SCANNED_LIST_BYTES {
        return None;
    }
    let ToolNames { tools } = serde_json::from_slice(result).ok()?;
    Some(state_hint(tools.iter().map(|tool| &*tool.name)))
}

/// Judges a server by the names of all its tools.
pub fn state_hint<'a>(names: impl IntoIterator<Item = &'a str>) -> StateHint {
    let (mut doubtful, mut begin, mut finish) = (None, None, None);
    for name in names {
        if BROWSERS.iter().any(|start| name.starts_with(start)) || NAMES.contains(&name) {
            return StateHint::Keeps(name.to_owned());
        }
        let words = words(name);
        // `list_sessions` reads sessions of others; it does not open one.
        let end = words.iter().position(|word| LOOKING.contains(&&**word)).unwrap_or(words.len());
        let words = &words[..end];
        let has = |wanted: &str| words.iter().any(|word| word == wanted);
        let is_pair = |(first, seconds): &(&str, &[&str])| {
            let behind = words.iter().position(|word| word == first).map(|at| &words[at + 1..]);
            behind.is_some_and(|rest| rest.iter().any(|word| seconds.contains(&&**word)))
        };
        if WORDS.iter().any(|word| has(word)) || PAIRS.iter().any(is_pair) {
            return StateHint::Keeps(name.to_owned());
        }
        begin = begin.or_else(|| has("begin").then_some(name));
        finish = finish.or_else(|| (has("commit") || has("rollback")).then_some(name));
        doubtful = doubtful.or_else(|| DOUBTFUL.iter().any(|word| has(word)).then_some(name));
    }
    match (begin, finish, doubtful) {
        // `commit` alone is typical of version control.
        (Some(begin), Some(_), _) => StateHint::Keeps(begin.to_owned()),
        (_, _, Some(name)) => StateHint::Doubtful(name.to_owned()),
        (_, _, None) => StateHint::Stateless,
    }
}

/// The words of a name in lower case: `createSession`, `create-session` and `create_session` are equal.
fn words(name: &str) -> Vec<Cow<'_, str>> {
    let mut words = Vec::new();
    for part in name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
        let mut start = 0;
        let mut before: Option<char> = None;
        for (at, c) in part.char_indices() {
            if c.is_uppercase() && before.is_some_and(char::is_lowercase) {
                words.push(lower(&part[start..at]));
                start = at;
            }
            before = Some(c);
        }
        words.push(lower(&part[start..]));
    }
    words
}

fn lower(word: &str) -> Cow<'_, str> {
    if word.chars().any(char::is_uppercase) { word.to_lowercase().into() } else { word.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_decide() {
        for name in [
            "browser_navigate",
            "login",
            "user-logout",
            "connectDatabase",
            "db_disconnect",
            "create_session",
            "closeSession",
            "open_new_session",
            "python_repl",
            "run_python",
            "run_python_code",
            "begin_transaction",
            "start_process",
            "sequentialthinking",
        ] {
            assert_eq!(state_hint(["echo", name]), StateHint::Keeps(name.into()), "{name}");
        }
        for name in [
            "connection_info",
            "reconnected",
            "get_login",
            "list_sessions",
            "search_login_events",
            "git_commit",
            "replace_text",
            "replies",
            "loginless",
            "obsession",
            "",
            "get_session_connect",
        ] {
            assert_eq!(state_hint(["echo", name]), StateHint::Stateless, "{name}");
        }
        for name in ["helm_rollback", "session_info", "git_switch", "shell"] {
            assert_eq!(state_hint(["echo", name]), StateHint::Doubtful(name.into()), "{name}");
        }
    }

    #[test]
    fn begin_and_commit_belong_together() {
        assert_eq!(state_hint(["commit", "begin"]), StateHint::Keeps("begin".into()));
        assert_eq!(state_hint(["begin", "rollback"]), StateHint::Keeps("begin".into()));
        assert_eq!(state_hint(["begin"]), StateHint::Doubtful("begin".into()));
        assert_eq!(state_hint(["git_add", "git_commit", "git_status"]), StateHint::Stateless);
    }
}

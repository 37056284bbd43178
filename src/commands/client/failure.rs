//! Failures of a request, as text for people.

use crate::terminal::one_line;
use serde_json::Value;
use std::fmt;
use std::time::Duration;
use switchboard_gateway::runtime::peer::Silence;

/// Lines of a server's stderr that are shown.
const MAX_LAST_LINES: usize = 20;

#[derive(Debug, thiserror::Error)]
pub(in crate::commands) enum Failure {
    /// The answer is an error.
    #[error("{0}")]
    Refused(Fault),
    /// The gateway has closed its output.
    #[error("{0}")]
    Silent(Silence),
    #[error("interrupted")]
    Interrupted,
    #[error("no answer within {} s\n  hint: `--timeout` sets how long to wait", .0.as_secs())]
    TooLate(Duration),
    #[error("the answer to `{0}` is not valid")]
    Odd(&'static str),
    #[error("cannot write the answer: {0}")]
    Unwritten(#[from] std::io::Error),
}

/// An error answer.
#[derive(Debug)]
pub(in crate::commands) struct Fault {
    message: String,
    code: Value,
    data: Value,
    /// Our own hint, and whether it replaces those of the answer.
    hint: Option<String>,
    is_rehinted: bool,
}

impl Fault {
    pub(super) fn read(error: &str) -> Self {
        let error: Value = serde_json::from_str(error).unwrap_or_default();
        let message = error["message"].as_str().unwrap_or("an error without a message");
        Self { code: error["code"].clone(), ..Self::new(message, error["data"].clone()) }
    }

    pub(super) fn new(message: &str, data: Value) -> Self {
        Self { message: message.to_owned(), code: Value::Null, data, hint: None, is_rehinted: false }
    }

    /// Whether the gateway itself has nothing to serve.
    pub(super) fn is_of_config(&self) -> bool {
        self.data["kind"] == "config_error"
    }

    /// Whether our own gateway does not know the tool, prompt or resource.
    pub(super) fn is_unknown_name(&self) -> bool {
        matches!(self.data["kind"].as_str(), Some("unknown_name" | "resource_not_found"))
    }

    /// Candidate servers, if there are several.
    pub(super) fn servers(&self) -> Vec<&str> {
        self.data["servers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    pub(super) fn nearest(&self) -> Option<&str> {
        nearest(&self.data).first().copied()
    }

    pub(super) fn with_hint(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }

    /// Replaces the answer's hints, which are written for programs.
    pub(super) fn with_hint_instead(self, hint: String) -> Self {
        Self { hint: Some(hint), is_rehinted: true, ..self }
    }
}

/// Nearest names: one, or several.
fn nearest(data: &Value) -> Vec<&str> {
    match &data["nearest"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect(),
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        match self.data["kind"].as_str() {
            Some(kind) => write!(f, " ({kind})")?,
            None if self.code.is_null() => {}
            None => write!(f, " ({})", self.code)?,
        }
        if !self.is_rehinted {
            let nearest: Vec<String> = nearest(&self.data).iter().map(|name| format!("`{name}`")).collect();
            let hint = self.data["hint"].as_str().unwrap_or_default();
            if !hint.is_empty() {
                write!(f, "\n  hint: {hint}")?;
            }
            // The gateway's own hint may name them already.
            if !nearest.is_empty() && !hint.contains("did you mean") {
                write!(f, "\n  hint: did you mean {}?", nearest.join(" or "))?;
            }
        }
        self.hint.iter().try_for_each(|hint| write!(f, "\n  hint: {hint}"))?;
        let words: Vec<&str> = self.data["stderr"].as_str().unwrap_or_default().lines().collect();
        let last = &words[words.len().saturating_sub(MAX_LAST_LINES)..];
        last.iter().try_for_each(|line| write!(f, "\n  stderr: {}", one_line(line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_helps_is_shown() {
        for (error, expect) in [
            (r#"{"code":-32602,"message":"no"}"#, "no (-32602)"),
            (r#"{"message":"no","code":-32002,"data":{"kind":"k","hint":"h"}}"#, "no (k)\n  hint: h"),
            (r#"{"message":"no","data":{"nearest":"a"}}"#, "no\n  hint: did you mean `a`?"),
            (r#"{"message":"no","data":{"nearest":["a","b"]}}"#, "no\n  hint: did you mean `a` or `b`?"),
            (r#"{"message":"no","data":{"stderr":"a\nb\u001b\n"}}"#, "no\n  stderr: a\n  stderr: b�"),
            ("5", "an error without a message"),
        ] {
            assert_eq!(Fault::read(error).to_string(), expect);
        }
        let both = r#"{"message":"no","data":{"hint":"did you mean `a`?","nearest":"a"}}"#;
        assert_eq!(Fault::read(both).to_string(), "no\n  hint: did you mean `a`?");
        assert_eq!(Fault::read(both).with_hint_instead("x".into()).to_string(), "no\n  hint: x");
        assert_eq!(
            Fault::read(r#"{"message":"no"}"#).with_hint(Some("x".into())).to_string(),
            "no\n  hint: x"
        );
    }
}

//! Lines on stderr while a request waits: progress, and log messages of servers. On a terminal, progress and
//! the waiting time share one line that is overwritten; otherwise each progress notification is a line.

use crate::commands::complain;
use crate::terminal::{self, Stream, cut, one_line};
use serde_json::Value;
use std::io::Write;
use std::time::Duration;

/// Longest log message; the rest is cut.
const MAX_LINE_CHARS: usize = 2000;

#[derive(Default)]
pub(super) struct Progress {
    /// Progress token of the watched request.
    token: Option<u64>,
    /// The terminal's current line has text.
    is_on_line: bool,
    /// The server reports progress itself.
    is_reported: bool,
}

/// Shorter waits are not shown.
const QUIET_TIME: Duration = Duration::from_secs(1);

impl Progress {
    pub(super) fn watch(&mut self, token: u64) {
        self.token = Some(token);
    }

    /// Handles a notification: its method and parameters, as raw JSON.
    pub(super) fn hear(&mut self, method: &str, params: &str) {
        // Reports outside a watched request are not shown.
        let Some(token) = self.token else { return };
        let told = match method {
            r#""notifications/progress""# => {
                read(params).filter(|it| it["progressToken"] == token).map(progress)
            }
            r#""notifications/message""# => {
                let Some(text) = read(params).map(message) else { return };
                // The message takes the line; the next report draws the progress again.
                self.wipe();
                return complain(&text);
            }
            _ => None,
        };
        let Some(text) = told else { return };
        self.is_reported = true;
        if !terminal::is_one(Stream::Err) {
            return complain(&text);
        }
        self.draw(&text);
    }

    /// Whether the waiting time should be shown.
    pub(super) fn shows_waiting(&self) -> bool {
        terminal::is_one(Stream::Err) && !self.is_reported
    }

    /// On a terminal, shows the subject and the duration of the wait.
    pub(super) fn wait(&mut self, what: &str, waited: Duration) {
        if waited >= QUIET_TIME && self.shows_waiting() {
            self.draw(&format!("{what}… {} s", waited.as_secs()));
        }
    }

    fn draw(&mut self, text: &str) {
        self.wipe();
        let width = terminal::width(Stream::Err).unwrap_or(80);
        // The last column stays empty: some terminals wrap after it.
        let _ = write!(std::io::stderr(), "{}", cut(text, width.saturating_sub(1)));
        self.is_on_line = true;
    }

    /// Ends the display.
    pub(super) fn clear(&mut self) {
        self.wipe();
        self.token = None;
        self.is_reported = false;
    }

    /// Erases the current line.
    pub(super) fn wipe(&mut self) {
        if std::mem::take(&mut self.is_on_line) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn read(params: &str) -> Option<Value> {
    serde_json::from_str(params).ok()
}

fn progress(params: Value) -> String {
    let (progress, total) = (&params["progress"], &params["total"]);
    let done = match (progress.as_f64(), total.as_f64()) {
        (Some(done), Some(all)) if all > 0.0 => {
            // Servers may report more than the total.
            format!("{progress}/{total} ({:.0} %)", (100.0 * done / all).clamp(0.0, 100.0))
        }
        _ => progress.to_string(),
    };
    match params["message"].as_str() {
        Some(message) => format!("progress: {done} {}", one_line(message)),
        None => format!("progress: {done}"),
    }
}

fn message(params: Value) -> String {
    let level = params["level"].as_str().unwrap_or("info");
    let data = match &params["data"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let logger = params["logger"].as_str().map(|logger| format!(" {logger}:")).unwrap_or_default();
    cut(&one_line(&format!("[{level}]{logger} {data}")), MAX_LINE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_says_how_far_it_is() {
        for (params, expect) in [
            (json!({ "progress": 1 }), "progress: 1"),
            (json!({ "progress": 1, "total": 4 }), "progress: 1/4 (25 %)"),
            (json!({ "progress": 0.5, "total": 0, "message": "a\nb" }), "progress: 0.5 a b"),
        ] {
            assert_eq!(progress(params), expect);
        }
    }

    #[test]
    fn a_log_message_is_one_line() {
        assert_eq!(message(json!({ "level": "error", "data": "a\x1b[2J\nb" })), "[error] a�[2J b");
        assert_eq!(message(json!({ "logger": "l", "data": { "a": 1 } })), "[info] l: {\"a\":1}");
    }
}

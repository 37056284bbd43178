//! The one place that turns causes into error answers: what happened, to whom, and what to do next.

use crate::exchange::Core;
use serde_json::json;
use std::time::Duration;
use switchboard_protocol::{ErrorAnswer, ErrorKind};

/// Why a backend cannot serve a request.
#[derive(Debug, Clone)]
pub(crate) enum Cause {
    /// No process could be made.
    Spawn { reason: String, hint: Option<String> },
    /// A process was made, and ended before it answered the handshake.
    DiedAtStart { how: String, stderr: String, hint: Option<String> },
    Died { how: String, stderr: String },
    /// Too many crashes; nothing is tried for a while.
    BreakerOpen { why: String, wait: Duration },
    Restarted { why: &'static str },
    Stopped,
}

impl Core {
    pub(crate) fn cause(&self, cause: &Cause) -> ErrorAnswer {
        let server = self.server_name();
        match cause {
            Cause::Spawn { reason, hint } => {
                let answer = ErrorAnswer::new(
                    ErrorKind::BackendSpawnFailed,
                    format!("the server `{server}` could not be started: {reason}"),
                );
                let answer = answer.server(server).retryable(false);
                match hint {
                    Some(hint) => answer.hint(hint),
                    None => answer.hint("run `switchboard check` to see what is wrong with its entry"),
                }
            }
            Cause::DiedAtStart { how, stderr, hint } => {
                let more = hint.as_deref().unwrap_or("start it by hand to see more");
                let text = format!("the server `{server}` ended before it answered `initialize`: {how}");
                ErrorAnswer::new(ErrorKind::BackendSpawnFailed, with_stderr(text, stderr))
                    .server(server)
                    .retryable(true)
                    .hint(format!("its own last words are in `data.stderr`; {more}"))
                    .with("stderr", json!(stderr))
            }
            Cause::Died { how, stderr } => {
                let text = format!("the server `{server}` died while it worked on this: {how}");
                ErrorAnswer::new(ErrorKind::BackendUnavailable, with_stderr(text, stderr))
                    .server(server)
                    .retryable(true)
                    .hint("it is being restarted; whether this request took effect is unknown")
                    .with("stderr", json!(stderr))
            }
            Cause::BreakerOpen { why, wait } => {
                let seconds = wait.as_secs().max(1);
                let text = format!("the server `{server}` keeps crashing ({why}); next try in {seconds} s");
                ErrorAnswer::new(ErrorKind::BackendUnavailable, text)
                    .server(server)
                    .retryable(true)
                    .hint("its stderr is in the log folder; fix what makes it crash, then try again")
                    .with("retryAfterMs", json!(wait.as_millis() as u64))
            }
            Cause::Restarted { why } => {
                let text = format!("the server `{server}` was restarted: {why}");
                ErrorAnswer::new(ErrorKind::BackendUnavailable, text)
                    .server(server)
                    .retryable(true)
                    .hint("whether this request took effect is unknown")
            }
            Cause::Stopped => self.shutting_down(),
        }
    }

    pub(crate) fn timed_out(&self, waited: Duration, was_sent: bool) -> ErrorAnswer {
        let server = self.server_name();
        let seconds = waited.as_secs_f64();
        let (text, hint) = if was_sent {
            (
                format!("the server `{server}` did not answer within {seconds:.1} s"),
                "raise `timeout` (calls) or `startTimeout` (handshake) for this server if it needs longer",
            )
        } else {
            (
                format!("the server `{server}` was not ready within {seconds:.1} s"),
                "it is still starting or restarting; its stderr is in the log folder",
            )
        };
        ErrorAnswer::new(ErrorKind::BackendTimeout, text)
            .server(server)
            .retryable(true)
            .hint(hint)
            .with("timeoutMs", json!(waited.as_millis() as u64))
    }

    pub(crate) fn overloaded(&self, what: &str) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::Overloaded, format!("too much at once: {what}"))
            .server(self.server_name())
            .retryable(true)
            .hint("wait for earlier answers before sending more")
    }

    pub(crate) fn shutting_down(&self) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::ShuttingDown, "switchboard is shutting down")
            .server(self.server_name())
            .retryable(false)
            .hint("start it again")
    }

    pub(crate) fn client_too_slow(&self, bytes: usize) -> ErrorAnswer {
        let text = format!("the answer ({bytes} bytes) was dropped: too many earlier answers wait to be read");
        ErrorAnswer::new(ErrorKind::ClientTooSlow, text)
            .server(self.server_name())
            .retryable(true)
            .hint("the client must read its answers")
    }

    pub(crate) fn too_large(&self, whose: &str, bytes: u64) -> ErrorAnswer {
        let text = format!("the {whose} has {bytes} bytes, which is more than is accepted");
        ErrorAnswer::new(ErrorKind::MessageTooLarge, text)
            .server(self.server_name())
            .retryable(false)
            .hint("raise `maxMessageBytes` in the config, or ask for less")
    }

    pub(crate) fn bad_answer(&self, what: &str) -> ErrorAnswer {
        let server = self.server_name();
        ErrorAnswer::new(ErrorKind::BadAnswer, format!("the server `{server}` sent a broken answer: {what}"))
            .server(server)
            .retryable(false)
            .hint("this is a fault of that server; report it there")
    }

    pub(crate) fn not_offered(&self, method: &str) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::MethodNotFound, format!("the method `{method}` is not offered"))
            .hint("use `initialize`")
    }

    pub(crate) fn client_gone(&self) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::ShuttingDown, "the client is gone and cannot answer").retryable(false)
    }
}

/// The last line of stderr belongs into the message itself: many clients show nothing else.
fn with_stderr(text: String, stderr: &str) -> String {
    match stderr.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => format!("{text}; it said: {line}"),
        None => text,
    }
}

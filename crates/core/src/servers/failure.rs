//! The last failure of a server, which outlives the backend.

use crate::moment::Moment;
use crate::servers::Retry;
use serde::Serialize;
use switchboard_protocol::ErrorKind;

/// The last failure of a server. Cleared when a backend answers a handshake, and when the config changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    kind: ErrorKind,
    reason: String,
    hint: Option<String>,
    at: Moment,
}

impl Failure {
    /// `reason` is the redacted message of the error that clients got; for a server that had worked, how it ended.
    pub(crate) fn new(kind: ErrorKind, reason: String, hint: Option<String>, at: Moment) -> Self {
        Self { kind, reason, hint, at }
    }

    pub(crate) fn shown(&self, now: Moment, next_try: Option<Moment>) -> LastError {
        LastError {
            kind: self.kind.name(),
            message: self.reason.clone(),
            hint: self.hint.clone(),
            seconds_ago: now.since(self.at).as_secs(),
            next_try_seconds: seconds_until(now, next_try),
        }
    }
}

/// A failure for people and programs to read, with times relative to now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LastError {
    pub kind: &'static str,
    pub message: String,
    pub hint: Option<String>,
    pub seconds_ago: u64,
    /// Time until the next attempt, if scheduled. Otherwise the next request is the next attempt.
    pub next_try_seconds: Option<u64>,
}

impl LastError {
    /// For a server that was not ready in time, perhaps in an earlier run, without a known result of that start.
    pub(crate) fn not_ready(name: &str, retry: Retry, now: Moment, next_try: Option<Moment>) -> Self {
        Self {
            kind: ErrorKind::BackendTimeout.name(),
            message: format!("the server `{name}` was not ready in time; clients no longer wait for it"),
            hint: Some(format!(
                "once it is fixed, run `switchboard forget {name}` to make clients wait for it again"
            )),
            seconds_ago: retry.since_last_try(now).as_secs(),
            next_try_seconds: seconds_until(now, next_try),
        }
    }
}

fn seconds_until(now: Moment, next_try: Option<Moment>) -> Option<u64> {
    next_try.map(|until| until.since(now).as_secs().max(1))
}

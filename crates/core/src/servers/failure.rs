//! The last failure of a server. It outlives the backend.

use crate::moment::Moment;
use serde::Serialize;
use switchboard_protocol::ErrorKind;

/// The last failure of a server. Cleared when one of its backends answers a handshake, and when the config changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub kind: ErrorKind,
    /// The message of the error that clients got, redacted; for a server that had worked, how it ended.
    pub reason: String,
    pub hint: Option<String>,
    pub at: Moment,
}

/// A failure for people and programs to read, with times relative to now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LastError {
    pub kind: &'static str,
    pub message: String,
    pub hint: Option<String>,
    pub seconds_ago: u64,
    /// Until the next try, if it has a time. Otherwise the next request is the next try.
    pub next_try_seconds: Option<u64>,
}

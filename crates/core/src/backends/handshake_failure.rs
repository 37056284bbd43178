//! Reasons to stop a running process whose handshake failed.

use crate::redact::Secrets;
use std::time::Duration;
use switchboard_protocol::Message;

/// Reason to stop a process that has just been started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HandshakeFailure {
    /// No answer to `initialize`.
    Silent { within: Duration },
    /// An error as the answer to `initialize`.
    Refused { message: String },
}

impl HandshakeFailure {
    pub(crate) fn refused(answer: &Message, secrets: &Secrets) -> Self {
        let answer: serde_json::Value = serde_json::from_slice(answer.bytes()).unwrap_or_default();
        let message = answer["error"]["message"].as_str().unwrap_or("an error without a message");
        // The message goes into errors and logs, and may quote a token.
        Self::Refused { message: secrets.redact(message) }
    }

    pub(crate) fn why(&self) -> &'static str {
        match self {
            Self::Silent { .. } => "it did not answer `initialize`",
            Self::Refused { .. } => "it refused `initialize`",
        }
    }
}

//! Messages in a byte stream: one per line, or each behind a `Content-Length` header.
//!
//! [`Framer`] cuts the stream that comes in; [`Framing`] says what goes around a message on its way out.

mod framer;
#[cfg(test)]
mod tests;

pub use framer::Framer;

use crate::hunt::Glimpse;
use bytes::Bytes;

/// Default of the configurable limit on one message.
pub const DEFAULT_MESSAGE_LIMIT_BYTES: usize = 16 << 20;
/// Largest limit on one message that may be configured: spans are 32 bits wide.
pub const MAX_MESSAGE_LIMIT_BYTES: usize = 1 << 30;

/// How the messages of a stream are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Framing {
    /// One message a line: what every MCP version says.
    #[default]
    Newline,
    /// HTTP-like headers before each message: what some old implementations do.
    ContentLength,
}

impl Framing {
    /// What stands before a message of this length.
    pub fn head(self, length: usize) -> Option<String> {
        match self {
            Self::Newline => None,
            Self::ContentLength => Some(format!("Content-Length: {length}\r\n\r\n")),
        }
    }

    /// What stands behind it.
    pub fn tail(self) -> &'static [u8] {
        match self {
            Self::Newline => b"\n",
            Self::ContentLength => b"",
        }
    }

    pub fn other(self) -> Self {
        match self {
            Self::Newline => Self::ContentLength,
            Self::ContentLength => Self::Newline,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Newline => "newline",
            Self::ContentLength => "content-length",
        }
    }
}

/// One piece of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// What should be a message.
    Message(Bytes),
    /// A message beyond the limit, which is not stored; what was seen of it while it passed.
    TooLong { length: u64, glimpses: Vec<Glimpse> },
    /// Something between messages that cannot be one.
    Noise(Bytes),
}

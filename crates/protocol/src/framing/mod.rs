//! Framing of messages in a byte stream: one per line, or each after a `Content-Length` header.
//!
//! [`Framer`] cuts incoming bytes into frames; [`Framing`] gives the bytes around an outgoing message. Must
//! not know what a message contains.

mod framer;
#[cfg(test)]
mod tests;

pub use framer::Framer;

use crate::hunt::Glimpse;
use bytes::Bytes;

/// Default of the configurable limit on one message.
pub const DEFAULT_MESSAGE_LIMIT_BYTES: usize = 16 << 20;
/// Upper bound of the configurable limit on one message: spans are 32 bits wide.
pub const MAX_MESSAGE_LIMIT_BYTES: usize = 1 << 30;

/// Separator between the messages of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Framing {
    /// One message per line, as every MCP version specifies.
    #[default]
    Newline,
    /// HTTP-like headers before each message, as some old implementations send.
    ContentLength,
}

impl Framing {
    /// Bytes before a message of this length.
    pub fn head(self, length: usize) -> Option<String> {
        match self {
            Self::Newline => None,
            Self::ContentLength => Some(format!("Content-Length: {length}\r\n\r\n")),
        }
    }

    /// Bytes after a message.
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
    /// A candidate for a message.
    Message(Bytes),
    /// A message over the limit. The bytes are dropped; `glimpses` holds the ids seen as they passed.
    TooLong { length: u64, glimpses: Vec<Glimpse> },
    /// Bytes between messages that cannot be a message.
    Noise(Bytes),
}

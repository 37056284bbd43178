//! How messages stand in a byte stream: one per line, or behind a `Content-Length` header.
//!
//! [`Framer`] cuts what comes in; [`Framing`] says what goes around a message on its way out.

mod framer;
#[cfg(test)]
mod tests;

pub use framer::Framer;

use crate::hunt::Glimpse;
use bytes::Bytes;

/// The default limit of a message.
pub const DEFAULT_LIMIT: usize = 16 << 20;
/// The largest limit that may be configured: spans are 32 bits wide.
pub const LARGEST_LIMIT: usize = 1 << 30;

/// The manner of a stream.
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
    /// More than the limit, and not kept; what was seen of it while it passed.
    TooLong { length: u64, glimpses: Vec<Glimpse> },
    /// Something between messages that cannot be one.
    Noise(Bytes),
}

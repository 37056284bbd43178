//! What an MCP message is. Pure: no clock, no files, no threads, no async. Must not know who talks to whom, nor when.
//!
//! # Layout
//! Lowest layer first: a module uses only modules listed before it.
//! - [`json`]: the validating scanner, one pass, nothing decoded.
//! - [`id`], [`method`]: small parts of an envelope.
//! - [`hunt`]: the id inside a line that is broken, or too long to be stored.
//! - [`framing`]: a byte stream cut into frames (newline or `Content-Length`), and frames put around messages.
//! - [`sse`]: a stream of server-sent events cut into events.
//! - [`touch`]: the table of all parts of a message that we may have to read or replace.
//! - [`message`]: one message: its bytes, its kind, the spans of those parts.
//! - [`envelope`]: a frame read into a message.
//! - [`recover`]: the message inside a line that also holds a program's chatter.
//! - [`outgoing`]: the bytes that go out: those that came in, with a few spans replaced, or our own.
//! - [`dialect`]: messages with and without `"jsonrpc":"2.0"`.
//! - [`error`]: error answers of our own.
//! - [`setup`]: the messages that a new peer must get again.

#![forbid(unsafe_code)]

/// The versions of MCP that begin with a handshake, newest first.
pub const HANDSHAKE_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

pub mod json;
pub mod id;
pub mod method;
pub mod hunt;
pub mod framing;
pub mod sse;
pub mod touch;
pub mod message;
pub mod envelope;
pub mod recover;
pub mod outgoing;
pub mod dialect;
pub mod error;
pub mod setup;

pub use dialect::Dialect;
pub use envelope::{Broken, Parsed, parse};
pub use error::{ErrorAnswer, ErrorKind};
pub use framing::{Frame, Framer, Framing};
pub use id::RawId;
pub use message::{Kind, Message};
pub use method::Method;
pub use outgoing::{Outgoing, OutgoingKind, Patch};
pub use setup::{PeerSetup, SetupMessage};
pub use sse::{SseItem, SseParser};
pub use touch::{Part, Span};

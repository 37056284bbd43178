//! What an MCP message is. Pure: no clock, no files, no threads, no async.
//!
//! # Layout, in the order of a message's way
//! - [`framing`]: bytes of a stream, cut into frames (newline or `Content-Length`), and put on again.
//! - [`sse`]: the same for a stream of server-sent events.
//! - [`json`]: the validating scanner, one pass, nothing decoded.
//! - [`touch`]: which places of a message we may have to read or replace.
//! - [`envelope`]: a frame becomes a [`message::Message`]: its bytes, its kind, the spans of those places.
//! - [`hunt`]: the id inside a line that is broken, or too long to be kept.
//! - [`recover`]: the message inside a line that also holds a program's chatter.
//! - [`id`], [`method`], [`dialect`]: small parts of an envelope.
//! - [`splice`]: the bytes that go out: those that came in, with a few places replaced.
//! - [`error`]: the answers that we give ourselves.
//! - [`setup`]: what a new peer must be told again.
//!
//! This crate must not know who talks to whom, nor when.

/// The versions of MCP that begin with a handshake, newest first.
pub const HANDSHAKE_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

pub mod framing;
pub mod sse;
pub mod json;
pub mod touch;
pub mod envelope;
pub mod message;
pub mod hunt;
pub mod recover;
pub mod id;
pub mod method;
pub mod dialect;
pub mod splice;
pub mod error;
pub mod setup;

pub use dialect::Dialect;
pub use envelope::{Broken, Parsed, parse};
pub use error::{ErrorAnswer, ErrorKind};
pub use framing::{Frame, Framer, Framing};
pub use id::RawId;
pub use message::{Kind, Message};
pub use method::Method;
pub use setup::{PeerSetup, SetupMessage};
pub use splice::{Answers, Outgoing, Patch};
pub use sse::{SseItem, SseParser};
pub use touch::{Part, Span};

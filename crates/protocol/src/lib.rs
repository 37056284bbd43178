//! The structure of an MCP message: framing, parsing, ids, splices and error answers. Pure: no clock, no
//! files, no threads, no async. Must not know who talks to whom, or when.
//!
//! # Layout
//! Lowest layer first: a module uses only modules listed before it.
//! - [`json`]: the validating scanner: one pass, no decoding.
//! - [`id`], [`method`]: ids and method names of an envelope. [`error_kind`]: kinds of our own errors.
//! - [`hunt`]: the search for an id in a line that is broken or too long to store.
//! - [`framing`]: frames in a byte stream (newline or `Content-Length`), in both directions.
//! - [`sse`]: the parser for server-sent events.
//! - [`touch`]: the touch table, with every part of a message that we may read or replace.
//! - [`meta_cache`]: the `_meta` that a modern client repeats in each request.
//! - [`message`]: one message with its bytes, its kind and the spans of its parts.
//! - [`envelope`]: the parser from frame to message.
//! - [`prune`]: messages without some of their members.
//! - [`shown_token`]: tokens that clients show in their messages, and their removal.
//! - [`recover`]: messages inside a line of other program output.
//! - [`outgoing`]: outgoing bytes: received ones with a few spans replaced, or our own.
//! - [`dialect`]: envelopes with and without `"jsonrpc":"2.0"`.
//! - [`modern`]: MCP 2026-07-28, whose requests declare version and capabilities themselves.
//! - [`error`]: our own error answers.
//! - [`setup`]: messages to replay to a new peer.
//! - [`http_headers`]: HTTP headers that repeat parts of a modern request.

#![forbid(unsafe_code)]

/// MCP versions that start with a handshake, newest first.
pub const HANDSHAKE_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

pub mod json;
pub mod id;
pub mod method;
pub mod error_kind;
pub mod hunt;
pub mod framing;
pub mod sse;
pub mod touch;
pub mod meta_cache;
pub mod message;
pub mod envelope;
pub mod prune;
pub mod shown_token;
pub mod recover;
pub mod outgoing;
pub mod dialect;
pub mod modern;
pub mod error;
pub mod setup;
pub mod http_headers;

pub use dialect::Dialect;
pub use envelope::{Broken, Parsed, parse};
pub use error::ErrorAnswer;
pub use error_kind::ErrorKind;
pub use framing::{Frame, Framer, Framing};
pub use id::RawId;
pub use message::{Kind, Message};
pub use meta_cache::MetaCache;
pub use method::Method;
pub use modern::Era;
pub use outgoing::{Outgoing, OutgoingKind, Patch, Refusal};
pub use setup::{PeerSetup, SetupMessage};
pub use shown_token::ShownToken;
pub use sse::{SseItem, SseParser};
pub use touch::{Part, Span};

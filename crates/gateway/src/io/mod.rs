//! Bytes in and out, for clients and backends alike. Must not know who a peer is, or where a message goes.
//!
//! # Layout
//! - `reader`: from bytes to events.
//! - `input`: bytes from a peer; `stream_writer`: writing to a stream that is not a pipe; `output`: bytes to
//!   a peer; `outbox`: messages waiting for it; `mailbox`: the same for a peer without a stream.
//! - `prepared`: long lists that the system sends without a copy; `spare`: a large buffer
//!   kept for the next large message.
//! - `task`: named tasks.

pub(crate) mod reader;
pub(crate) mod input;
pub(crate) mod stream_writer;
pub(crate) mod output;
pub(crate) mod outbox;
pub(crate) mod mailbox;
pub(crate) mod prepared;
pub(crate) mod spare;
pub mod task;

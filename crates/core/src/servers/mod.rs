//! Servers: the state shared by all backends of one config entry, and the facts learnt from their starts.
//! Must not know individual backends or clients.
//!
//! # Layout
//! - `last_words`: the output of an ended process.
//! - `stateful`: tool names that indicate client state.
//! - `retry`: the next attempt for a server that was not ready.
//! - `insight`: facts that decide about sharing.
//! - `evictions`: backends that displace each other.
//! - `pinned`: approved definitions of its tools.
//! - `failure`: the last failure of a server.
//! - `last_start`: the result of the last start.
//! - `server`: the server itself.
//! - `all`: all servers.

mod last_words;
mod stateful;
mod retry;
mod insight;
mod evictions;
mod pinned;
mod failure;
mod last_start;
mod server;
mod all;

pub(crate) use all::Servers;
pub(crate) use evictions::{BackendIdentity, Evictions};
pub use evictions::{Crowding, Limit};
pub(crate) use failure::Failure;
pub use failure::LastError;
pub(crate) use insight::Insight;
pub use last_start::LastStart;
pub(crate) use last_words::LastWords;
pub(crate) use pinned::PinnedTools;
pub(crate) use retry::Retry;
pub(crate) use server::{Bar, Server};
pub(crate) use stateful::state_hint_of_list;
pub use stateful::{StateHint, state_hint};

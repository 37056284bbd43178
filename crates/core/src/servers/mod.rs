//! Servers: the state that all backends of one config entry share, and the facts that their starts have shown. Must not know
//! single backends or clients.
//!
//! # Layout
//! - `last_words`: the output of a process that ended.
//! - `stateful`: tool names that tell whether a server keeps a client's state.
//! - `retry`: the next try of a server that was not ready.
//! - `insight`: facts that decide about sharing.
//! - `evictions`: backends that stop each other.
//! - `failure`: the last failure of a server.
//! - `last_start`: the result of the last start.
//! - `server`: the server itself.
//! - `all`: all servers.

mod last_words;
mod stateful;
mod retry;
mod insight;
mod evictions;
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
pub(crate) use retry::Retry;
pub(crate) use server::{Bar, Server};
pub(crate) use stateful::state_hint_of_list;
pub use stateful::{StateHint, state_hint};

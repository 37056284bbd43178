//! Backends: the life of a server's processes, who uses them, and the messages that wait for them.
//!
//! # Layout
//! - `key`: the properties that two requests must share to be served by one backend.
//! - `framing`: the framing that a server uses, as far as it is known.
//! - `unfit`: reasons to stop a process whose handshake failed.
//! - `state`: the states of a backend's life. `LIFECYCLE.md` beside this file has the picture.
//! - `users`: the clients that have used a process.
//! - `fetch`: the progress of asking a backend for its lists.
//! - `backend`: the backend itself.
//! - `all`: all backends, and those that wait for room.

mod key;
mod framing;
mod unfit;
mod state;
mod users;
mod fetch;
mod backend;
mod all;

pub(crate) use all::Backends;
pub(crate) use backend::*;
pub(crate) use fetch::*;
pub(crate) use framing::*;
pub(crate) use key::*;
pub(crate) use state::*;
pub(crate) use unfit::*;
pub(crate) use users::*;

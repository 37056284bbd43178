//! Backends: the life of a server's processes, who uses them, and the messages that wait for them.
//!
//! # Layout
//! - `key`: the properties that two requests must share to be served by one backend.
//! - `framing`: the framing that a server uses, as far as it is known.
//! - `unfit`: reasons to stop a process whose handshake failed.
//! - `state`: the states of a backend's life. `LIFECYCLE.md` beside this file has the picture.
//! - `users`: the clients that have used a process.
//! - `tasks`: requests that run on after their answer.
//! - `subscriptions`: resources that clients want to hear of.
//! - `roots`: the roots that a process was told.
//! - `counters`: counts for `switchboard status`.
//! - `quarantine`: lines on stdout that are no messages.
//! - `fetch`: one round of asking a backend for its lists.
//! - `lists`: the lists that it offers.
//! - `backend`: the backend itself.
//! - `all`: all backends, and those that wait for room.

mod key;
mod framing;
mod unfit;
mod state;
mod users;
mod tasks;
mod subscriptions;
mod roots;
mod counters;
mod quarantine;
mod fetch;
mod lists;
mod backend;
mod all;

pub(crate) use all::Backends;
pub(crate) use backend::Backend;
pub(crate) use counters::Counters;
pub(crate) use quarantine::Quarantine;
pub(crate) use roots::BackendRoots;
pub(crate) use subscriptions::Subscriptions;
pub(crate) use tasks::Tasks;
pub(crate) use fetch::AfterPage;
pub(crate) use lists::BackendLists;
pub(crate) use framing::*;
pub(crate) use key::*;
pub(crate) use state::*;
pub(crate) use unfit::*;
pub(crate) use users::*;

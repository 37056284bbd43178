//! Backends: the life of a server's processes, their users, and the messages that wait for them. Must not know the state of
//! clients or of pending requests.
//!
//! # Layout
//! - `key`: the properties that two requests must share to be served by one backend.
//! - `framing`: the framing that a server uses, as far as it is known.
//! - `handshake_failure`: reasons to stop a process whose handshake failed.
//! - `state`: the states of a backend's life. `LIFECYCLE.md` beside this file has the picture.
//! - `users`: the clients that have used a process.
//! - `tasks`: requests that run on after their answer.
//! - `subscriptions`: resources that clients want to hear of.
//! - `roots`: the roots that a process was told.
//! - `counters`: counts for `switchboard status`.
//! - `quarantine`: lines on stdout that are no messages.
//! - `handshake`: the handshake with its processes.
//! - `lifecycle`: the state, and the processes that there were.
//! - `usage`: the use of a backend.
//! - `outbox`: bytes that are not written yet.
//! - `queue`: messages that wait, and requests at work.
//! - `health`: signs of life, and memory.
//! - `breaker`: recent crashes, and the breaker that opens when there are too many.
//! - `fetch`: one round of asking a backend for its lists.
//! - `lists`: the lists that it offers.
//! - `backend`: the backend itself.
//! - `all`: all backends, and those that wait for room.

mod key;
mod framing;
mod handshake_failure;
mod state;
mod users;
mod tasks;
mod subscriptions;
mod roots;
mod counters;
mod quarantine;
mod handshake;
mod lifecycle;
mod usage;
mod outbox;
mod queue;
mod health;
mod breaker;
mod fetch;
mod lists;
mod backend;
mod all;

pub(crate) use all::Backends;
pub(crate) use backend::Backend;
pub(crate) use breaker::Breaker;
pub(crate) use counters::Counters;
pub(crate) use fetch::AfterPage;
pub(crate) use framing::{BackendFraming, FramingGuess};
pub(crate) use handshake::BackendHandshake;
pub(crate) use handshake_failure::HandshakeFailure;
pub(crate) use health::{Health, MemoryVerdict};
pub(crate) use key::BackendKey;
pub(crate) use lifecycle::Lifecycle;
pub(crate) use lists::BackendLists;
pub(crate) use outbox::BackendOutbox;
pub(crate) use quarantine::Quarantine;
pub(crate) use queue::{BackendQueue, Queued, takes_turn};
pub(crate) use roots::BackendRoots;
pub(crate) use state::{AfterStop, BackendState};
pub(crate) use subscriptions::Subscriptions;
pub(crate) use tasks::Tasks;
pub(crate) use usage::Usage;
pub(crate) use users::{Principals, Users, is_use};

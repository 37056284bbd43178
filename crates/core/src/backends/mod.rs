//! Backends: the life of a server's processes, their users, and the messages queued for them. Must not know
//! the state of clients or of pending requests.
//!
//! # Layout
//! - `key`: the properties that two requests must share to be served by one backend.
//! - `framing`: the framing of a server, as far as known.
//! - `handshake_failure`: reasons to stop a process whose handshake failed.
//! - `state`: the states of a backend's life. `LIFECYCLE.md` in this folder has the diagram.
//! - `users`: the clients that have used a process.
//! - `tasks`: requests that continue after their answer.
//! - `subscriptions`: resources that clients subscribed to.
//! - `own_listen`: our own subscription at a modern server.
//! - `late_logs`: ended requests about which a process may still log.
//! - `roots`: the roots reported to a process.
//! - `counters`: counts for `switchboard status`.
//! - `quarantine`: stdout lines that are not messages.
//! - `handshake`: the handshake with its processes.
//! - `lifecycle`: the state, and the sequence of processes.
//! - `usage`: when and by whom a backend was used.
//! - `outbox`: bytes not yet written.
//! - `queue`: queued messages and requests in progress.
//! - `health`: liveness, memory and CPU time.
//! - `breaker`: recent crashes, and the circuit breaker.
//! - `fetch`: one round of list requests to a backend.
//! - `lists`: the lists of a backend.
//! - `backend`: the backend itself.
//! - `all`: all backends, and the queue for room in the pool.

mod key;
mod framing;
mod handshake_failure;
mod state;
mod users;
mod tasks;
mod subscriptions;
mod own_listen;
mod late_logs;
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
pub use health::ProcessUsage;
pub(crate) use health::{Health, MemoryVerdict};
pub(crate) use key::BackendKey;
pub(crate) use late_logs::LateLogs;
pub(crate) use lifecycle::Lifecycle;
pub(crate) use lists::BackendLists;
pub(crate) use outbox::BackendOutbox;
pub(crate) use own_listen::OwnListen;
pub(crate) use quarantine::Quarantine;
pub(crate) use queue::{BackendQueue, Party, Queued, takes_turn};
pub(crate) use roots::BackendRoots;
pub(crate) use state::{AfterStop, BackendState};
pub(crate) use subscriptions::Subscriptions;
pub(crate) use tasks::{TaskOwner, Tasks};
pub(crate) use usage::Usage;
pub(crate) use users::{Principals, Users, is_use};

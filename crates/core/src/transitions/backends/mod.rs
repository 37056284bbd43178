//! Events of backends: their messages, starts and ends. Which clients a message is for is decided in `routing`.
//!
//! # Layout
//! - `from_backend`: answers, questions and notifications of backends.
//! - `quarantine`: output that is no message.
//! - `progress`: progress notifications, in both directions.
//! - `turns`: the number of requests that a backend works on at a time.
//! - `lifecycle`: start, readiness, crash and restart of a process.
//! - `handshake_failure`: processes that do not answer `initialize`, or refuse it.
//! - `restore`: log levels and subscriptions, told again to a new process.
//! - `health`: probes and memory limits.
//! - `failure`: the last failure of a server, for `status` and clients.
//! - `record`: facts learnt about a launch, and the retries of slow servers.
//! - `turned_away`: requests that a daemon refuses when it ends.

mod from_backend;
mod quarantine;
mod progress;
mod turns;
mod lifecycle;
mod handshake_failure;
mod restore;
mod health;
mod failure;
mod record;
mod turned_away;

pub use health::MEMORY_CHECK_INTERVAL;

//! Events of backends: their messages, starts and ends. Must not decide which clients a message is for:
//! `routing` does.
//!
//! # Layout
//! - `from_backend`: answers, requests and notifications of backends.
//! - `denied`: requests of servers that the config denies.
//! - `quarantine`: output that is not a message.
//! - `progress`: progress notifications, in both directions.
//! - `turns`: the limit on requests in progress.
//! - `lifecycle`: start, readiness, crash and restart of a process.
//! - `handshake_failure`: processes that do not answer `initialize`, or refuse it.
//! - `restore`: log levels and subscriptions, replayed to a new process.
//! - `health`: probes and memory limits.
//! - `failure`: the last failure of a server, for `status` and clients.
//! - `record`: facts learnt about a launch, and the retries of slow servers.
//! - `pins`: tools compared with their approved definitions.
//! - `turned_away`: requests refused by a daemon in shutdown.

mod from_backend;
mod denied;
mod quarantine;
mod progress;
mod turns;
mod lifecycle;
mod handshake_failure;
mod restore;
mod health;
mod failure;
mod record;
mod pins;
mod turned_away;

pub use health::MEMORY_CHECK_INTERVAL;

//! Requests without a session: modern ones (MCP 2026-07-28), and plain ones of clients that know no handshake. Each
//! POST stands alone. Behind it is a client of the core, taken from a pool.
//!
//! # Layout
//! - `era`: the era of a POST. `check`: the rules for modern ones; `params`: headers that repeat arguments.
//! - `owner`: the party behind a request. `client`: one client of the core; `call`: one of its requests. `pool`: all
//!   clients.
//! - `listing`: tools that a client calls without having listed them.
//! - `serve`: from a POST to its response.

mod era;
mod check;
mod params;
mod owner;
mod call;
mod client;
mod pool;
mod listing;
mod serve;

pub(super) use client::StatelessClient;
pub(super) use era::{NamedSession, PostEra, era_of, is_opening};
pub(super) use pool::Pool;
pub(super) use serve::Posted;

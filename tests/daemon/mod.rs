//! The promise: all windows of a user share one daemon and its servers, and nobody is harmed by what becomes of
//! another, or of the daemon.
//!
//! - `house`: windows that share a home, a config and a runtime folder; nothing of it outlives its test.
//! - `relayed`: the most important ones once more, with windows that carry every message themselves.
//! - the rest: a promise each.

pub(crate) mod house;

mod sharing;
mod variables;
mod scope;
mod leaving;
mod linger;
mod death;
mod ending;
mod alone;
mod commands;
mod upgrade;
mod hardened;
mod handover;
mod descriptors;
mod window_logs;

/// Only debug builds can be told to.
#[cfg(debug_assertions)]
mod relayed;

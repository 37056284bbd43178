//! Daemon: all windows of a user share one daemon and its servers, and no window is harmed by another or by
//! the daemon's death.
//!
//! - `house`: windows that share a home, a config and a runtime folder, all of which end with the test.
//! - `relayed`: the most important promises again, for windows that relay every message.
//! - the rest: one group of promises per file.

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

/// Relaying can be forced in debug builds only.
#[cfg(debug_assertions)]
mod relayed;

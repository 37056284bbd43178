//! The number of running backends, within the limits of the config. Must not know how a process is started:
//! `backends` does.
//!
//! # Layout
//! - `admission`: starts within the limits, and stops to make room.
//! - `crowding`: backends that displace each other.
//! - `standby`: servers that run without a client.

mod admission;
mod crowding;
mod standby;

pub use standby::StandbyState;

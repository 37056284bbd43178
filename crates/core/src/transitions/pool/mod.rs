//! The number of backends that run, within the limits of the config. How a process is started is for `backends` to say.
//!
//! # Layout
//! - `admission`: starts where there is room, and stops to make room.
//! - `crowding`: backends that stop each other.
//! - `standby`: servers that run without a client.

mod admission;
mod crowding;
mod standby;

pub use standby::StandbyState;

//! Transitions: pool.

mod budget;
mod crowding;
mod standby;

pub use standby::StandbyState;

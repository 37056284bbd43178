//! Transitions: owner.

mod change;
mod orders;

pub use change::Change;
pub use orders::{Done, Order};

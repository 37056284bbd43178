//! Orders of the owner, and config changes. Neither comes as an event: each has its own entry point.
//!
//! # Layout
//! - `config_change`: a new config, and the move of clients to other backends.
//! - `orders`: restart, stop, start and forget.

mod config_change;
mod orders;

pub use config_change::Change;
pub use orders::{Done, Order};

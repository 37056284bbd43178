//! Orders of the owner, and changes of the config. Neither comes with an event: each has its own entry point.
//!
//! # Layout
//! - `config_change`: a new config, and the clients' move to other backends.
//! - `orders`: restart, stop, start and forget.

mod config_change;
mod orders;

pub use config_change::Change;
pub use orders::{Done, Order};

//! Text functions that several crates share. Pure; knows nothing of messages, servers or config.
//!
//! - [`nearest`]: suggestions for a misspelt name.
//! - [`percent`]: percent-encoding, decoded strictly.

pub mod nearest;
pub mod percent;

//! Text functions shared by several crates. Pure. Must not know messages, servers or config.
//!
//! - [`nearest`]: suggestions for a misspelt name.
//! - [`percent`]: percent-encoding, decoded strictly.

pub mod nearest;
pub mod percent;

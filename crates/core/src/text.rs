//! Text functions shared by several crates. Pure. Must not know messages, servers or config.
//!
//! - [`dates`]: calendar dates and times in UTC.
//! - [`glob`]: patterns for names.
//! - [`nearest`]: suggestions for a misspelt name.
//! - [`percent`]: percent-encoding, decoded strictly.

pub mod dates;
pub mod glob;
pub mod nearest;
pub mod percent;

//! Tool pinning: the definitions of a server's tools that its owner has approved, and those that differ from
//! them. The first definition that a kind of client sees is approved. Must not know clients or backends, dates,
//! or where pins are stored.
//!
//! # Layout
//! - `sight`: kinds of clients.
//! - `news`: changes of the pins, for the store.
//! - `table`: the pins of one server.
//! - `compare`: a list of tools, compared with the pins.

mod sight;
mod news;
mod table;
mod compare;
#[cfg(test)]
mod tests;

pub use compare::Comparison;
pub use news::PinNews;
pub use sight::Sight;
pub use table::{MAX_APPROVED, MAX_CHANGED, Pin, Pins};

/// Treatment of a tool whose definition has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pinning {
    Off,
    /// It is reported.
    Warn,
    /// It is reported, and hidden until its owner approves it.
    Hold,
}

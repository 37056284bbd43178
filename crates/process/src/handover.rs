//! A client's two streams in the hands of another process of ours, with all that must outlive that process. The holder of
//! the streams reads and writes them directly; the giver stays, and can give them to the next holder. Must not
//! know what the bytes mean.
//!
//! Input that is not yet processed, output that is not yet sent, and the holder's journal lie in one file without a name,
//! in memory, which both processes hold. Its parts lie far apart and only grow; finished ones are given back to the
//! system. A holder may be killed at any instruction.
//!
//! Only on Linux; elsewhere nothing can be handed over.
//!
//! # Layout
//! - `store`: the file.
//! - `journal`: entries, each there as a whole or not at all.
//! - `input`: bytes read straight into the file. All behind the last entry that is not zero was read.
//! - `output`: bytes that are in the file before they are sent; the system itself records how many were.
//! - `pass`: the descriptors on their way from one process to the other.
//! - `os`: the streams as they change hands.

#[cfg(target_os = "linux")]
mod store;
#[cfg(target_os = "linux")]
mod journal;
#[cfg(target_os = "linux")]
mod input;
#[cfg(target_os = "linux")]
mod output;
#[cfg(target_os = "linux")]
mod pass;
#[cfg(target_os = "linux")]
#[path = "handover/linux.rs"]
mod os;
#[cfg(not(target_os = "linux"))]
#[path = "handover/other.rs"]
mod os;
#[cfg(all(test, target_os = "linux"))]
mod tests;

pub use os::{Journal, Output, Streams};

/// What there is to be read from a client's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    Nothing,
    Something,
    /// Nothing more will come.
    Ended,
}

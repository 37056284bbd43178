//! Handover of a client's two streams to another process of ours, with all state that must survive that
//! process. The holder of the streams reads and writes them directly; the giver stays alive and can pass them
//! to the next holder. Must not know what the bytes mean.
//!
//! Unprocessed input, unsent output and the holder's journal lie in one anonymous memory file that both
//! processes have open. Its parts lie far apart and only grow; finished pages are returned to the system. A
//! holder may be killed at any instruction.
//!
//! Linux only; no handover elsewhere.
//!
//! # Layout
//! - `store`: the memory file and its layout.
//! - `journal`: entries that are complete or absent, never partial.
//! - `input`: bytes read directly into the file; the last non-zero byte marks their end.
//! - `output`: bytes stored in the file before they are sent; the kernel records how many were sent.
//! - `pass`: the transfer of the descriptors through a socket.
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

/// Readiness of a client's input stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    Nothing,
    Something,
    /// End of the stream.
    Ended,
}

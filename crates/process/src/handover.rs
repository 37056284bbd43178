//! A client's two streams in the hands of another process of ours, with all that must outlive it. The one who holds the
//! streams reads and writes them directly; the one who gave them stays, and can give them to the next. Must not
//! know what the bytes mean.
//!
//! What was read and not yet dealt with, what is to be written and was not yet, and the notes of whoever deals with it
//! lie in one file without a name, in memory, which both hold. Its parts lie far apart and only grow; what is done
//! with is given back to the system. A holder may be killed at any instruction:
//! - `input`: bytes are read straight into the file. What lies behind the last note and is not zero was read.
//! - `output`: what goes out is in the file first, and the system itself notes in it how much has gone.
//! - `journal`: a note is there as a whole or not at all.
//! - `pass`: how the descriptors get from one to the other.
//!
//! Only on Linux; elsewhere nothing can be handed over.

#[cfg(target_os = "linux")]
mod input;
#[cfg(target_os = "linux")]
mod journal;
#[cfg(target_os = "linux")]
mod output;
#[cfg(target_os = "linux")]
mod pass;
#[cfg(target_os = "linux")]
mod store;
#[cfg(all(test, target_os = "linux"))]
mod tests;
#[cfg(target_os = "linux")]
#[path = "handover/linux.rs"]
mod os;
#[cfg(not(target_os = "linux"))]
#[path = "handover/other.rs"]
mod os;

#[cfg(target_os = "linux")]
pub(crate) use input::Input;
pub use os::{Journal, Log, Streams};

/// What a client's stream holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    Nothing,
    Something,
    /// Nothing more will come.
    Ended,
}

//! Approved definitions of tools, stored between runs: one file per launch, as the config has it. Several processes
//! may write: each reads the file, changes it and replaces it under a lock, so that no approval is lost. Must not
//! compare definitions: the core does.
//!
//! # Layout
//! - `stored`: the content of a file, and changes to it.
//! - `store`: the files.

mod stored;
mod store;
#[cfg(test)]
mod tests;

pub use store::{PinStore, Unreadable};
pub use stored::{Definition, StoredPins, StoredTool};

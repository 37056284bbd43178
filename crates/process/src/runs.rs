//! Records of our runs on disk, so that the next run can clean up after one of which every process was killed at once:
//! who we are, who guards, what was started. A run's warden removes its record at the end. Must not know how processes
//! are started.
//!
//! Only Unix has such records: on Windows the system itself ends what a killed process leaves, by its job objects.
//!
//! # Layout
//! - `file`: a run's record, written and read.
//! - `sweep`: the cleanup after dead runs.

#[cfg(unix)]
mod file;
#[cfg(unix)]
mod sweep;

use std::ffi::OsString;

#[cfg(unix)]
pub(crate) use file::{Line, add, begin};
#[cfg(unix)]
pub(crate) use sweep::{end_marked, sweep};

/// What was still alive of a dead run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Swept {
    /// Names of the processes that were ended.
    pub ended: Vec<OsString>,
    /// How many could not be killed.
    pub left: usize,
}

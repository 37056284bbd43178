//! Records of our runs on disk, so that the next run can clean up after one whose processes were all killed
//! at once: the main process, its guards, the started programs. A run's warden removes its record at the end.
//! Must not know how processes are started.
//!
//! Unix only: on Windows, job objects end whatever a killed process leaves behind.
//!
//! # Layout
//! - `file`: the record of a run.
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

/// Remains of a dead run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Swept {
    /// Names of the processes that were killed.
    pub ended: Vec<OsString>,
    /// Number of processes that could not be killed.
    pub left: usize,
}

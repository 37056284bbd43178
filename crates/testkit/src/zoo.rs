//! The zoo of a fake backend, seen from outside: the living members.
//!
//! A member holds a lock on a file as long as it lives (`src/fake/zoo.rs`). That holds in any namespace, whatever
//! its parent, session, environment or pid.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The eight kinds of the promise, as options of the fake backend. The server itself is the first: a
/// direct child that ignores SIGTERM. The last is started by the one before it.
pub const EIGHT: &[&str] = &[
    "--stubborn",
    "--with",
    "child",
    "--with",
    "session",
    "--with",
    "daemon",
    "--with",
    "bare-daemon",
    "--with",
    "stubborn",
    "--with",
    "subreaper",
];

/// Their names, in order.
pub const NAMES: &[&str] =
    &["bare-daemon", "child", "daemon", "server", "session", "stubborn", "subreaper", "subreapers-daemon"];

/// The zoo of one launch.
#[derive(Debug, Clone)]
pub struct Zoo(PathBuf);

impl Zoo {
    /// The zoo of the fake backend that got this folder with `--record`. The first launch is 1.
    pub fn of(record: &Path, launch: u32) -> Self {
        Self(record.join(format!("{launch}.zoo")))
    }

    /// Names of the living members, sorted.
    pub fn living(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let held = files.filter(|entry| is_held(&entry.path()));
        let mut names: Vec<String> =
            held.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

fn is_held(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err())
}

//! File system access for the search for auggie. Behind a trait, so that tests can
//! describe other machines as data.

use std::fs;
use std::path::{Path, PathBuf};
use switchboard_process::child::resolve;
use switchboard_process::real_path::real;

/// Longest shim or package description.
const MAX_TEXT_BYTES: u64 = 64 * 1024;

pub(super) trait Disk {
    fn is_absolute(&self, path: &Path) -> bool;
    fn is_file(&self, path: &Path) -> bool;
    fn is_executable(&self, path: &Path) -> bool;
    /// Path with all links followed.
    fn real(&self, path: &Path) -> Option<PathBuf>;
    /// Content of a small text file.
    fn text(&self, path: &Path) -> Option<String>;
    /// Names in a folder; empty if the folder does not exist.
    fn names(&self, folder: &Path) -> Vec<String>;
}

/// Disk of this machine.
pub(super) struct OurDisk;

impl Disk for OurDisk {
    fn is_absolute(&self, path: &Path) -> bool {
        path.is_absolute()
    }

    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn is_executable(&self, path: &Path) -> bool {
        resolve(path.as_os_str(), None, None).is_ok_and(|found| found == path)
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        real(path).ok()
    }

    fn text(&self, path: &Path) -> Option<String> {
        let is_small = fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_TEXT_BYTES);
        if is_small { fs::read_to_string(path).ok() } else { None }
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }
}

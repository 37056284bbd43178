//! A log file that is replaced each day and when it is large, with a limited number of old files. Several
//! processes may append to the same file. A failed write is dropped: logging is never a reason to fail.

use crate::config::os;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use switchboard_core::text::dates::Day;

const MAX_FILE_BYTES: u64 = 10 << 20;
const MAX_FILES: usize = 8;

/// Name of the file.
#[derive(Debug, Clone)]
pub(crate) enum Name {
    /// `STEM-2026-11-15.log` in this folder.
    Daily {
        folder: PathBuf,
        stem: String,
    },
    Fixed(PathBuf),
}

pub(crate) struct Rolling {
    name: Name,
    day: Day,
    file: Option<File>,
}

impl Rolling {
    pub(crate) fn new(name: Name) -> Self {
        Self { name, day: Day::of(SystemTime::now()), file: None }
    }

    pub(crate) fn write(&mut self, lines: &[u8]) {
        if lines.is_empty() {
            return;
        }
        self.roll();
        if let Some(file) = &mut self.file {
            // On a full disk these lines are lost, but later ones may succeed.
            let _ = file.write_all(lines);
        }
    }

    fn roll(&mut self) {
        let today = Day::of(SystemTime::now());
        if today != self.day {
            self.day = today;
            self.file = None;
        }
        let path = self.path();
        let is_large = |length: u64| length >= MAX_FILE_BYTES;
        // The open file itself is measured: the path may already name a newer one.
        if self.file.as_ref().is_some_and(|file| file.metadata().is_ok_and(|meta| is_large(meta.len()))) {
            self.file = None;
            // Another process may have renamed it already; then the path names a new file.
            if fs::metadata(&path).is_ok_and(|meta| is_large(meta.len())) {
                let _ = fs::rename(&path, self.set_aside(&path));
                self.prune();
            }
        }
        if self.file.is_none() {
            // A failure is retried with the next write.
            self.file = open(&path).ok();
            self.prune();
        }
    }

    fn path(&self) -> PathBuf {
        match &self.name {
            Name::Daily { folder, stem } => folder.join(format!("{stem}-{}.log", self.day)),
            Name::Fixed(path) => path.clone(),
        }
    }

    /// First free name of `….1`, `….2`, …; the last one is overwritten.
    fn set_aside(&self, path: &Path) -> PathBuf {
        let numbered = |number: usize| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        (1..MAX_FILES).map(numbered).find(|free| !free.exists()).unwrap_or_else(|| numbered(MAX_FILES))
    }

    /// Removes the oldest daily files with this stem.
    fn prune(&self) {
        let Name::Daily { folder, stem } = &self.name else { return };
        let Ok(entries) = fs::read_dir(folder) else { return };
        // The year's first digit excludes longer stems, such as `STEM-other`.
        let prefix = format!("{stem}-2");
        let mut files: Vec<(SystemTime, PathBuf)> = entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        files.sort();
        let excess = files.len().saturating_sub(MAX_FILES);
        for (_, path) in &files[..excess] {
            let _ = fs::remove_file(path);
        }
    }
}

/// Opens a log file for appending, and creates it with its folders if necessary.
pub(super) fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        os::create_private_dir(folder)?;
    }
    os::append_to_private_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_file_is_set_aside() {
        let folder = std::env::temp_dir().join(format!("switchboard-rolling-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let mut log = Rolling::new(Name::Daily { folder: folder.clone(), stem: "x".into() });
        let block = vec![b'.'; MAX_FILE_BYTES as usize / 2];
        for _ in 0..40 {
            log.write(&block);
        }
        let files = fs::read_dir(&folder).unwrap().flatten().count();
        assert!((2..=MAX_FILES + 1).contains(&files), "{files} files");
        let largest = fs::read_dir(&folder).unwrap().flatten().map(|f| f.metadata().unwrap().len()).max();
        assert!(largest.unwrap() <= 2 * MAX_FILE_BYTES);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn impossible_folder_is_no_failure() {
        let mut log = Rolling::new(Name::Fixed("/dev/null/no/such/place.log".into()));
        log.write(b"lost\n");
    }
}

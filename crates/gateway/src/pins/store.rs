//! The files of the pins, by launch. No error is fatal to serving: without a file, tools are seen for the first time;
//! with one that cannot be read, it depends on `pinning` what follows.

use super::stored::StoredPins;
use crate::config::{Pinning, ServerConfig};
use crate::launches::launch_key;
use crate::stored_file;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use switchboard_core::pins::{PinNews, Pins};
use switchboard_process::file_lock::FileLock;
use switchboard_process::private;

const FOLDER: &str = "pins";
const ENDING: &str = ".json";
const LOCK_FILE: &str = "lock";
/// Largest file that is read. Limits on the number of tools, on names and on definitions keep files below it.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// More launches than anyone has. Beyond it, the files that were not used for longest are removed.
const MAX_FILES: usize = 2000;
/// Age from which a file that is used gets a new time.
const USED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// Time limit for other processes to finish their writes.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// All pins of this user.
#[derive(Clone)]
pub struct PinStore {
    folder: Arc<Path>,
}

/// A file that cannot be read, and the reason.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {why}", path.display())]
pub struct Unreadable {
    pub path: PathBuf,
    pub why: String,
}

impl PinStore {
    pub fn new(state_folder: &Path) -> Self {
        Self { folder: state_folder.join(FOLDER).into() }
    }

    /// Name of a server's file, for everything below.
    pub fn key(server: &ServerConfig) -> String {
        launch_key(server)
    }

    /// Pins of a launch; `None` if none are stored.
    pub fn read(&self, key: &str) -> Result<Option<StoredPins>, Unreadable> {
        let path = self.path(key);
        let unreadable = |why: String| Unreadable { path: path.clone(), why };
        match private::read(&path, MAX_FILE_BYTES) {
            Ok(bytes) => StoredPins::parse(&bytes).map(Some).map_err(unreadable),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(error.to_string())),
        }
    }

    /// Pins of a server for the core, and the reason if they are lost.
    pub(crate) fn load(&self, server: &ServerConfig) -> (Pins, Option<Unreadable>) {
        if server.pinning == Pinning::Off {
            return (Pins::default(), None);
        }
        let key = launch_key(server);
        match self.read(&key) {
            Ok(Some(stored)) => {
                self.mark_used(&key);
                (stored.pins().unwrap_or_else(|| lost(server)), None)
            }
            Ok(None) => (Pins::default(), None),
            Err(unreadable) => (lost(server), Some(unreadable)),
        }
    }

    /// Stores what the core has found.
    pub(crate) fn apply(&self, server: &ServerConfig, news: &[PinNews]) -> io::Result<()> {
        let key = launch_key(server);
        self.change(&key, |stored| {
            let mut stored = match stored {
                Ok(Some(stored)) => stored,
                Ok(None) => StoredPins::new(&server.name, false),
                // Replaced by what is known now.
                Err(_) => StoredPins::new(&server.name, server.pinning == Pinning::Hold),
            };
            stored.apply(news, SystemTime::now());
            Some(stored)
        })?;
        self.clean();
        Ok(())
    }

    /// Approves changed definitions, by tool and digest: those that the owner was shown.
    pub fn approve(&self, key: &str, shown: &[(String, Vec<String>)]) -> io::Result<()> {
        self.change(key, |stored| {
            let mut stored = stored.ok().flatten()?;
            stored.approve(shown, SystemTime::now());
            Some(stored)
        })
    }

    pub(crate) fn forget(&self, server: &ServerConfig) -> io::Result<()> {
        if !self.folder.exists() {
            return Ok(());
        }
        let _lock = self.lock()?;
        self.remove(&launch_key(server))
    }

    /// Replaces a file by a changed one, while no other process writes.
    fn change(
        &self,
        key: &str,
        change: impl FnOnce(Result<Option<StoredPins>, Unreadable>) -> Option<StoredPins>,
    ) -> io::Result<()> {
        private::folder(&self.folder)?;
        let _lock = self.lock()?;
        let Some(stored) = change(self.read(key)) else { return Ok(()) };
        if stored.is_empty() {
            return self.remove(key);
        }
        stored_file::replace(&self.path(key), &[&serde_json::to_vec_pretty(&stored)?])
    }

    fn lock(&self) -> io::Result<FileLock> {
        FileLock::take(&self.folder.join(LOCK_FILE), LOCK_TIMEOUT)
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        match fs::remove_file(self.path(key)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}{ENDING}"))
    }

    /// Keeps a file from being removed as an old one: the pins of a server that never changes are never written.
    fn mark_used(&self, key: &str) {
        let path = self.path(key);
        let written = fs::metadata(&path).and_then(|meta| meta.modified());
        let is_old = written.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > USED_AFTER));
        if is_old && let Ok(file) = fs::OpenOptions::new().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
    }

    fn clean(&self) {
        let entries = fs::read_dir(&*self.folder).into_iter().flatten().flatten();
        let pins = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(ENDING));
        let mut files: Vec<(SystemTime, PathBuf)> =
            pins.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
        if files.len() <= MAX_FILES {
            return;
        }
        files.sort();
        for (_, path) in &files[..files.len() - MAX_FILES] {
            let _ = fs::remove_file(path);
        }
    }
}

/// Pins of a server whose file cannot be read. With `hold`, nothing is approved until the owner does so.
fn lost(server: &ServerConfig) -> Pins {
    match server.pinning {
        Pinning::Hold => Pins::lost(),
        Pinning::Off | Pinning::Warn => Pins::default(),
    }
}

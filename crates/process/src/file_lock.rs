//! A lock file held by one process at a time. The system releases it when that process ends. Must not know what
//! the lock protects.

#[cfg(unix)]
#[path = "file_lock/unix.rs"]
mod os;
#[cfg(windows)]
#[path = "file_lock/windows.rs"]
mod os;

use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time between two attempts to take a lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// A lock file, held until it is dropped.
#[derive(Debug)]
pub struct FileLock(#[expect(dead_code, reason = "its drop is what it is for")] os::OsLock);

impl FileLock {
    /// Returns `None` if another process holds the lock.
    pub fn try_take(path: &Path) -> io::Result<Option<Self>> {
        Ok(os::OsLock::try_take(path)?.map(Self))
    }

    /// Waits for the lock, on this thread.
    pub fn take(path: &Path, within: Duration) -> io::Result<Self> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(lock) = Self::try_take(path)? {
                return Ok(lock);
            }
            if Instant::now() >= deadline {
                let text = format!("{}: another process holds this lock", path.display());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            sleep(RETRY_INTERVAL);
        }
    }
}

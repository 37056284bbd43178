//! A locked file. The holder deletes the file at its end. A process that waited then holds a deleted file that no other
//! process will find; so after locking, each checks that the path still leads to the locked file.

use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, lstat, open, unlink};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct OsLock {
    file: OwnedFd,
    path: PathBuf,
}

impl OsLock {
    /// Returns `None` if another process holds the lock.
    pub(super) fn try_take(path: &Path) -> io::Result<Option<Self>> {
        loop {
            // A link or a pipe planted at this path must neither redirect nor block us.
            let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = open(path, flags, Mode::RUSR | Mode::WUSR)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            if is_at(&file, path) {
                return Ok(Some(Self { file, path: path.to_owned() }));
            }
            // The holder has just deleted the file: try again with the new one.
        }
    }
}

fn is_at(file: &OwnedFd, path: &Path) -> bool {
    match (fstat(file), lstat(path)) {
        (Ok(held), Ok(found)) => (held.st_dev, held.st_ino) == (found.st_dev, found.st_ino),
        _ => false,
    }
}

impl Drop for OsLock {
    fn drop(&mut self) {
        // After a cleanup by others, the path may lead to the lock of another process.
        if is_at(&self.file, &self.path) {
            let _ = unlink(&self.path);
        }
    }
}

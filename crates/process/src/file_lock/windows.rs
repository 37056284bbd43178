//! A file that one process at a time has open. Deleted when that process closes it or ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;
use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, GENERIC_READ, GENERIC_WRITE,
};
use windows_sys::Win32::Storage::FileSystem::{DELETE, FILE_FLAG_DELETE_ON_CLOSE};

/// Limit on attempts while the former holder's file is being deleted, which takes no time unless a scanner reads it.
const DELETION_ATTEMPTS: u32 = 100;
const DELETION_PAUSE: Duration = Duration::from_millis(2);

#[derive(Debug)]
pub(super) struct OsLock(#[expect(dead_code, reason = "its drop is what it is for")] File);

impl OsLock {
    pub(super) fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        // Without sharing, being open is the lock.
        options.write(true).create(true).truncate(false).share_mode(0);
        options.access_mode(GENERIC_READ | GENERIC_WRITE | DELETE).custom_flags(FILE_FLAG_DELETE_ON_CLOSE);
        let is = |error: &io::Error, code: u32| error.raw_os_error() == Some(code.cast_signed());
        let mut attempts = DELETION_ATTEMPTS;
        loop {
            match options.open(path) {
                Ok(file) => return Ok(Some(Self(file))),
                Err(error) if is(&error, ERROR_SHARING_VIOLATION) => return Ok(None),
                // This occurs while the file is being deleted, and if we may not create it.
                Err(error) if is(&error, ERROR_ACCESS_DENIED) && attempts > 0 => attempts -= 1,
                Err(error) if is(&error, ERROR_ACCESS_DENIED) => {
                    let folder = path.parent().unwrap_or(path).display();
                    let text = format!("cannot create files in {folder}: {error}");
                    return Err(io::Error::new(error.kind(), text));
                }
                Err(error) => return Err(error),
            }
            sleep(DELETION_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::FileLock;
    use std::{fs, io::ErrorKind, time::Duration};

    #[test]
    fn denied_lock_is_no_held_lock() {
        let folder = std::env::temp_dir().join(format!("switchboard-lock-{}", std::process::id()));
        let path = folder.join("x.lock");
        // A folder in its place: the system refuses to open it, whoever holds nothing.
        fs::create_dir_all(&path).unwrap();
        let error = FileLock::try_take(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(error.to_string().contains(&folder.display().to_string()), "{error}");
        fs::remove_dir(&path).unwrap();
        let lock = FileLock::try_take(&path).unwrap().unwrap();
        assert!(FileLock::try_take(&path).unwrap().is_none());
        drop(lock);
        FileLock::take(&path, Duration::from_secs(1)).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}

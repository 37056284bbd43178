//! A file that one process at a time has open. Deleted when that process closes it or ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;
use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, GENERIC_READ, GENERIC_WRITE,
};
use windows_sys::Win32::Storage::FileSystem::{DELETE, FILE_FLAG_DELETE_ON_CLOSE};

#[derive(Debug)]
pub(super) struct OsLock(#[expect(dead_code, reason = "its drop is what it is for")] File);

impl OsLock {
    pub(super) fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        // Without sharing, being open is the lock.
        options.write(true).create(true).truncate(false).share_mode(0);
        options.access_mode(GENERIC_READ | GENERIC_WRITE | DELETE).custom_flags(FILE_FLAG_DELETE_ON_CLOSE);
        let is = |error: &io::Error, code: u32| error.raw_os_error() == Some(code.cast_signed());
        match options.open(path) {
            Ok(file) => Ok(Some(Self(file))),
            // The second error occurs while the file is being deleted.
            Err(error) if is(&error, ERROR_SHARING_VIOLATION) || is(&error, ERROR_ACCESS_DENIED) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

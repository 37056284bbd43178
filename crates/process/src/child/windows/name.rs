//! The name of a process, for reports.

use std::{
    ffi::OsString,
    os::windows::{
        ffi::OsStringExt,
        io::{AsRawHandle, FromRawHandle, OwnedHandle},
    },
    path::PathBuf,
};
use windows_sys::Win32::System::Threading::{
    OpenProcess, PROCESS_NAME_WIN32, PROCESS_QUERY_LIMITED_INFORMATION, QueryFullProcessImageNameW,
};

/// Maximum length of a path on Windows, in UTF-16 units.
const MAX_PATH_UNITS: usize = 32 * 1024;

/// The file name of the executable; `None` if the process is gone.
pub(super) fn name_of(pid: u32) -> Option<String> {
    // SAFETY: three integers; a null handle, the only failure, is checked for.
    let handle = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid) };
    if handle.is_null() {
        return None;
    }
    // SAFETY: the handle was just opened and has no other owner.
    let process = unsafe { OwnedHandle::from_raw_handle(handle) };
    let mut path = vec![0_u16; MAX_PATH_UNITS];
    let mut length = MAX_PATH_UNITS as u32;
    // SAFETY: the handle is open, and the buffer has as many units as `length` says.
    let found = unsafe {
        QueryFullProcessImageNameW(
            process.as_raw_handle(),
            PROCESS_NAME_WIN32,
            path.as_mut_ptr(),
            &raw mut length,
        )
    };
    let path = path.get(..length as usize).filter(|_| found != 0)?;
    let path = PathBuf::from(OsString::from_wide(path));
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

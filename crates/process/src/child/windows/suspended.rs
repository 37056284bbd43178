//! A process that was created suspended, and is let go when it is where it belongs.

use std::{io, os::windows::io::AsRawHandle, os::windows::io::BorrowedHandle};
use windows_sys::Win32::Foundation::{HANDLE, NTSTATUS, RtlNtStatusToDosError};

#[link(name = "ntdll")]
unsafe extern "system" {
    /// Not in the official headers, but in every Windows since XP, and what process tools use. The documented
    /// way needs the handle of the first thread, which Rust's library closes; one would have to look for that
    /// thread among all threads of the system.
    fn NtResumeProcess(process: HANDLE) -> NTSTATUS;
}

/// Lets all threads of the process run.
pub(super) fn resume(process: BorrowedHandle<'_>) -> io::Result<()> {
    // SAFETY: the handle is open for the whole call, and has all rights: it is from the process's creation.
    let status = unsafe { NtResumeProcess(process.as_raw_handle()) };
    if status >= 0 {
        return Ok(());
    }
    // SAFETY: an integer is looked up in a table.
    let code = unsafe { RtlNtStatusToDosError(status) };
    Err(io::Error::from_raw_os_error(code.cast_signed()))
}

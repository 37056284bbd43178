//! Resuming a process that was created suspended.

use std::{io, os::windows::io::AsRawHandle, os::windows::io::BorrowedHandle};
use windows_sys::Win32::Foundation::{HANDLE, NTSTATUS, RtlNtStatusToDosError};

#[link(name = "ntdll")]
unsafe extern "system" {
    /// Not in the official headers, but in every Windows since XP, and used by process tools. The documented
    /// way needs the handle of the first thread, which Rust's library closes; finding it again would mean a
    /// search through all threads of the system.
    fn NtResumeProcess(process: HANDLE) -> NTSTATUS;
}

/// Resumes all threads of the process.
pub(super) fn resume(process: BorrowedHandle<'_>) -> io::Result<()> {
    // SAFETY: the handle is open during the call and has all rights, as it comes from the process's creation.
    let status = unsafe { NtResumeProcess(process.as_raw_handle()) };
    if status >= 0 {
        return Ok(());
    }
    // SAFETY: a table lookup of an integer.
    let code = unsafe { RtlNtStatusToDosError(status) };
    Err(io::Error::from_raw_os_error(code.cast_signed()))
}

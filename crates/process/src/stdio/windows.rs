//! The standard streams on Windows. Rust's library looks up the standard handles at every print and read, so
//! replacing them (`SetStdHandle`) suffices for all Rust code. A C library that prints through a C runtime's
//! descriptors would not be caught; none is linked.

use super::OwnStdio;
use crate::pipe::{ByteReader, ByteWriter};
use std::{
    fs::{File, OpenOptions},
    io,
    os::windows::io::{BorrowedHandle, FromRawHandle, IntoRawHandle, OwnedHandle},
};
use windows_sys::Win32::{
    Foundation::{HANDLE, HANDLE_FLAG_INHERIT, INVALID_HANDLE_VALUE, SetHandleInformation},
    System::Console::{
        GetStdHandle, STD_ERROR_HANDLE, STD_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetStdHandle,
    },
};

pub(super) fn take() -> io::Result<OwnStdio> {
    let (input, output) = (private(STD_INPUT_HANDLE)?, private(STD_OUTPUT_HANDLE)?);
    let stray_prints = private(STD_ERROR_HANDLE)?;
    put(STD_INPUT_HANDLE, null()?.into())?;
    put(STD_OUTPUT_HANDLE, stray_prints)?;
    Ok(OwnStdio { input: ByteReader::from_handle(input)?, output: ByteWriter::from_handle(output)? })
}

/// A private handle to the same stream that no child inherits. The original, which we got by inheritance,
/// loses its inherit flag too.
fn private(which: STD_HANDLE) -> io::Result<OwnedHandle> {
    let Some(handle) = given(which) else { return Ok(null()?.into()) };
    // SAFETY: the handle is open, and only its flag changes. A failure leaves it unchanged, and can be ignored.
    unsafe { SetHandleInformation(handle, HANDLE_FLAG_INHERIT, 0) };
    // SAFETY: no standard handle is closed meanwhile: this runs before there are other threads.
    unsafe { BorrowedHandle::borrow_raw(handle) }.try_clone_to_owned()
}

/// Replaces a standard handle and closes the old one, so that the client sees the end when `output` is dropped.
fn put(which: STD_HANDLE, handle: OwnedHandle) -> io::Result<()> {
    let old = given(which);
    // SAFETY: the handle is open, and its ownership is given away.
    if unsafe { SetStdHandle(which, handle.into_raw_handle()) } == 0 {
        return Err(io::Error::last_os_error());
    }
    // One handle may serve two streams.
    let is_still_used = [STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE].map(given).contains(&old);
    if let Some(old) = old.filter(|_| !is_still_used) {
        // SAFETY: opened for this process, and no standard stream refers to it any more. Rust's library looks
        // handles up each time, so it has no copy.
        drop(unsafe { OwnedHandle::from_raw_handle(old) });
    }
    Ok(())
}

fn given(which: STD_HANDLE) -> Option<HANDLE> {
    // SAFETY: takes a constant; the result is checked before use.
    let handle = unsafe { GetStdHandle(which) };
    (!handle.is_null() && handle != INVALID_HANDLE_VALUE).then_some(handle)
}

fn null() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("NUL")
}

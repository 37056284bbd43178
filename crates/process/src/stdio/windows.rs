//! The standard streams on Windows. Rust's library asks for the standard handles at every print and read, so
//! replacing them (`SetStdHandle`) is enough for all Rust code. A C library that prints by the descriptors of a
//! C runtime would not be caught; none is linked.

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

/// A handle of our own to the same stream, that no child inherits; nor does it inherit the one we were given,
/// which was passed on to us by being inheritable.
fn private(which: STD_HANDLE) -> io::Result<OwnedHandle> {
    let Some(handle) = given(which) else { return Ok(null()?.into()) };
    // SAFETY: the handle is open, and only its flag is changed. A failure leaves it as it was, and there is
    // nothing better to do then.
    unsafe { SetHandleInformation(handle, HANDLE_FLAG_INHERIT, 0) };
    // SAFETY: nobody closes a standard handle meanwhile: this runs before there are other threads.
    unsafe { BorrowedHandle::borrow_raw(handle) }.try_clone_to_owned()
}

/// Puts a handle in a standard one's place, and closes that one: the client is to see when `output` is dropped.
fn put(which: STD_HANDLE, handle: OwnedHandle) -> io::Result<()> {
    let old = given(which);
    // SAFETY: the handle is open and is given away for good.
    if unsafe { SetStdHandle(which, handle.into_raw_handle()) } == 0 {
        return Err(io::Error::last_os_error());
    }
    // One handle may have been given for two streams.
    let is_still_used = [STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE].map(given).contains(&old);
    if let Some(old) = old.filter(|_| !is_still_used) {
        // SAFETY: it was opened for this process, and no standard stream refers to it any more. Rust's library
        // asks for them each time, so it has kept no copy.
        drop(unsafe { OwnedHandle::from_raw_handle(old) });
    }
    Ok(())
}

fn given(which: STD_HANDLE) -> Option<HANDLE> {
    // SAFETY: a constant goes in, and what comes out is looked at before it is used.
    let handle = unsafe { GetStdHandle(which) };
    (!handle.is_null() && handle != INVALID_HANDLE_VALUE).then_some(handle)
}

fn null() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("NUL")
}

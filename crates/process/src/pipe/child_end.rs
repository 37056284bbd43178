//! A pipe between us and a child on Windows. Our end uses overlapped I/O, so that no thread waits for it; the child's end
//! is an ordinary one. Anonymous pipes of Windows cannot use overlapped I/O, so these pipes have names, which nobody can
//! guess or use a second time.

use super::named::{self, NamedReader, NamedWriter};
use std::fs::OpenOptions;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{FromRawHandle, OwnedHandle, RawHandle};
use std::ptr;
use tokio::net::windows::named_pipe::NamedPipeServer;
use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OVERLAPPED, FILE_READ_ATTRIBUTES, FILE_WRITE_ATTRIBUTES,
    PIPE_ACCESS_INBOUND, PIPE_ACCESS_OUTBOUND,
};
use windows_sys::Win32::System::Pipes::{
    CreateNamedPipeW, PIPE_READMODE_BYTE, PIPE_REJECT_REMOTE_CLIENTS, PIPE_TYPE_BYTE, PIPE_WAIT,
};

const BUFFER_BYTES: u32 = 64 * 1024;

/// A pipe that the child reads: our end and the child's.
pub(super) fn to_child() -> io::Result<(NamedWriter, OwnedHandle)> {
    let (ours, theirs) = pair(PIPE_ACCESS_OUTBOUND, GENERIC_READ | FILE_WRITE_ATTRIBUTES)?;
    Ok((named::writer(register(ours)?), theirs))
}

/// A pipe that the child writes: our end and the child's.
pub(super) fn from_child() -> io::Result<(NamedReader, OwnedHandle)> {
    let (ours, theirs) = pair(PIPE_ACCESS_INBOUND, GENERIC_WRITE | FILE_READ_ATTRIBUTES)?;
    Ok((named::reader(register(ours)?), theirs))
}

/// Registers our end. The other end must be open already, or nothing reads from the pipe.
fn register(pipe: OwnedHandle) -> io::Result<NamedPipeServer> {
    use std::os::windows::io::IntoRawHandle;
    // The registration would panic outside a runtime.
    tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    // SAFETY: a named pipe for overlapped I/O, whose ownership is given away.
    unsafe { NamedPipeServer::from_raw_handle(pipe.into_raw_handle()) }
}

fn pair(direction: u32, their_access: u32) -> io::Result<(OwnedHandle, OwnedHandle)> {
    let random = || BuildHasher::hash_one(&RandomState::new(), 0);
    let name = format!(r"\\.\pipe\switchboard-child-{:016x}{:016x}", random(), random());
    let wide: Vec<u16> = name.encode_utf16().chain([0]).collect();
    // SAFETY: the name ends with a zero. No attributes: the handle is not inheritable.
    let ours: RawHandle = unsafe {
        CreateNamedPipeW(
            wide.as_ptr(),
            direction | FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE,
            PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS,
            // One instance: once the child's end is open, no other process can open the pipe.
            1,
            BUFFER_BYTES,
            BUFFER_BYTES,
            0,
            ptr::null(),
        )
    };
    if ours == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just created, without another owner.
    let ours = unsafe { OwnedHandle::from_raw_handle(ours) };
    let theirs = OpenOptions::new().access_mode(their_access).open(&name)?;
    Ok((ours, theirs.into()))
}

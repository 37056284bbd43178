//! Who is at the other end of a socket, as the system knows it.

use rustix::process::geteuid;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// The other's process, if it is one of this user; 0 if its number is not known. Root is another user too.
pub(super) fn same_user(socket: &impl AsRawFd) -> io::Result<u32> {
    let (user, process) = credentials(socket.as_raw_fd())?;
    if user == geteuid().as_raw() {
        Ok(process)
    } else {
        Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("it belongs to the user with the number {user}"),
        ))
    }
}

/// Not by `rustix`: there a process cannot have the number 0, which those of another PID namespace have.
#[cfg(target_os = "linux")]
fn credentials(socket: RawFd) -> io::Result<(u32, u32)> {
    let mut who = libc::ucred { pid: 0, uid: 0, gid: 0 };
    option(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, &mut who)?;
    Ok((who.uid, who.pid.unsigned_abs()))
}

#[cfg(not(target_os = "linux"))]
fn credentials(socket: RawFd) -> io::Result<(u32, u32)> {
    let (mut user, mut group) = (0, 0);
    // SAFETY: the descriptor is open, and both numbers are there to be written.
    if unsafe { libc::getpeereid(socket, &mut user, &mut group) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((user, process(socket)))
}

#[cfg(target_os = "macos")]
fn process(socket: RawFd) -> u32 {
    let mut process: libc::pid_t = 0;
    option(socket, libc::SOL_LOCAL, libc::LOCAL_PEERPID, &mut process).map_or(0, |()| process.unsigned_abs())
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn process(_: RawFd) -> u32 {
    0
}

/// Only for options whose value is a plain number or a structure of such.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn option<T: Copy>(socket: RawFd, level: i32, name: i32, value: &mut T) -> io::Result<()> {
    let wanted = size_of::<T>() as libc::socklen_t;
    let mut length = wanted;
    // SAFETY: the descriptor is open, and no more is written than the size that is given.
    let result = unsafe { libc::getsockopt(socket, level, name, (&raw mut *value).cast(), &mut length) };
    match result {
        0 if length == wanted => Ok(()),
        0 => Err(io::ErrorKind::InvalidData.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

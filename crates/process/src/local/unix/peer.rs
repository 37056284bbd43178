//! Identity of the peer of a socket, as the system knows it. Must not know what the connection is for.

use rustix::process::geteuid;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

pub(in crate::local) use process::PeerProcess;

/// The peer's process id, if it belongs to this user; 0 if unknown. Root counts as another user too.
pub(super) fn same_user(socket: &impl AsRawFd) -> io::Result<u32> {
    let (user, process) = credentials(socket.as_raw_fd())?;
    if user == geteuid().as_raw() {
        Ok(process)
    } else {
        Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("it belongs to another user (uid {user})"),
        ))
    }
}

/// Avoids `rustix`, which rejects the process id 0 of a peer in another PID namespace.
#[cfg(target_os = "linux")]
fn credentials(socket: RawFd) -> io::Result<(u32, u32)> {
    let mut who = libc::ucred { pid: 0, uid: 0, gid: 0 };
    option(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, &mut who)?;
    Ok((who.uid, who.pid.unsigned_abs()))
}

#[cfg(not(target_os = "linux"))]
fn credentials(socket: RawFd) -> io::Result<(u32, u32)> {
    let (mut user, mut group) = (0, 0);
    // SAFETY: the descriptor is open, and both numbers are valid for writing.
    if unsafe { libc::getpeereid(socket, &mut user, &mut group) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((user, number(socket)))
}

#[cfg(target_os = "macos")]
fn number(socket: RawFd) -> u32 {
    let mut process: libc::pid_t = 0;
    option(socket, libc::SOL_LOCAL, libc::LOCAL_PEERPID, &mut process).map_or(0, |()| process.unsigned_abs())
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn number(_: RawFd) -> u32 {
    0
}

/// Only for options whose value is a plain number or a structure of plain numbers.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn option<T: Copy>(socket: RawFd, level: i32, name: i32, value: &mut T) -> io::Result<()> {
    let wanted = size_of::<T>() as libc::socklen_t;
    let mut length = wanted;
    // SAFETY: the descriptor is open, and the size limits what is written.
    let result = unsafe { libc::getsockopt(socket, level, name, (&raw mut *value).cast(), &mut length) };
    match result {
        0 if length == wanted => Ok(()),
        0 => Err(io::ErrorKind::InvalidData.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A process that can be killed. A descriptor holds it, since its number may be reused.
#[cfg(target_os = "linux")]
mod process {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

    /// Missing from `libc` for some C libraries. Needs Linux 6.5.
    const SO_PEERPIDFD: i32 = 77;

    pub(in crate::local) struct PeerProcess(Option<OwnedFd>);

    impl PeerProcess {
        /// For a peer that we never kill.
        pub(in crate::local) fn none() -> Self {
            Self(None)
        }

        pub(in crate::local) fn of(socket: &(impl AsRawFd + AsFd), number: u32) -> Self {
            Self(exactly(socket).or_else(|| by_number(socket, number)))
        }

        pub(in crate::local) fn kill(&self) {
            if let Some(process) = &self.0 {
                let _ = pidfd_send_signal(process, Signal::KILL);
            }
        }
    }

    fn exactly(socket: &impl AsRawFd) -> Option<OwnedFd> {
        let mut fd: i32 = -1;
        super::option(socket.as_raw_fd(), libc::SOL_SOCKET, SO_PEERPIDFD, &mut fd).ok()?;
        // SAFETY: the system has just opened it for us; it has no other owner.
        (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Fallback for older systems. If the peer has not hung up after its number was looked up, the number was
    /// still its own.
    fn by_number(socket: &impl AsFd, number: u32) -> Option<OwnedFd> {
        let number = Pid::from_raw(i32::try_from(number).ok()?)?;
        let process = pidfd_open(number, PidfdFlags::empty()).ok()?;
        let mut polled = [PollFd::new(socket, PollFlags::empty())];
        poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).ok()?;
        let is_gone = polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR);
        (!is_gone).then_some(process)
    }
}

#[cfg(not(target_os = "linux"))]
mod process {
    use rustix::process::{Pid, Signal, kill_process};

    pub(in crate::local) struct PeerProcess(u32);

    impl PeerProcess {
        /// For a peer that we never kill.
        pub(in crate::local) fn none() -> Self {
            Self(0)
        }

        pub(in crate::local) fn of<S>(_: &S, number: u32) -> Self {
            Self(number)
        }

        pub(in crate::local) fn kill(&self) {
            if let Some(process) = i32::try_from(self.0).ok().and_then(Pid::from_raw) {
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }
}

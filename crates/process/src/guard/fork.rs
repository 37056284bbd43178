//! A fork, in processes that have one thread.

use rustix::process::Pid;
use std::io;

/// Which side of a fork this is.
pub(super) enum Side {
    Parent(Pid),
    Child,
}

/// Must be called in a process with one thread: of several, only the calling one would go on in the child, with
/// whatever locks the others held.
pub(super) fn fork() -> io::Result<Side> {
    // SAFETY: wardens and guards never start a thread (see `take_role`), so that the child is a whole program.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Side::Child),
        pid => {
            Pid::from_raw(pid).map(Side::Parent).ok_or_else(|| io::Error::other("a child without a number"))
        }
    }
}

/// Ends a forked process without the parent's exit handlers.
pub(super) fn leave(code: i32) -> ! {
    // SAFETY: it does not return, and nothing is run.
    unsafe { libc::_exit(code) }
}

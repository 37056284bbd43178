//! Forks, in processes that have one thread, and settings of a forked process. Must not know which role the
//! process has.

use rustix::process::Pid;
use std::ffi::CStr;
use std::io;

/// The side of a fork on which the caller continues.
pub(super) enum Side {
    Parent(Pid),
    Child,
}

/// Must be called in a process with one thread: the child continues with the calling thread only, and any
/// locks of the others would stay locked.
pub(super) fn fork() -> io::Result<Side> {
    // SAFETY: wardens and guards never start a thread (see `take_role`), so the child is a complete program.
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
    // SAFETY: does not return, and runs no code.
    unsafe { libc::_exit(code) }
}

/// Sets the name of this process in the process table.
pub(super) fn set_process_name(name: &CStr) {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(name);
    #[cfg(not(target_os = "linux"))]
    let _ = name;
}

/// Makes orphans below this process its own children instead of init's.
pub(super) fn take_in_orphans() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

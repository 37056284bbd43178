//! Forks, in processes that have one thread, and settings of a forked process.

use rustix::process::Pid;
use std::ffi::CStr;
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

/// Sets the name under which the system lists this process.
pub(super) fn set_process_name(name: &CStr) {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(name);
    #[cfg(not(target_os = "linux"))]
    let _ = name;
}

/// Makes orphans below this process its children, and not those of the first process of all.
pub(super) fn take_in_orphans() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

//! Liveness of a process by its number. For reports only: the number may pass to another process a moment
//! later, so no process may be killed because of this answer.

/// A zombie does not count as alive, even if its parent has not reaped it: the first process of a container
/// often never reaps.
pub fn is_alive(pid: u32) -> bool {
    os::is_alive(pid)
}

#[cfg(unix)]
mod os {
    use crate::table;
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    pub(super) fn is_alive(pid: u32) -> bool {
        // To `kill`, 0 and negative numbers mean whole groups, so they must not get through.
        let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
        // A refusal means that the process exists and belongs to someone else.
        !matches!(test_kill_process(number), Err(Errno::SRCH))
            && !table::one(pid).is_some_and(|entry| entry.is_zombie)
    }
}

#[cfg(windows)]
mod os {
    use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle, RawHandle};

    const SYNCHRONIZE: u32 = 0x0010_0000;
    const WAIT_TIMEOUT: u32 = 258;

    unsafe extern "system" {
        fn OpenProcess(access: u32, inherit: i32, pid: u32) -> RawHandle;
        fn WaitForSingleObject(handle: RawHandle, milliseconds: u32) -> u32;
    }

    pub(super) fn is_alive(pid: u32) -> bool {
        // SAFETY: three integers; a null handle, the only failure, is checked for.
        let handle = unsafe { OpenProcess(SYNCHRONIZE, 0, pid) };
        if handle.is_null() {
            return false;
        }
        // An ended process can still be opened while others hold handles to it; only the wait tells.
        // SAFETY: the handle was just opened and has no other owner.
        let process = unsafe { OwnedHandle::from_raw_handle(handle) };
        // SAFETY: the handle is open, and 0 means not to wait.
        unsafe { WaitForSingleObject(process.as_raw_handle(), 0) == WAIT_TIMEOUT }
    }
}

#[cfg(test)]
mod tests {
    use super::is_alive;

    #[test]
    fn we_are_alive_and_the_largest_pid_is_not() {
        assert!(is_alive(std::process::id()));
        assert!(!is_alive(u32::MAX));
        assert!(!is_alive(0x3fff_fffe));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn zombie_is_not_alive() {
        #[expect(clippy::disallowed_methods, reason = "a child that ends at once, and is waited for")]
        let mut child = std::process::Command::new("true").spawn().expect("`true` is everywhere");
        let pid = child.id();
        while is_alive(pid) {
            std::thread::yield_now();
        }
        assert!(child.wait().expect("it was not waited for before").success());
    }
}

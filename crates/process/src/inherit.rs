//! Process state that our children must not inherit, and inherited state that would harm us. Must not know which child.

use std::sync::Once;

/// Resets SIGCHLD to its default if our parent left it ignored: an ignored SIGCHLD is inherited and makes the
/// system reap our children by itself. Their exit status would be lost and their numbers reused at once (see
/// `child::unix`).
pub(crate) fn keep_children_as_zombies() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: an all-zero sigaction is a valid value (no handler, empty mask); sigaction fills one
        // structure and reads the other. An installed handler is left in place.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            let asked = libc::sigaction(libc::SIGCHLD, std::ptr::null(), &mut now);
            if asked == 0 && (now.sa_sigaction == libc::SIG_IGN || now.sa_flags & libc::SA_NOCLDWAIT != 0) {
                let mut default: libc::sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(libc::SIGCHLD, &default, std::ptr::null_mut());
            }
        }
    });
}

/// Marks all our descriptors except the three standard ones as close-on-exec. Rust opens files that way;
/// descriptors leaked by our parent or opened by C libraries lack the flag.
pub(crate) fn close_descriptors_on_exec() {
    #[cfg(target_os = "linux")]
    {
        const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;
        // SAFETY: with this flag close_range closes nothing; it sets a flag on our own descriptors. A raw
        // system call, because older C libraries have no function for it.
        let result = unsafe {
            libc::syscall(libc::SYS_close_range, 3 as libc::c_uint, libc::c_uint::MAX, CLOSE_RANGE_CLOEXEC)
        };
        if result == 0 {
            return;
        }
    }
    mark_one_by_one();
}

/// Fallback for macOS and for Linux before 5.11.
fn mark_one_by_one() {
    let folders = ["/dev/fd", "/proc/self/fd"].iter();
    let Some(entries) = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).next() else { return };
    for number in entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        if number > 2 {
            // SAFETY: only a flag of the descriptor changes, on which no owner relies; if it was closed
            // meanwhile, the call fails.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
    use std::fs::File;

    #[test]
    fn both_ways_mark_a_leaked_descriptor() {
        for mark in [super::close_descriptors_on_exec, super::mark_one_by_one] {
            let file = File::open("/dev/null").unwrap();
            fcntl_setfd(&file, FdFlags::empty()).unwrap();
            mark();
            assert!(fcntl_getfd(&file).unwrap().contains(FdFlags::CLOEXEC));
        }
    }
}

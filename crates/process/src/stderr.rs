//! Our own stderr, for those who must not wait for its reader.

/// Writes whole lines as long as they go without waiting; what does not go is dropped. An IDE that does not
/// read our stderr must not be able to stop us.
pub fn write_if_it_goes(lines: &[u8]) {
    for line in lines.split_inclusive(|&b| b == b'\n') {
        // A pipe that is writable takes so much at once without blocking.
        for part in line.chunks(os::AT_ONCE) {
            if !os::write(part) {
                return;
            }
        }
    }
}

#[cfg(unix)]
mod os {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::stdio::stderr;

    /// `PIPE_BUF` on Linux; POSIX promises at least 512.
    pub(super) const AT_ONCE: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

    pub(super) fn write(part: &[u8]) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(stderr(), PollFlags::OUT)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let is_writable = matches!(poll(&mut fds, Some(&at_once)), Ok(1..));
        is_writable && fds[0].revents().contains(PollFlags::OUT) && rustix::io::write(stderr(), part).is_ok()
    }
}

#[cfg(windows)]
mod os {
    use std::io::Write;

    pub(super) const AT_ONCE: usize = 4096;

    // Windows has no way to ask; the telemetry thread is the only one that may wait here.
    pub(super) fn write(part: &[u8]) -> bool {
        std::io::stderr().write_all(part).is_ok()
    }
}

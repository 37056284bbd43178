//! Our own stderr, written without blocking; and the log file that it may be redirected to. Must not know
//! what is logged.

use std::path::{Path, PathBuf};

/// Writes whole lines as long as that does not block, and drops the rest. An IDE that does not read our
/// stderr must not be able to stop us.
pub fn write_if_it_goes(lines: &[u8]) {
    for line in lines.split_inclusive(|&b| b == b'\n') {
        // A writable pipe accepts this much at once without blocking.
        for part in line.chunks(os::MAX_ATOMIC_WRITE_BYTES) {
            // A later part without this one would be a torn line.
            if !os::write(part) {
                return;
            }
        }
    }
}

/// The file that our stderr is appended to, for a long-lived process without a reader.
pub struct StderrFile(#[cfg_attr(windows, expect(dead_code, reason = "nothing is known of it"))] PathBuf);

impl StderrFile {
    /// The file at this path, if stderr goes there. Unknown on Windows.
    pub fn at(path: &Path) -> Option<Self> {
        os::is_at(path).then(|| Self(path.to_owned()))
    }

    /// Starts a new file once this one has reached `most` bytes. The old one is kept next to it, as `….1`.
    /// Several processes may append to the same file, and do so.
    pub fn keep_below(&self, most: u64) {
        #[cfg(unix)]
        os::keep_below(&self.0, most);
        #[cfg(windows)]
        let _ = most;
    }
}

/// Same as [`StderrFile::keep_below`], for a file that is about to become another process's stderr.
pub fn begin_anew_if_long(path: &Path, most: u64) {
    if std::fs::metadata(path).is_ok_and(|meta| meta.len() >= most) {
        let _ = std::fs::rename(path, set_aside(path));
    }
}

fn set_aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

#[cfg(unix)]
mod os {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::{Mode, OFlags, fstat, open, stat};
    use rustix::stdio::{dup2_stderr, stderr};
    use std::path::Path;

    /// `PIPE_BUF` on Linux; POSIX guarantees at least 512.
    pub(super) const MAX_ATOMIC_WRITE_BYTES: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

    pub(super) fn is_at(path: &Path) -> bool {
        match (fstat(stderr()), stat(path)) {
            (Ok(ours), Ok(found)) => (ours.st_dev, ours.st_ino) == (found.st_dev, found.st_ino),
            _ => false,
        }
    }

    pub(super) fn keep_below(path: &Path, most: u64) {
        if fstat(stderr()).is_ok_and(|ours| u64::try_from(ours.st_size).is_ok_and(|length| length < most)) {
            return;
        }
        // Another process may have moved the file already; the one at the path is then new.
        if is_at(path) {
            let _ = std::fs::rename(path, super::set_aside(path));
        }
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(new) = open(path, flags, Mode::RUSR | Mode::WUSR) {
            let _ = dup2_stderr(&new);
        }
    }

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
    use std::path::Path;

    pub(super) fn is_at(_: &Path) -> bool {
        false
    }

    pub(super) const MAX_ATOMIC_WRITE_BYTES: usize = 4096;

    // Windows has no way to ask; only the telemetry thread may block here.
    pub(super) fn write(part: &[u8]) -> bool {
        std::io::stderr().write_all(part).is_ok()
    }
}

//! The limit on open descriptors: a check whether enough are free before the runtime fails for lack of one,
//! and a higher limit for a process with many clients, which its child processes do not inherit. Must not
//! know what the descriptors are for.

use std::fs::File;
use std::io;

/// Number of descriptors that we open before we serve.
const OWN_FDS: usize = 12;

/// Checks that enough descriptors are free, before anything is started.
pub fn for_ourselves() -> io::Result<()> {
    let null = if cfg!(windows) { "NUL" } else { "/dev/null" };
    // All are held at once, since each one alone would nearly always succeed.
    let opened: io::Result<Vec<File>> = (0..OWN_FDS).map(|_| File::open(null)).collect();
    opened.map(drop)
}

/// Descriptors needed to start a server and its warden, with some spare for clients that ask for our status.
const SERVER_START_FDS: usize = 24;
/// Upper limit of the reserve.
const MAX_RESERVED_FDS: usize = 256;

/// Whether `count` more descriptors can be opened without touching the reserve for starting servers: a
/// quarter of our limit.
pub fn beside_the_reserve(count: usize) -> bool {
    #[cfg(unix)]
    return unix::can_open(count + unix::limit().map_or(SERVER_START_FDS, reserve));
    #[cfg(not(unix))]
    {
        let _ = (count, reserve);
        true
    }
}

fn reserve(limit: usize) -> usize {
    (limit / 4).clamp(SERVER_START_FDS, MAX_RESERVED_FDS)
}

/// The limit on open descriptors, if there is one.
pub fn limit() -> Option<usize> {
    #[cfg(unix)]
    return unix::limit();
    #[cfg(not(unix))]
    None
}

/// Raises our limit on open files to the maximum. Child processes get the original limit: some programs
/// cannot handle more (`select`), or loop over all possible numbers.
pub fn for_many() {
    #[cfg(unix)]
    unix::for_many();
}

#[cfg(unix)]
pub(crate) use unix::as_before;

#[cfg(unix)]
mod unix {
    use rustix::io::fcntl_dupfd_cloexec;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use std::os::fd::OwnedFd;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::sync::OnceLock;

    pub(super) fn limit() -> Option<usize> {
        getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok())
    }

    /// Checked by trying: open descriptors may have any number.
    pub(super) fn can_open(count: usize) -> bool {
        let Ok(one) = std::fs::File::open("/dev/null") else { return false };
        let rest: Result<Vec<OwnedFd>, _> = (1..count).map(|_| fcntl_dupfd_cloexec(&one, 3)).collect();
        rest.is_ok()
    }

    /// The real maximum of macOS, whatever it reports.
    const MACOS_MAX_FDS: u64 = 10_240;

    /// The original limit.
    static BEFORE: OnceLock<Rlimit> = OnceLock::new();

    pub(super) fn for_many() {
        let before = getrlimit(Resource::Nofile);
        let raised = |most| setrlimit(Resource::Nofile, Rlimit { current: most, ..before });
        let _ = BEFORE.set(before);
        // macOS refuses the maximum that it reports.
        if raised(before.maximum).is_err() && before.current.is_some_and(|now| now < MACOS_MAX_FDS) {
            let _ = raised(Some(MACOS_MAX_FDS));
        }
    }

    /// Makes the command run with the original limit.
    pub(crate) fn as_before(command: &mut Command) {
        // A command without such a hook starts faster.
        let Some(before) = BEFORE.get() else { return };
        // SAFETY: one system call between fork and exec; no allocation.
        unsafe {
            command.pre_exec(|| {
                let _ = setrlimit(Resource::Nofile, *before);
                Ok(())
            });
        }
    }
}

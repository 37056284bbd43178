//! Free descriptors: whether there are enough for what we are about to open, before the runtime fails for want of one; and
//! a higher limit for a process that serves many clients, which does not hold for the programs that it starts.

use std::fs::File;
use std::io;

/// Descriptors that we open until we serve.
const OWN_FDS: usize = 12;

/// Says what is missing, before anything was begun.
pub fn for_ourselves() -> io::Result<()> {
    let null = if cfg!(windows) { "NUL" } else { "/dev/null" };
    let opened: io::Result<Vec<File>> = (0..OWN_FDS).map(|_| File::open(null)).collect();
    opened.map(drop)
}

/// Descriptors that the start of a server and its warden takes, with some for clients that ask for our status.
const SERVER_START_FDS: usize = 24;
/// Limit of the reserve.
const MAX_RESERVED_FDS: usize = 256;

/// Whether so many more descriptors can be opened without touching the reserve that servers are started from: a quarter
/// of all that we may have.
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

/// How many descriptors we may have, where that is limited.
pub fn limit() -> Option<usize> {
    #[cfg(unix)]
    return unix::limit();
    #[cfg(not(unix))]
    None
}

/// Lets us open as many files as we may. Programs that we start get the limit that was set for them: some are not made
/// for more (`select`), or go through all numbers that there may be.
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

    /// By trying it: what is open may have any number.
    pub(super) fn can_open(count: usize) -> bool {
        let Ok(one) = std::fs::File::open("/dev/null") else { return false };
        let rest: Result<Vec<OwnedFd>, _> = (1..count).map(|_| fcntl_dupfd_cloexec(&one, 3)).collect();
        rest.is_ok()
    }

    /// What macOS grants at most, whatever it says.
    const MACOS_MAX_FDS: u64 = 10_240;

    /// The limit as it was.
    static BEFORE: OnceLock<Rlimit> = OnceLock::new();

    pub(super) fn for_many() {
        let before = getrlimit(Resource::Nofile);
        let raised = |most| setrlimit(Resource::Nofile, Rlimit { current: most, ..before });
        let _ = BEFORE.set(before);
        if raised(before.maximum).is_err() && before.current.is_some_and(|now| now < MACOS_MAX_FDS) {
            let _ = raised(Some(MACOS_MAX_FDS));
        }
    }

    /// What is started by this has the limit as it was.
    pub(crate) fn as_before(command: &mut Command) {
        // Without such a hook, starting is cheaper.
        let Some(before) = BEFORE.get() else { return };
        // SAFETY: between fork and exec only a system call is made; nothing is allocated.
        unsafe {
            command.pre_exec(|| {
                let _ = setrlimit(Resource::Nofile, *before);
                Ok(())
            });
        }
    }
}

//! Whether the system has room for what we are about to open. The runtime does not say so kindly when there is none. And
//! how one who serves many makes more of it, for itself and not for those it starts.

use std::fs::File;
use std::io;

/// So many descriptors are opened by the time that we serve.
const NEEDED: usize = 12;

/// Says what is missing, before anything was begun.
pub fn for_ourselves() -> io::Result<()> {
    let null = if cfg!(windows) { "NUL" } else { "/dev/null" };
    let opened: io::Result<Vec<File>> = (0..NEEDED).map(|_| File::open(null)).collect();
    opened.map(drop)
}

/// So many descriptors are opened to start a server, at most, and its warden with it; with some for those who ask how we are.
const START: usize = 24;
/// No more than this is looked for.
const MOST_KEPT: usize = 256;

/// Whether so many more descriptors can be opened without touching the reserve that servers are started from: a quarter
/// of all that we may have.
pub fn beside_the_reserve(count: usize) -> bool {
    #[cfg(unix)]
    return unix::can_open(count + unix::limit().map_or(START, reserve));
    #[cfg(not(unix))]
    {
        let _ = (count, reserve);
        true
    }
}

fn reserve(limit: usize) -> usize {
    (limit / 4).clamp(START, MOST_KEPT)
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
    const OPEN_MAX: u64 = 10_240;

    /// The limit as it was.
    static BEFORE: OnceLock<Rlimit> = OnceLock::new();

    pub(super) fn for_many() {
        let before = getrlimit(Resource::Nofile);
        let raised = |most| setrlimit(Resource::Nofile, Rlimit { current: most, ..before });
        let _ = BEFORE.set(before);
        if raised(before.maximum).is_err() && before.current.is_some_and(|now| now < OPEN_MAX) {
            let _ = raised(Some(OPEN_MAX));
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

//! Core files: our own processes write none, since their memory contains tokens and the environments of servers.
//! Programs that we start get the limit that our own parent gave us. Must not know what the secrets are.

/// Keeps this process from writing core files. To be called before any program is started.
pub fn disable() {
    #[cfg(unix)]
    unix::disable();
}

#[cfg(unix)]
pub(crate) use unix::{as_before, restore};

#[cfg(unix)]
mod unix {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::sync::OnceLock;

    /// Linux ignores a limit of 0 bytes for core files that a pipe takes (`core_pattern`), as with
    /// systemd-coredump; a limit of 1 byte ends both kinds.
    const NO_CORE_BYTES: u64 = if cfg!(target_os = "linux") { 1 } else { 0 };

    /// The original limit.
    static BEFORE: OnceLock<Rlimit> = OnceLock::new();

    pub(super) fn disable() {
        let before = getrlimit(Resource::Core);
        let lowest = before.maximum.map_or(NO_CORE_BYTES, |maximum| maximum.min(NO_CORE_BYTES));
        // Only the current limit: a lower maximum could not be raised again for our children.
        if setrlimit(Resource::Core, Rlimit { current: Some(lowest), ..before }).is_ok() {
            let _ = BEFORE.set(before);
        }
    }

    /// Makes the command run with the original limit.
    pub(crate) fn as_before(command: &mut Command) {
        // A command without such a hook starts faster.
        if BEFORE.get().is_none() {
            return;
        }
        // SAFETY: one system call between fork and exec; no allocation.
        unsafe {
            command.pre_exec(|| {
                restore();
                Ok(())
            });
        }
    }

    /// Gives this process its original limit back. One system call, for use between fork and exec.
    pub(crate) fn restore() {
        if let Some(before) = BEFORE.get() {
            let _ = setrlimit(Resource::Core, *before);
        }
    }
}

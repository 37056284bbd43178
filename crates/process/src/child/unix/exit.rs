//! Detection of a child's end and its exit status. Must not know about groups, or why anyone waits.
//!
//! Waits for one process by its number only: a `waitpid(-1)` would steal the exit statuses of children that
//! other code in this process waits for.

use super::Ended;
use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitId, WaitIdOptions, waitid},
};
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use tokio::signal::unix::{SignalKind, signal};

/// State of a child.
pub(super) enum ChildState {
    Running,
    /// Ended, not yet reaped.
    Ended(Ended),
    /// No longer our child; someone else has reaped it.
    Gone,
}

/// Checks the state without waiting and without reaping.
pub(super) fn look(pid: Pid) -> ChildState {
    match wait(pid, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT) {
        Ok(Some(ended)) => ChildState::Ended(ended),
        Ok(None) => ChildState::Running,
        // The only error for such a call is ECHILD: the process is no child of ours any more.
        Err(_) => ChildState::Gone,
    }
}

/// Removes an ended child from the system's table, which frees its number.
pub(crate) fn reap(pid: Pid) {
    // The child has ended, so this does not wait; the only possible error is that it is gone already.
    let _ = wait(pid, WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
}

/// Blocks this thread until the child has ended.
pub(super) fn wait_for_end(pid: Pid) {
    let _ = wait(pid, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
}

fn wait(pid: Pid, options: WaitIdOptions) -> rustix::io::Result<Option<Ended>> {
    loop {
        match waitid(WaitId::Pid(pid), options) {
            Err(Errno::INTR) => {}
            result => {
                return Ok(result?.map(|status| match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => Ended::Exited(code),
                    (None, Some(signal)) => Ended::Signalled(signal),
                    (None, None) => Ended::Unknown,
                }));
            }
        }
    }
}

/// Wakes up when a child's state may have changed.
pub(crate) enum ExitWatch {
    /// Becomes readable when the process has ended.
    #[cfg(target_os = "linux")]
    Pidfd(tokio::io::unix::AsyncFd<OwnedFd>),
    /// Some child of ours has changed its state, perhaps this one. For systems without pidfd, and for Linux
    /// where pidfd is forbidden (seccomp) or no descriptor is left.
    Sigchld(tokio::signal::unix::Signal),
}

impl ExitWatch {
    pub(crate) fn on(pid: Pid) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Ok(watch) = Self::pidfd(pid) {
            return Ok(watch);
        }
        // Needed for a pidfd only.
        let _ = pid;
        Self::sigchld()
    }

    #[cfg(target_os = "linux")]
    fn pidfd(pid: Pid) -> io::Result<Self> {
        use rustix::process::{PidfdFlags, pidfd_open};
        use tokio::io::{Interest, unix::AsyncFd};
        // `AsyncFd` panics outside a runtime; an error lets the caller fall back.
        tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
        // The number cannot have been reused: the child is ours and not reaped.
        let fd = pidfd_open(pid, PidfdFlags::empty())?;
        // SAFETY: an `OwnedFd` stays open and the same until the `AsyncFd`, which owns it, is dropped.
        Ok(Self::Pidfd(unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?))
    }

    fn sigchld() -> io::Result<Self> {
        Ok(Self::Sigchld(signal(SignalKind::child())?))
    }

    /// Waits for the end of the child; `None` if someone else reaped it. Cancel-safe.
    pub(crate) async fn end(&mut self, pid: Pid) -> Option<Ended> {
        loop {
            // The watch exists before this check, so an end after the check is still reported.
            match look(pid) {
                ChildState::Ended(ended) => return Some(ended),
                ChildState::Gone => return None,
                ChildState::Running => {}
            }
            match self {
                // A pidfd stays readable after the end, so readiness is cleared only while the child runs.
                #[cfg(target_os = "linux")]
                Self::Pidfd(fd) => match fd.readable().await {
                    Ok(mut ready) if matches!(look(pid), ChildState::Running) => ready.clear_ready(),
                    Ok(_) => {}
                    // The runtime is shutting down, and this future with it.
                    Err(_) => std::future::pending().await,
                },
                Self::Sigchld(signals) => {
                    if signals.recv().await.is_none() {
                        std::future::pending().await
                    }
                }
            }
        }
    }
}

/// The usual name of a signal.
pub(in crate::child) fn signal_name(number: i32) -> Option<&'static str> {
    const NAMES: [(Signal, &str); 20] = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::VTALARM, "SIGVTALRM"),
        (Signal::PROF, "SIGPROF"),
        (Signal::SYS, "SIGSYS"),
    ];
    NAMES.iter().find(|(signal, _)| signal.as_raw() == number).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::{Launch, spawn};

    /// The path for systems other than Linux, and for Linux where pidfd is forbidden.
    #[tokio::test]
    async fn an_end_is_seen_by_sigchld_alone() {
        for code in 0..20 {
            let mut watch = ExitWatch::sigchld().unwrap();
            let spawned = spawn(&Launch {
                program: "/bin/sh".into(),
                args: ["-c", "read line; exit $line"].map(Into::into).to_vec(),
                env: Vec::new(),
                cwd: None,
            })
            .unwrap();
            let pid = Pid::from_raw(spawned.child.pid().cast_signed()).unwrap();
            spawned.stdin.try_write(&[io::IoSlice::new(format!("{code}\n").as_bytes())]).unwrap();
            assert_eq!(watch.end(pid).await, Some(Ended::Exited(code)));
            // The check has not reaped the child.
            assert_eq!(watch.end(pid).await, Some(Ended::Exited(code)));
            drop(spawned);
            assert_eq!(watch.end(pid).await, None);
        }
    }
}

//! The start of a program as the guard's own child, bound to the guard's life, with the mark that all
//! descendants inherit.

use crate::core_dumps;
use crate::mark::{MARK_VARIABLE, spell_mark};
use crate::wire::Assignment;
#[cfg(target_os = "linux")]
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// The program's ends of its three pipes.
pub(super) struct ProgramStreams {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

impl ProgramStreams {
    pub(super) fn from(fds: Vec<OwnedFd>) -> Option<Self> {
        let [stdin, stdout, stderr] = <[OwnedFd; 3]>::try_from(fds).ok()?;
        Some(Self { stdin, stdout, stderr })
    }
}

/// Starts the program. Consumes the streams: the caller must not keep them open, so that their ends can be seen.
pub(super) fn program(
    assignment: &Assignment,
    streams: ProgramStreams,
    door: Option<&File>,
) -> io::Result<Child> {
    let mut command = Command::new(&assignment.path);
    command.arg0(&assignment.arg0).args(&assignment.args);
    command.env_clear().envs(assignment.env.iter().map(|(name, value)| (name, value)));
    let limit = limit_that_carries(assignment.mark);
    if limit.is_none() {
        command.env(MARK_VARIABLE, spell_mark(assignment.mark));
    }
    if let Some(cwd) = &assignment.cwd {
        command.current_dir(cwd);
    }
    command.stdin(Stdio::from(streams.stdin)).stdout(Stdio::from(streams.stdout));
    command.stderr(Stdio::from(streams.stderr)).process_group(0);
    let (starter, door) = (std::process::id(), door.map(AsRawFd::as_raw_fd));
    // SAFETY: only system calls between fork and exec; no allocation.
    unsafe {
        command.pre_exec(move || {
            // First: whatever fails below, the program cannot outlive its starter.
            die_with(starter)?;
            hear_all_signals();
            core_dumps::restore();
            if let Some(limit) = limit {
                carry(limit);
            }
            if let Some(door) = door {
                // Running outside the cgroup is better than not running.
                libc::write(door, c"0".as_ptr().cast(), 1);
            }
            Ok(())
        });
    }
    #[expect(clippy::disallowed_methods, reason = "this is the one room that starts processes")]
    command.spawn()
}

/// Unblocks all signals: the guard's own signal mask is inherited and must not apply to its program.
fn hear_all_signals() {
    // SAFETY: sigemptyset makes the zeroed set valid; the other call only reads it.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

/// Binds our life to the starter's. The starter has one thread, so the signal cannot come too early: it is
/// tied to the thread.
#[cfg(target_os = "linux")]
pub(super) fn die_with(starter: u32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // The starter may have ended before the signal was set.
    if std::os::unix::process::parent_id() == starter { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
}

#[cfg(not(target_os = "linux"))]
fn die_with(_: u32) -> io::Result<()> {
    Ok(())
}

/// The mark is carried by a resource limit that programs do not look at (see `table::carries`), or by a
/// variable if that limit is set low: the server's environment should stay as its user wrote it.
#[cfg(target_os = "linux")]
fn limit_that_carries(mark: u64) -> Option<Rlimit> {
    let maximum = getrlimit(Resource::Locks).maximum;
    maximum.is_none_or(|maximum| mark <= maximum).then_some(Rlimit { current: Some(mark), maximum })
}

#[cfg(target_os = "linux")]
fn carry(limit: Rlimit) {
    let _ = setrlimit(Resource::Locks, limit);
}

#[cfg(not(target_os = "linux"))]
fn limit_that_carries(_: u64) -> Option<std::convert::Infallible> {
    None
}

#[cfg(not(target_os = "linux"))]
fn carry(limit: std::convert::Infallible) {
    match limit {}
}

//! How a guard starts its program: as its own child, bound to its life, with the mark that all below inherit.

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

/// Whoever starts it must not hold the streams itself afterwards: their ends have to be seen.
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
    // SAFETY: between fork and exec only system calls are made; nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            die_with(starter)?;
            hear_all_signals();
            if let Some(limit) = limit {
                carry(limit);
            }
            if let Some(door) = door {
                // Outside is better than not at all.
                libc::write(door, c"0".as_ptr().cast(), 1);
            }
            Ok(())
        });
    }
    #[expect(clippy::disallowed_methods, reason = "this is the one room that starts processes")]
    command.spawn()
}

/// What the guard has blocked for itself is inherited, and is not for its program.
fn hear_all_signals() {
    // SAFETY: a zeroed set is made a valid one by sigemptyset; the other call only reads it.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

/// When the process that starts us ends, so do we. It has one thread, so that this cannot come too early.
#[cfg(target_os = "linux")]
pub(super) fn die_with(starter: u32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // It may have ended before that.
    if std::os::unix::process::parent_id() == starter { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
}

#[cfg(not(target_os = "linux"))]
fn die_with(_: u32) -> io::Result<()> {
    Ok(())
}

/// A mark is carried by a limit that nobody looks at (see `table::carries`), and by a variable where somebody has
/// set that limit low: the server's environment is its user's, and stays as they wrote it if that can be.
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

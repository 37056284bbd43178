//! `guard: strict`: the tree in a PID namespace of its own. When its first process dies, the kernel kills all
//! others in it; and that one is bound to the guard's life. So nobody has to be left to clean up.
//!
//! Three processes stand in a row: the guard outside, the namespace's first process, and the program's parent.
//! The latter is there because servers look at their parent's number and end when it is 1: they take it for a
//! sign that they were orphaned.

use super::fork::{Side, fork, leave, set_process_name};
use super::start::{self, ProgramStreams};
use crate::table::{self, Entry};
use crate::wire::{Assignment, Report, Stage, read_frame};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Pid, Signal, WaitOptions, getegid, geteuid, set_parent_process_death_signal, wait};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// A namespace with a program in it.
pub(super) struct ProgramInNamespace {
    /// The program's number as it is seen from outside.
    pub(super) pid: u32,
    /// The program's parent writes its reports to it.
    reports: PipeReader,
    /// Held for as long as the guard lives; see `first_process`.
    _alive: PipeWriter,
}

/// Why a start failed, and where.
pub(super) type Failure = (Stage, io::Error);

pub(super) fn start(
    assignment: &Assignment,
    streams: ProgramStreams,
    door: Option<&File>,
    control: &UnixStream,
) -> Result<ProgramInNamespace, Failure> {
    let namespace = |error| (Stage::Namespace, error);
    let (mut reports, told) = io::pipe().map_err(namespace)?;
    let (is_alive, alive) = io::pipe().map_err(namespace)?;
    separate().map_err(namespace)?;
    let init = match fork().map_err(namespace)? {
        Side::Child => {
            drop((reports, alive));
            // Its end has to say that the guard is gone, whoever else lives.
            // SAFETY: this is our copy, in a process that does not come back to whoever owns it.
            unsafe { rustix::io::close(control.as_raw_fd()) };
            leave(first_process(assignment, streams, door, told, is_alive));
        }
        Side::Parent(init) => init,
    };
    drop((streams, told, is_alive));
    match hear(&mut reports) {
        Some(Report::Started { .. }) => {
            Ok(ProgramInNamespace { pid: seen_from_outside(init), reports, _alive: alive })
        }
        Some(Report::NotStarted { stage, errno }) => Err((stage, io::Error::from_raw_os_error(errno))),
        _ => Err(namespace(Errno::CHILD.into())),
    }
}

impl ProgramInNamespace {
    /// Readable when there is a report.
    pub(super) fn reports(&self) -> &PipeReader {
        &self.reports
    }

    /// How the program ended; `None` if its parent was killed.
    pub(super) fn hear(&mut self) -> Option<Report> {
        hear(&mut self.reports)
    }
}

fn hear(reports: &mut PipeReader) -> Option<Report> {
    Report::parse(&read_frame(reports).ok()??).ok()
}

/// The namespaces that the next child will be the first in. Root needs none for users, and must not get one:
/// files of others would become nobody's.
fn separate() -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    let mut kinds = UnshareFlags::NEWPID;
    if !user.is_root() {
        kinds |= UnshareFlags::NEWUSER;
    }
    // SAFETY: neither kind takes anything from this process that another part of it relies on.
    unsafe { unshare_unsafe(kinds) }?;
    if !user.is_root() {
        // Everyone stays who they are; all others are nobody in there.
        let (user, group) = (user.as_raw(), group.as_raw());
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    Ok(())
}

/// A `/proc` that shows the namespace we are in: with the old one `/proc/self` would name a foreign process.
/// What is mounted outside later is still seen; what is mounted here is not seen outside.
fn show_own_processes() -> io::Result<()> {
    // SAFETY: the mounts are this process's own afterwards; nothing else changes.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None)?;
    Ok(())
}

/// Number 1 in there: takes in orphans, and ends when nobody is left.
fn first_process(
    assignment: &Assignment,
    streams: ProgramStreams,
    door: Option<&File>,
    mut told: PipeWriter,
    is_alive: PipeReader,
) -> i32 {
    set_process_name(c"sb-init");
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    if has_hung_up(&is_alive) {
        // The guard ended before we were bound to its life.
        return 1;
    }
    drop(is_alive);
    if let Some(mut door) = door {
        // Outside of the cgroup is better than not at all.
        let _ = door.write_all(b"0");
    }
    let second = show_own_processes().and_then(|()| fork());
    match second {
        Ok(Side::Child) => parent_of_program(assignment, streams, told),
        Ok(Side::Parent(_)) => {}
        Err(error) => {
            report(&mut told, &Report::not_started(Stage::Namespace, &error));
            return 1;
        }
    }
    drop((streams, told));
    reap_until_alone();
    0
}

fn reap_until_alone() {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Starts the program, and tells how it ended.
fn parent_of_program(assignment: &Assignment, streams: ProgramStreams, mut told: PipeWriter) -> ! {
    set_process_name(c"sb-parent");
    let mut program = match start::program(assignment, streams, None) {
        Ok(program) => program,
        Err(error) => {
            report(&mut told, &Report::not_started(Stage::Program, &error));
            leave(1);
        }
    };
    report(&mut told, &Report::Started { pid: program.id(), guard: 0 });
    if let Ok(status) = program.wait() {
        use std::os::unix::process::ExitStatusExt;
        report(&mut told, &Report::LeaderEnded { exited: status.code(), signal: status.signal() });
    }
    leave(0)
}

fn report(told: &mut PipeWriter, report: &Report) {
    // Nobody listens any more: then there is nobody to be told.
    let _ = told.write_all(&report.frame());
}

fn has_hung_up(pipe: &PipeReader) -> bool {
    let mut polled = [PollFd::new(pipe, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().contains(PollFlags::HUP)
}

/// The program is the child of the first process's child.
fn seen_from_outside(init: Pid) -> u32 {
    let table = table::all().unwrap_or_default();
    let child_of =
        |parent: u32| table.iter().find(|entry: &&Entry| entry.parent == parent).map(|entry| entry.pid);
    let init = init.as_raw_pid().unsigned_abs();
    child_of(init).and_then(child_of).unwrap_or(init)
}

/// Tries it with a real child, in a process that is there for nothing else. Says on stdout what is not allowed.
pub(super) fn probe() -> i32 {
    match try_out() {
        Ok(()) => 0,
        Err(reason) => {
            let _ = rustix::io::write(rustix::stdio::stdout(), reason.as_bytes());
            1
        }
    }
}

fn try_out() -> Result<(), String> {
    separate().map_err(|error| format!("a namespace for processes: {error}"))?;
    if let Side::Child = fork().map_err(|error| format!("a process in a namespace: {error}"))? {
        let shown = show_own_processes();
        leave(shown.err().map_or(0, |error| error.raw_os_error().unwrap_or(255)));
    }
    let ended = wait(WaitOptions::empty()).map_err(|error| format!("a process in a namespace: {error}"))?;
    match ended.and_then(|(_, status)| status.exit_status()) {
        Some(0) => Ok(()),
        Some(code) => Err(format!("a /proc of its own: {}", io::Error::from_raw_os_error(code))),
        None => Err("a process in a namespace: it vanished".into()),
    }
}

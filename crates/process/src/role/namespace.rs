//! `guard: strict`: the tree in its own PID namespace. When the first process of a namespace dies, the kernel
//! kills all others in it; that process is bound to the guard's life. So no process needs to survive to clean up.
//!
//! Three processes form a chain: the guard outside, the namespace's first process, and the program's parent.
//! The last one exists because servers check their parent's number and exit when it is 1, which they take for
//! a sign that they were orphaned.

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
    /// The program's number as seen from outside.
    pub(super) pid: u32,
    /// Receives the reports of the program's parent.
    reports: PipeReader,
    /// Held as long as the guard lives; see `first_process`.
    _alive: PipeWriter,
}

/// Stage and cause of a failed start.
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
            // The control socket must close when the guard dies, whoever else lives.
            // SAFETY: this is our copy, in a process that never returns to the owner's code.
            unsafe { rustix::io::close(control.as_raw_fd()) };
            leave(first_process(assignment, streams, door, told, is_alive));
        }
        Side::Parent(init) => init,
    };
    // Copies in the guard would hide the end of these pipes.
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
    /// Readable when a report is available.
    pub(super) fn reports(&self) -> &PipeReader {
        &self.reports
    }

    /// The report on the program's end; `None` if its parent was killed.
    pub(super) fn hear(&mut self) -> Option<Report> {
        hear(&mut self.reports)
    }
}

fn hear(reports: &mut PipeReader) -> Option<Report> {
    Report::parse(&read_frame(reports).ok()??).ok()
}

/// Creates the namespaces for the next child. Root needs no user namespace and must not get one: other users'
/// files would then belong to nobody.
fn separate() -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    let mut kinds = UnshareFlags::NEWPID;
    if !user.is_root() {
        kinds |= UnshareFlags::NEWUSER;
    }
    // SAFETY: neither namespace takes anything away that other parts of this process rely on.
    unsafe { unshare_unsafe(kinds) }?;
    if !user.is_root() {
        // Maps our own user and group to themselves; all others appear as nobody.
        let (user, group) = (user.as_raw(), group.as_raw());
        // The kernel demands this before an unprivileged process may map a group.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    Ok(())
}

/// Mounts a `/proc` for our own namespace: with the outer one, `/proc/self` would name a foreign process.
/// Later mounts outside stay visible here; mounts here stay invisible outside.
fn show_own_processes() -> io::Result<()> {
    // SAFETY: only the mounts become private to this process; nothing else changes.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None)?;
    Ok(())
}

/// Process number 1 of the namespace: adopts orphans, and exits when none is left.
fn first_process(
    assignment: &Assignment,
    streams: ProgramStreams,
    door: Option<&File>,
    mut told: PipeWriter,
    is_alive: PipeReader,
) -> i32 {
    set_process_name(c"sb-init");
    // The signal first, then the check: a guard that dies at any point is noticed by one of them.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    if has_hung_up(&is_alive) {
        // The guard ended before the death signal was set.
        return 1;
    }
    drop(is_alive);
    if let Some(mut door) = door {
        // Running outside the cgroup is better than not running.
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
    // Only the second process may hold them, so that their ends can be seen.
    drop((streams, told));
    reap_until_alone();
    0
}

fn reap_until_alone() {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(_) | Err(Errno::INTR) => {}
            // ECHILD: no other process is left in the namespace.
            Err(_) => return,
        }
    }
}

/// Starts the program and reports how it ended.
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
    // An error means that the other side is gone.
    let _ = told.write_all(&report.frame());
}

fn has_hung_up(pipe: &PipeReader) -> bool {
    let mut polled = [PollFd::new(pipe, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().contains(PollFlags::HUP)
}

/// The outer number of the program, which is the grandchild of the first process.
fn seen_from_outside(init: Pid) -> u32 {
    let table = table::all().unwrap_or_default();
    let child_of =
        |parent: u32| table.iter().find(|entry: &&Entry| entry.parent == parent).map(|entry| entry.pid);
    let init = init.as_raw_pid().unsigned_abs();
    // The first process is a safe substitute: killing it ends the whole namespace.
    child_of(init).and_then(child_of).unwrap_or(init)
}

/// Tries everything with a real child, in a process started only for this. Prints what is not allowed to stdout.
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
    separate().map_err(|error| format!("cannot create a PID namespace: {error}"))?;
    if let Side::Child =
        fork().map_err(|error| format!("cannot start a process in the PID namespace: {error}"))?
    {
        let shown = show_own_processes();
        leave(shown.err().map_or(0, |error| error.raw_os_error().unwrap_or(255)));
    }
    let ended = wait(WaitOptions::empty())
        .map_err(|error| format!("cannot start a process in the PID namespace: {error}"))?;
    match ended.and_then(|(_, status)| status.exit_status()) {
        Some(0) => Ok(()),
        Some(code) => {
            Err(format!("cannot mount /proc in the PID namespace: {}", io::Error::from_raw_os_error(code)))
        }
        None => Err("the process in the PID namespace was killed".into()),
    }
}

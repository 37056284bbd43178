//! The guard: parent of one backend's program, and of every orphan below it. Watches the main process,
//! carries out its orders, and ends the tree on its own when the main process is gone.

use super::fork::take_in_orphans;
use super::kill::{MIN_EMPTY_LOOKS, kill_children};
use super::phase::{Phase, Step};
use super::start::ProgramStreams;
use super::started::{Program, StartedTree};
use super::watch::WakeSource;
use crate::table::{self, Entry, is_kept};
use crate::wire::{Assignment, EndedBy, NAMESPACE_PROCESS_NAMES, Order, Report, Stage, read_frame, socket};
use rustix::io::Errno;
use rustix::process::{Signal, WaitOptions, WaitStatus, setpgid, wait};
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Time between two scans for processes that are being killed, since they may fork meanwhile.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);
/// Time after which a killed process that still exists is considered stuck in the kernel.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Limit on names of ended processes in a report.
const MAX_NAMES: usize = 32;

/// Runs the guard; returns the exit code of its process.
pub(super) fn run(mut control: UnixStream, watch: WakeSource, run_file: Option<PathBuf>) -> i32 {
    // Its own group, so that signals to the warden's group or the main process's do not reach it.
    let _ = setpgid(None, None);
    take_in_orphans();
    // The main process sends an assignment only to a guard that has shown itself.
    tell(&control, &Report::Here);
    let Ok(Some((body, fds))) = socket::receive(&mut control) else { return 1 };
    let (Ok(Order::Start(assignment)), Some(streams)) = (Order::parse(&body), ProgramStreams::from(fds))
    else {
        // The message arrived without its descriptors: our limit on open files is reached.
        refuse(control, &Errno::MFILE.into());
        return 1;
    };
    let started = StartedTree::start(&assignment, streams, run_file.as_deref(), &control);
    match started {
        Ok(tree) => {
            tell(&control, &Report::Started { pid: tree.program.pid(), guard: std::process::id() });
            Guard::new(*assignment, tree, control, watch).stand();
            0
        }
        Err((stage, error)) => {
            tell(&control, &Report::not_started(stage, &error));
            1
        }
    }
}

/// Reports that there will be no guard.
pub(super) fn refuse(control: UnixStream, error: &io::Error) {
    tell(&control, &Report::not_started(Stage::Program, error));
}

fn tell(mut control: &UnixStream, report: &Report) {
    // An error means that the other side is gone.
    let _ = control.write_all(&report.frame());
}

struct Guard {
    assignment: Assignment,
    tree: StartedTree,
    /// `None` once the other side is gone.
    control: Option<UnixStream>,
    watch: WakeSource,
    phase: Phase,
    by: EndedBy,
    /// Whether there may be a child, running or dead.
    has_children: bool,
    killing_since: Option<Instant>,
    /// Consecutive scans that found no process. A process that keeps forking and exiting may be missed by a
    /// single scan.
    empty_looks: u32,
    ended: Vec<OsString>,
}

impl Guard {
    fn new(assignment: Assignment, tree: StartedTree, control: UnixStream, watch: WakeSource) -> Self {
        Self {
            assignment,
            tree,
            control: Some(control),
            watch,
            phase: Phase::Running,
            by: EndedBy::Itself,
            has_children: true,
            killing_since: None,
            empty_looks: 0,
            ended: Vec::new(),
        }
    }

    fn stand(mut self) {
        loop {
            self.turn();
            if let Some(left) = self.is_done() {
                // The cgroup can be removed only once all its processes are reaped, and its removal is part
                // of the cleanup.
                #[cfg(target_os = "linux")]
                drop(self.tree.leaf.take());
                if let Some(control) = &self.control {
                    tell(control, &Report::Gone { by: self.by, ended: self.ended, left });
                }
                return;
            }
        }
    }

    fn turn(&mut self) {
        let time = match self.phase {
            Phase::Killing => Some(LOOK_INTERVAL),
            // The confirmation that all are gone needs further scans, and no event will cause them.
            Phase::Running | Phase::Asked { .. } | Phase::Terminating { .. } if self.empty_looks > 0 => {
                Some(LOOK_INTERVAL)
            }
            Phase::Running | Phase::Asked { .. } | Phase::Terminating { .. } => {
                self.phase.deadline().map(|until| until.saturating_duration_since(Instant::now()))
            }
        };
        let fds = [self.control.as_ref().map(AsFd::as_fd), self.program_reports()];
        let Ok(woken) = self.watch.wait(&fds, time) else {
            // A wait that keeps failing must not become a busy loop.
            std::thread::sleep(LOOK_INTERVAL);
            return;
        };
        let now = Instant::now();
        if woken.readable[0] {
            self.obey(now);
        }
        if woken.us_gone && self.control.take().is_some() {
            self.phase.abandoned(now);
        }
        // A signal to the guard is meant for its tree: the guard itself goes when the tree is gone.
        if woken.asked_to_end {
            let step = self.phase.terminate(now, self.assignment.grace);
            self.take(step);
        }
        if woken.readable[1] {
            self.hear_program(None);
        }
        self.reap();
        let step = self.phase.tick(now);
        self.take(step);
    }

    #[cfg(target_os = "linux")]
    fn program_reports(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        match &self.tree.program {
            Program::InNamespace(inside) => Some(inside.reports().as_fd()),
            Program::Child(_) | Program::Ended => None,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn program_reports(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        None
    }

    /// Reads how a program in a namespace ended. `signal` is reported if there is no report.
    #[cfg(target_os = "linux")]
    fn hear_program(&mut self, signal: Option<i32>) {
        if let Program::InNamespace(inside) = &mut self.tree.program {
            let ended = inside.hear().unwrap_or(Report::LeaderEnded { exited: None, signal });
            self.leader_ended(&ended);
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn hear_program(&mut self, _: Option<i32>) {}

    fn obey(&mut self, now: Instant) {
        let Some(control) = &mut self.control else { return };
        let order = read_frame(control).ok().flatten().map(|body| Order::parse(&body));
        let step = match order {
            Some(Ok(Order::Stop { grace })) => {
                self.phase.stop(now, grace);
                Step::Nothing
            }
            Some(Ok(Order::Terminate { grace })) => self.phase.terminate(now, grace),
            Some(Ok(Order::Kill)) => self.phase.kill(),
            // A second assignment or an unknown order: not to be trusted. `None` is the end.
            Some(Ok(Order::Start(_)) | Err(_)) | None => {
                self.control = None;
                self.phase.abandoned(now);
                Step::Nothing
            }
        };
        self.take(step);
    }

    fn reap(&mut self) {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    // The ended process may have left a child that no scan has seen yet.
                    self.empty_looks = 0;
                    if matches!(self.tree.program, Program::Child(leader) if leader == pid) {
                        self.leader_ended(&told_by(status));
                    }
                }
                Ok(None) | Err(Errno::INTR) => return,
                Err(_) => {
                    // ECHILD: neither a running nor a dead child is left.
                    self.has_children = false;
                    // Killed with its namespace: either there is no report, or the last one is still unread.
                    self.hear_program(Some(9));
                    return;
                }
            }
        }
    }

    fn leader_ended(&mut self, ended: &Report) {
        // Before the phase moves on: it tells which means ended the program.
        self.by = self.phase.by();
        self.tree.program = Program::Ended;
        if let Some(control) = &self.control {
            tell(control, ended);
        }
        let step = self.phase.leader_ended(Instant::now(), self.assignment.grace);
        self.take(step);
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Nothing => {}
            Step::Terminate => self.signal_all(Signal::TERM),
            Step::Kill => {
                // Repeated kills must not extend the time limit.
                self.killing_since.get_or_insert_with(Instant::now);
                // The kernel kills a cgroup as a whole, so not if a process must be kept.
                #[cfg(target_os = "linux")]
                if let Some(leaf) = self.tree.leaf.as_ref().filter(|_| self.assignment.keep.is_empty()) {
                    leaf.kill();
                }
                // Direct children first, without the slow read of the whole process table.
                kill_children(|child| is_kept(child, &self.assignment.keep));
                self.signal_all(Signal::KILL);
            }
        }
    }

    fn signal_all(&mut self, signal: Signal) {
        let Ok(table) = table::all() else { return self.signal_group(signal) };
        let leader = self.tree.program.pid();
        let mut family = self.family(&table);
        family.retain(|entry| self.is_still_ours(entry, &table));
        for entry in family {
            let was_there = entry.id().signal(signal);
            if signal == Signal::TERM {
                // A suspended process acts on SIGTERM only once it is continued.
                entry.id().signal(Signal::CONT);
            }
            // Descendants of a running program are its own business; only those that outlive it are reported.
            let is_worth_a_word = !NAMESPACE_PROCESS_NAMES.iter().any(|name| entry.name == *name);
            if was_there
                && is_worth_a_word
                && leader == 0
                && self.ended.len() < MAX_NAMES
                && !self.ended.contains(&entry.name)
            {
                self.ended.push(entry.name.clone());
            }
        }
    }

    /// Fallback without a process table: signals the program's own group.
    fn signal_group(&self, signal: Signal) {
        if let Program::Child(leader) = self.tree.program {
            let _ = rustix::process::kill_process_group(leader, signal);
        }
    }

    /// All living processes of the tree.
    fn family<'a>(&self, table: &'a [Entry]) -> Vec<&'a Entry> {
        let is_kept = |entry: &Entry| is_kept(entry, &self.assignment.keep);
        let mut family = table::below(table, &[std::process::id()], is_kept);
        family.extend(table.iter().filter(|entry| !is_kept(entry) && self.is_marked(entry)));
        family.retain(|entry| !entry.is_zombie);
        family
    }

    /// Whether a process of the table is still a member of the tree. Its number may have been reused.
    fn is_still_ours(&self, entry: &Entry, table: &[Entry]) -> bool {
        table::is_still_below(entry, table) || self.is_marked(entry)
    }

    /// Whether a process carries the mark of this tree. Only asked where orphans are not re-parented to us: there, the
    /// parent of an orphan is not even in the table of an unprivileged user.
    fn is_marked(&self, entry: &Entry) -> bool {
        cfg!(not(target_os = "linux")) && table::carries(entry.pid, |mark| mark == self.assignment.mark)
    }

    /// Whether the tree has ended; then the number of processes that could not be killed.
    fn is_done(&mut self) -> Option<u32> {
        // On Linux every orphan below becomes our child, so no child means no process.
        if cfg!(target_os = "linux") && !self.has_children {
            return Some(0);
        }
        // No count while the program runs: a count reads every process of the machine.
        if !matches!(self.tree.program, Program::Ended) && self.has_children {
            return self.has_given_up().then(|| self.count().unwrap_or(1));
        }
        // Unknown counts as alive: looking again costs less than a leftover process.
        match self.count().unwrap_or(1) {
            0 => {
                self.empty_looks += 1;
                (self.empty_looks >= MIN_EMPTY_LOOKS).then_some(0)
            }
            left => {
                self.empty_looks = 0;
                self.has_given_up().then_some(left)
            }
        }
    }

    fn has_given_up(&self) -> bool {
        self.killing_since.is_some_and(|since| since.elapsed() > KILL_TIMEOUT)
    }

    /// Number of living processes; `None` if unknown.
    fn count(&self) -> Option<u32> {
        let table = table::all().ok()?;
        u32::try_from(self.family(&table).len()).ok()
    }
}

fn told_by(status: WaitStatus) -> Report {
    Report::LeaderEnded { exited: status.exit_status(), signal: status.terminating_signal() }
}

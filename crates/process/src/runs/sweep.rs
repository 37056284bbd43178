//! Cleanup after runs whose processes were all killed. Signals only processes that such a run started: known
//! by number and start time from its file, or by the mark that only its processes carry.

use super::Swept;
use super::file::{Run, host};
use crate::mark::run_of;
use crate::private;
use crate::table::{self, Entry, ProcessId, below, carries, is_kept};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::Signal;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, thread};

/// Time limit for guards that are still at work.
const GUARDS_TIMEOUT: Duration = Duration::from_secs(8);
/// Time limit for a main process that seems to have been killed with its guards.
const DYING_TIMEOUT: Duration = Duration::from_secs(2);
/// Time between SIGTERM and SIGKILL.
const TERM_GRACE: Duration = Duration::from_millis(400);
/// Time after which a killed process that still exists is considered stuck in the kernel.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two scans of the process table.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
/// Duration of the search among the newest processes, after the table showed none.
const CHASE_TIME: Duration = Duration::from_millis(60);
/// Number of the newest processes to check.
const CHASED_PROCESSES: u32 = 16;
/// Age after which a file from another machine or namespace is removed: a month.
const MAX_FOREIGN_FILE_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Age after which an unfinished file is removed: its writer was killed, or had no disk space.
const MAX_UNFINISHED_FILE_AGE: Duration = Duration::from_secs(3600);
/// Maximum length of a run's file.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Reads the files of all runs and kills what dead ones have left. Takes a tenth of a second per run.
pub(crate) fn sweep(folder: &Path) -> Vec<Swept> {
    // A folder that others could have written to is not trusted.
    if !folder.exists() || private::folder(folder).is_err() {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| sweep_one(&entry.path())).collect()
}

fn sweep_one(path: &Path) -> Option<Swept> {
    // All windows of a dead daemon sweep at once, and one sweep is enough. If this one is killed, the next
    // start tries again.
    let file = private::open_own(path).ok()?;
    // A file system without locks must not prevent the cleanup.
    if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        return None;
    }
    let Some(run) = Run::parse(&private::read(path, MAX_FILE_BYTES).ok()?) else {
        forget_if_older(path, MAX_UNFINISHED_FILE_AGE);
        return None;
    };
    if !run.is_of_here() {
        forget_if_older(path, MAX_FOREIGN_FILE_AGE);
        return None;
    }
    // No process survives a restart of the machine.
    if table::boot()? != run.boot {
        let _ = fs::remove_file(path);
        return None;
    }
    // The main process is the first in the file. While it lives, the run is its own business.
    let (us, others) = run.keepers.split_first()?;
    if us.is_alive() && !dies_now(*us, others) {
        return None;
    }
    // Living guards end their trees with the usual grace periods; only the rest is killed here.
    wait_for_guards(others);
    let swept = end(&run.keep, |entry| {
        run.backends.contains(&entry.id()) || carries(entry.pid, |mark| run_of(mark) == run.number)
    });
    // After `end`, which asks first: clearing a cgroup kills at once.
    run.groups.iter().for_each(|group| clear(group, &run.keep));
    // Otherwise the file stays, and the next start tries again.
    if swept.left == 0 {
        let _ = fs::remove_file(path);
    }
    Some(swept)
}

/// Waits for the main process of a run whose other keepers are dead: killed with them, it may still be in the kernel,
/// for example until a write to a disk has finished. Returns whether it is dead now.
fn dies_now(us: ProcessId, others: &[ProcessId]) -> bool {
    if us.pid == std::process::id() || others.is_empty() {
        return false;
    }
    let deadline = Instant::now() + DYING_TIMEOUT;
    while us.is_alive() {
        if others.iter().any(|other| other.is_alive()) || Instant::now() > deadline {
            return false;
        }
        thread::sleep(LOOK_INTERVAL);
    }
    true
}

impl Run {
    /// Whether its process numbers refer to processes that we can see.
    fn is_of_here(&self) -> bool {
        self.host == host() && table::pid_namespace().as_ref() == Some(&self.namespace)
    }
}

fn forget_if_older(path: &Path, than: Duration) {
    let age = fs::metadata(path).and_then(|meta| meta.modified()).ok();
    if age.and_then(|then| SystemTime::now().duration_since(then).ok()).is_some_and(|age| age > than) {
        let _ = fs::remove_file(path);
    }
}

/// Gives guards time to finish on their own, and continues suspended ones.
fn wait_for_guards(guards: &[ProcessId]) {
    let tell = |word| {
        for guard in guards {
            guard.signal(word);
        }
    };
    let deadline = Instant::now() + GUARDS_TIMEOUT;
    tell(Signal::CONT);
    while guards.iter().any(|guard| guard.is_alive()) {
        if Instant::now() > deadline {
            return tell(Signal::KILL);
        }
        thread::sleep(LOOK_INTERVAL);
    }
}

/// Kills all processes with this mark at once, for a tree whose guard is gone. Blocks until done.
pub(crate) fn end_marked(wanted: u64, keep: &[OsString], group: Option<&PathBuf>) {
    let is_meant = |entry: &Entry| carries(entry.pid, |mark| mark == wanted);
    let deadline = Instant::now() + KILL_TIMEOUT;
    while Instant::now() < deadline {
        let Ok(table) = table::all() else { break };
        let found = chosen(&table, keep, &is_meant);
        let is_over = found.is_empty();
        for entry in found {
            entry.id().signal(Signal::KILL);
        }
        if is_over && !chase(keep, &is_meant) {
            break;
        }
        thread::sleep(LOOK_INTERVAL);
    }
    group.into_iter().for_each(|group| clear(group, keep));
}

/// Sends SIGTERM, then SIGKILL after a grace period, until no process is left.
fn end(keep: &[OsString], is_meant: impl Fn(&Entry) -> bool) -> Swept {
    let started = Instant::now();
    let mut ended: Vec<OsString> = Vec::new();
    let mut told: Vec<ProcessId> = Vec::new();
    loop {
        // Without a process table nothing is certain: the file stays for the next time.
        let Ok(table) = table::all() else { return Swept { ended, left: 1 } };
        let found = chosen(&table, keep, &is_meant);
        let passed = started.elapsed();
        if passed > KILL_TIMEOUT || (found.is_empty() && !chase(keep, &is_meant)) {
            return Swept { ended, left: found.len() };
        }
        for entry in found {
            let id = entry.id();
            let is_new = !told.contains(&id);
            if is_new {
                told.push(id);
                ended.push(entry.name.clone());
                id.signal(Signal::TERM);
                // A suspended process acts on SIGTERM only once it is continued.
                id.signal(Signal::CONT);
            }
            // A process that appears after the grace period gets both signals at once.
            if passed > TERM_GRACE {
                id.signal(Signal::KILL);
            }
        }
        thread::sleep(LOOK_INTERVAL);
    }
}

fn chosen<'a>(table: &'a [Entry], keep: &[OsString], is_meant: &dyn Fn(&Entry) -> bool) -> Vec<&'a Entry> {
    let kept: Vec<u32> = match keep {
        [] => Vec::new(),
        _ => table.iter().filter(|entry| is_kept(entry, keep)).map(|entry| entry.pid).collect(),
    };
    // A kept process protects its descendants as well.
    let theirs: Vec<u32> = below(table, &kept, |_| false).iter().map(|entry| entry.pid).collect();
    // Started from within such a tree, this process carries the mark as well.
    let me = std::process::id();
    table
        .iter()
        .filter(|entry| !entry.is_zombie && entry.pid != me && is_meant(entry))
        .filter(|entry| !kept.contains(&entry.pid) && !theirs.contains(&entry.pid))
        .collect()
}

/// Kills matching processes among the newest ones as soon as they appear: a process that forks a successor
/// every millisecond is gone before the whole table is read. Returns whether there were any.
fn chase(keep: &[OsString], is_meant: &dyn Fn(&Entry) -> bool) -> bool {
    let deadline = Instant::now() + CHASE_TIME;
    let mut has_hit = false;
    while Instant::now() < deadline {
        let Some(newest) = table::newest() else { return has_hit };
        for pid in (newest.saturating_sub(CHASED_PROCESSES)..=newest).rev() {
            let found = table::one(pid).filter(|entry| !entry.is_zombie && is_meant(entry));
            if let Some(entry) = found.filter(|entry| !is_kept(entry, keep)) {
                has_hit = true;
                entry.id().signal(Signal::KILL);
            }
        }
        thread::yield_now();
    }
    has_hit
}

/// Kills the members of a tree's cgroup, unless some of them must be kept.
fn clear(group: &Path, keep: &[OsString]) {
    #[cfg(target_os = "linux")]
    crate::cgroup::clear(group, keep.is_empty());
    #[cfg(not(target_os = "linux"))]
    let _ = (group, keep);
}

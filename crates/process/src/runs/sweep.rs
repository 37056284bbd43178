//! Cleans up after runs that were killed as a whole. Whoever is signalled is a process that such a run started:
//! known by number and start from its file, or by the mark that only its processes carry.

use super::{Run, Who, host, run_of};
use crate::table::{self, Entry, below, mark, names, signal};
use crate::warden::Swept;
use rustix::process::Signal;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, thread};

/// How long guards that are still at work may take.
const GUARDS: Duration = Duration::from_secs(2);
/// How long those who are found have after SIGTERM.
const GRACE: Duration = Duration::from_millis(400);
/// A SIGKILL that takes longer has met a process that hangs in the kernel.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);
/// A file that cannot be judged from here is forgotten after a month.
const FORGET: Duration = Duration::from_secs(30 * 24 * 3600);

/// Looks at the files of all runs and ends what dead ones have left. Takes some milliseconds if there are any.
pub(crate) fn sweep(folder: &Path) -> Vec<Swept> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| sweep_one(&entry.path())).collect()
}

fn sweep_one(path: &Path) -> Option<Swept> {
    let run = Run::parse(&fs::read(path).ok()?);
    let Some(run) = run.filter(|run| run.is_of_here()) else {
        forget_if_old(path);
        return None;
    };
    // After a restart of the machine nobody is left.
    if table::boot().as_ref() != Some(&run.boot) {
        let _ = fs::remove_file(path);
        return None;
    }
    // We come before all others in the file; while we or a guard live, they see to it.
    if run.keepers.first().is_some_and(|us| us.is_alive()) || !wait_for_guards(&run.keepers) {
        return None;
    }
    let left = end(&run.keep, |entry| {
        let recorded = Who { pid: entry.pid, start: entry.start };
        run.backends.contains(&recorded) || mark(entry.pid).is_some_and(|mark| run_of(mark) == run.number)
    });
    #[cfg(target_os = "linux")]
    run.groups.iter().for_each(|group| crate::guard::cgroup::clear(group));
    if left.left == 0 {
        let _ = fs::remove_file(path);
    }
    Some(left)
}

impl Run {
    /// Whether its numbers mean processes that we can see.
    fn is_of_here(&self) -> bool {
        self.host == host() && table::pid_namespace().as_ref() == Some(&self.namespace)
    }
}

fn forget_if_old(path: &Path) {
    let age = fs::metadata(path).and_then(|meta| meta.modified()).ok();
    if age.and_then(|then| SystemTime::now().duration_since(then).ok()).is_some_and(|age| age > FORGET) {
        let _ = fs::remove_file(path);
    }
}

fn wait_for_guards(keepers: &[Who]) -> bool {
    let deadline = Instant::now() + GUARDS;
    while keepers.iter().any(|keeper| keeper.is_alive()) {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}

/// Kills all that carry this mark, at once: for a tree whose guard is gone. Blocks while it takes.
pub(crate) fn end_marked(wanted: u64, keep: &[OsString], group: Option<&PathBuf>) {
    let deadline = Instant::now() + KILL_PATIENCE;
    let mut empty_looks = 0;
    while let Ok(table) = table::all()
        && Instant::now() < deadline
    {
        let found = chosen(&table, keep, &|entry| mark(entry.pid) == Some(wanted));
        // One that forks and ends all the time may be missed by one look.
        empty_looks = if found.is_empty() { empty_looks + 1 } else { 0 };
        if empty_looks == 3 {
            break;
        }
        for entry in found {
            signal(entry.pid, entry.start, Signal::KILL);
        }
        thread::sleep(LOOK);
    }
    #[cfg(target_os = "linux")]
    group.into_iter().for_each(|group| crate::guard::cgroup::clear(group));
    #[cfg(not(target_os = "linux"))]
    let _ = group;
}

/// SIGTERM first, SIGKILL after a while, until none is left.
fn end(keep: &[OsString], is_meant: impl Fn(&Entry) -> bool) -> Swept {
    let started = Instant::now();
    let mut ended: Vec<OsString> = Vec::new();
    let mut told: Vec<Who> = Vec::new();
    loop {
        let Ok(table) = table::all() else { return Swept { ended, left: 0 } };
        let found = chosen(&table, keep, &is_meant);
        let passed = started.elapsed();
        if found.is_empty() || passed > KILL_PATIENCE {
            return Swept { ended, left: found.len() };
        }
        for entry in found {
            let who = Who { pid: entry.pid, start: entry.start };
            if !told.contains(&who) {
                told.push(who);
                ended.push(entry.name.clone());
                signal(who.pid, who.start, Signal::TERM);
                // One that is suspended acts on it only when it is continued.
                signal(who.pid, who.start, Signal::CONT);
            }
            if passed > GRACE {
                signal(who.pid, who.start, Signal::KILL);
            }
        }
        thread::sleep(LOOK);
    }
}

fn chosen<'a>(table: &'a [Entry], keep: &[OsString], is_meant: &dyn Fn(&Entry) -> bool) -> Vec<&'a Entry> {
    let is_kept = |entry: &Entry| !keep.is_empty() && names(entry).iter().any(|name| keep.contains(name));
    let kept: Vec<u32> = match keep {
        [] => Vec::new(),
        _ => table.iter().filter(|entry| is_kept(entry)).map(|entry| entry.pid).collect(),
    };
    let theirs: Vec<u32> = below(table, &kept, |_| false).iter().map(|entry| entry.pid).collect();
    let me = std::process::id();
    table
        .iter()
        .filter(|entry| !entry.is_zombie && entry.pid != me && is_meant(entry))
        .filter(|entry| !kept.contains(&entry.pid) && !theirs.contains(&entry.pid))
        .collect()
}

//! What the processes of a run cost together: their number, their memory, their CPU time. They are found by the scratch
//! folder in their environment, with all that stands below them: guards have no environment.

use crate::projects::{is_node, share_mib};
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Default)]
pub(super) struct Census {
    pub(super) processes: usize,
    pub(super) nodes: usize,
    pub(super) mib: f64,
}

/// The processes that have this folder in their environment, and all below them.
fn family(scratch: &Path) -> Vec<u32> {
    let trace = scratch.display().to_string();
    let has_trace = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(trace.len()).any(|part| part == trace.as_bytes())
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let parent = |pid: u32| stat(pid)?.1.get(1)?.parse::<u32>().ok();
    let parents: Vec<(u32, u32)> = pids.iter().filter_map(|&pid| Some((pid, parent(pid)?))).collect();
    let mut family: Vec<u32> = pids.into_iter().filter(has_trace).collect();
    let mut at = 0;
    while at < family.len() {
        let below = parents.iter().filter(|(pid, parent)| *parent == family[at] && !family.contains(pid));
        let below: Vec<u32> = below.map(|(pid, _)| *pid).collect();
        family.extend(below);
        at += 1;
    }
    family
}

/// Name and fields of `/proc/PID/stat`. The name stands in brackets, and may hold anything.
fn stat(pid: u32) -> Option<(String, Vec<String>)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (head, rest) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    Some((name.to_owned(), rest.split_whitespace().map(str::to_owned).collect()))
}

pub(super) fn count(scratch: &Path) -> Census {
    let mut census = Census::default();
    for pid in family(scratch) {
        let Some((name, _)) = stat(pid) else { continue };
        census.processes += 1;
        census.nodes += usize::from(is_node(&name));
        census.mib += share_mib(pid);
    }
    census
}

/// The CPU time of all of them, and of their children that have ended.
pub(super) fn cpu(scratch: &Path) -> Duration {
    let ticks = |pid| -> Option<u64> {
        let (_, fields) = stat(pid)?;
        // utime, stime, cutime, cstime.
        Some(fields.iter().skip(11).take(4).filter_map(|ticks| ticks.parse::<u64>().ok()).sum())
    };
    let all: u64 = family(scratch).into_iter().filter_map(ticks).sum();
    // A tick is a hundredth of a second wherever Linux runs.
    Duration::from_millis(all * 10)
}

/// Waits until all of them have ended. What has not by then is killed.
pub(super) fn end(scratch: &Path, within: Duration) {
    let deadline = Instant::now() + within;
    while !family(scratch).is_empty() && Instant::now() < deadline {
        sleep(Duration::from_millis(200));
    }
    for pid in family(scratch) {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        let _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
    }
}

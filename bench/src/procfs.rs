//! CPU time and memory of processes, from /proc. Must not know the subjects.

use std::fs;
use std::io;
use std::time::Duration;

use switchboard_testkit::{pids, tree};

const MIB: f64 = (1 << 20) as f64;

/// Processes of a measurement, and their combined memory.
#[derive(Default, Clone, Copy)]
pub(crate) struct Family {
    pub(crate) processes: usize,
    pub(crate) nodes: usize,
    /// Proportional set size: shared pages count once.
    pub(crate) mib: f64,
}

impl Family {
    /// These processes, and all below them.
    pub(crate) fn below(roots: &[u32]) -> Self {
        let mut family = Self::default();
        for process in tree::family(roots) {
            family.processes += 1;
            // Node renames its main thread, and so the process.
            family.nodes += usize::from(matches!(&*process.name, "node" | "node-MainThread" | "MainThread"));
            family.mib += smaps_kib(process.pid, "Pss:").unwrap_or_default() / 1024.0;
        }
        family
    }

    /// The larger of both, figure by figure.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            processes: self.processes.max(other.processes),
            nodes: self.nodes.max(other.nodes),
            mib: self.mib.max(other.mib),
        }
    }
}

/// Nanoseconds on a CPU, over all threads that are alive. Threads that ended are not counted.
pub(crate) fn cpu_ns(pid: u32) -> io::Result<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end between listing and reading.
        let Ok(line) = fs::read_to_string(thread?.path().join("schedstat")) else { continue };
        sum += line.split(' ').next().and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(sum)
}

/// CPU time of these processes and all below them, and of their children that have ended.
pub(crate) fn family_cpu(roots: &[u32]) -> Duration {
    tree::family(roots).iter().map(|process| ticks(&process.pid.to_string(), 11, 4)).sum()
}

/// CPU time of all children of ours that have ended, and of theirs.
pub(crate) fn ended_cpu() -> Duration {
    ticks("self", 13, 2)
}

/// The sum of `count` fields of a stat file, which are in clock ticks: utime, stime, cutime, cstime are 11 to 14.
fn ticks(pid: &str, first: usize, count: usize) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name is in brackets, and may contain any character.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let sum: u64 = fields.skip(first).take(count).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    // A tick is a hundredth of a second wherever Linux runs.
    Duration::from_millis(sum * 10)
}

/// Resident memory.
pub(crate) fn resident_mib(pid: u32) -> io::Result<f64> {
    mib(pid, pids::memory(pid))
}

/// Most resident memory since [`reset_peak`].
pub(crate) fn peak_mib(pid: u32) -> io::Result<f64> {
    mib(pid, pids::peak_memory(pid))
}

fn mib(pid: u32, bytes: Option<u64>) -> io::Result<f64> {
    let missing = || io::Error::other(format!("no memory in /proc/{pid}/status"));
    bytes.map(|bytes| bytes as f64 / MIB).ok_or_else(missing)
}

pub(crate) fn reset_peak(pid: u32) -> io::Result<()> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5")
}

/// Name and resident memory of every process below this one.
pub(crate) fn resident_below(pid: u32) -> Vec<(String, f64)> {
    let below = tree::descendants(pid).into_iter();
    // A process may end between listing and reading.
    below.filter_map(|process| Some((process.name, resident_mib(process.pid).ok()?))).collect()
}

/// A field of a process's memory map, summed up.
pub(crate) fn smaps_kib(pid: u32, name: &str) -> io::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    Ok(line.trim().trim_end_matches(" kB").parse().unwrap_or_default())
}

//! Running processes, and what they hold. Everything that the soak starts has its folder in its environment or command line.

use super::World;
use std::fmt;
use std::fs;
use std::path::Path;
use switchboard_testkit::pids;

/// One look at the daemon that is not killed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pid: u32,
    kib: u64,
    descriptors: usize,
    threads: usize,
    processes: usize,
    /// In the home and runtime folders of everything that runs.
    files: usize,
}

#[derive(Default)]
pub(super) struct Census(Vec<Sample>);

impl Census {
    pub(super) fn take(&mut self, world: &World) {
        let processes = all(world).len();
        let Some(pid) = daemon(world, false) else { return };
        let count = |what: &str| fs::read_dir(format!("/proc/{pid}/{what}")).map_or(0, Iterator::count);
        let (descriptors, threads) = (count("fd"), count("task"));
        let kib = pids::memory(pid).unwrap_or(0) / 1024;
        if kib > 0 {
            let files = ["home", "run"].map(|name| count_files(&world.scratch.join(name))).iter().sum();
            self.0.push(Sample { pid, kib, descriptors, threads, processes, files });
        }
    }

    pub(super) fn last(&self) -> String {
        self.0.last().map_or_else(|| "no daemon yet".to_owned(), ToString::to_string)
    }

    /// The largest of the second quarter, when all has warmed up, and of the last.
    fn quarters(&self, of: impl Fn(&Sample) -> u64) -> (u64, u64) {
        let quarter = self.0.len() / 4;
        let largest = |part: &[Sample]| part.iter().map(&of).max().unwrap_or(0);
        (largest(&self.0[quarter..2 * quarter]), largest(&self.0[self.0.len() - quarter..]))
    }

    pub(super) fn story(&self) -> String {
        let show = |(before, after)| format!("{before} → {after}");
        let memory = show(self.quarters(|sample| sample.kib));
        let descriptors = show(self.quarters(|sample| sample.descriptors as u64));
        let threads = show(self.quarters(|sample| sample.threads as u64));
        let processes = show(self.quarters(|sample| sample.processes as u64));
        let files = show(self.quarters(|sample| sample.files as u64));
        let looks = self.0.len();
        format!(
            "{looks} looks; most in the second quarter → in the last: {memory} KiB, {descriptors} descriptors, \
             {threads} threads; {processes} processes and {files} files in all"
        )
    }

    /// Resources that have grown.
    pub(super) fn growth(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.0.len() < 8 {
            return vec!["the steady daemon was not seen often enough".to_owned()];
        }
        let pids: std::collections::BTreeSet<u32> = self.0.iter().map(|sample| sample.pid).collect();
        if pids.len() > 1 {
            faults.push(format!("the steady daemon did not live through it: {pids:?}"));
        }
        let mut check = |what: &str, (before, after): (u64, u64), most: u64| {
            if after > most {
                faults.push(format!("{what}: at most {before}, later {after}"));
            }
        };
        let (before, after) = self.quarters(|sample| sample.kib);
        check("KiB of memory", (before, after), before + (before / 4).max(4096));
        for (what, of) in [
            ("descriptors", (|sample| sample.descriptors as u64) as fn(&Sample) -> u64),
            ("threads", |sample| sample.threads as u64),
            ("processes", |sample| sample.processes as u64),
            ("files", |sample| sample.files as u64),
        ] {
            let (before, after) = self.quarters(of);
            check(what, (before, after), before + (before / 4).max(8));
        }
        faults
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kib, descriptors, processes, .. } = self;
        write!(f, "{processes} processes, daemon {kib} KiB and {descriptors} descriptors")
    }
}

fn count_files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => count_files(&entry.path()),
            _ => 1,
        })
        .sum()
}

fn words(pid: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

pub(super) fn show(pid: u32) -> String {
    format!("{pid} {}", words(pid).join(" "))
}

/// Every process of the soak, ourselves left out.
pub(super) fn all(world: &World) -> Vec<u32> {
    let mut pids = pids::with_trace(&world.scratch.path().display().to_string());
    pids.retain(|&pid| pid != std::process::id());
    pids
}

fn is_called(pid: u32, name: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
}

/// The daemon of one of the configs.
pub(super) fn daemon(world: &World, is_rough: bool) -> Option<u32> {
    let config = world.config(is_rough).display().to_string();
    let is_it = |pid: &u32| {
        let words = words(*pid);
        words.get(1).is_some_and(|word| word == "daemon")
            && words.contains(&config)
            && is_called(*pid, "switchboard")
    };
    all(world).into_iter().find(is_it)
}

/// The servers' own processes.
pub(super) fn backends(world: &World) -> Vec<u32> {
    let is_one = |pid: &u32| words(*pid).get(1).is_some_and(|word| word == "soak-backend");
    all(world).into_iter().filter(is_one).collect()
}

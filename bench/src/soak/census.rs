//! Running processes and their resources. Everything that the soak starts has its folder in its environment or command line.

use super::World;
use std::fs;
use std::path::Path;
use switchboard_testkit::pids;

/// Figures of a sample; files are those in the home and runtime folders of all processes.
const FIGURES: [&str; 5] = ["KiB of memory", "descriptors", "threads", "processes", "files"];

/// A sample of the daemon that is not killed.
#[derive(Debug, Clone, Copy)]
struct Sample {
    pid: u32,
    values: [u64; FIGURES.len()],
}

#[derive(Default)]
pub(super) struct Census(Vec<Sample>);

impl Census {
    pub(super) fn take(&mut self, world: &World) {
        let processes = all(world).len() as u64;
        let Some(pid) = daemon(world, false) else { return };
        let count =
            |what: &str| fs::read_dir(format!("/proc/{pid}/{what}")).map_or(0, Iterator::count) as u64;
        let kib = pids::memory(pid).unwrap_or(0) / 1024;
        if kib > 0 {
            let files = ["home", "run"].map(|name| count_files(&world.scratch.join(name))).iter().sum();
            self.0.push(Sample { pid, values: [kib, count("fd"), count("task"), processes, files] });
        }
    }

    pub(super) fn last(&self) -> String {
        let show = |Sample { values: [kib, descriptors, _, processes, _], .. }: &Sample| {
            format!("{processes} processes, daemon {kib} KiB and {descriptors} descriptors")
        };
        self.0.last().map_or_else(|| "no daemon yet".to_owned(), show)
    }

    /// Each figure with its largest value of the second quarter, after the warm-up, and of the last.
    fn quarters(&self) -> impl Iterator<Item = (&'static str, u64, u64)> {
        let quarter = self.0.len() / 4;
        let (second, last) = (&self.0[quarter..2 * quarter], &self.0[self.0.len() - quarter..]);
        let largest =
            |part: &[Sample], at: usize| part.iter().map(|sample| sample.values[at]).max().unwrap_or(0);
        FIGURES.iter().enumerate().map(move |(at, name)| (*name, largest(second, at), largest(last, at)))
    }

    pub(super) fn story(&self) -> String {
        let figures = self.quarters().map(|(name, before, after)| format!("{before} → {after} {name}"));
        let figures = figures.collect::<Vec<_>>().join(", ");
        format!("{} samples; largest in the second quarter → in the last: {figures}", self.0.len())
    }

    /// Resources that have grown.
    pub(super) fn growth(&self) -> Vec<String> {
        if self.0.len() < 8 {
            return vec!["the steady daemon was not seen often enough".to_owned()];
        }
        let mut faults = Vec::new();
        let pids: std::collections::BTreeSet<u32> = self.0.iter().map(|sample| sample.pid).collect();
        if pids.len() > 1 {
            faults.push(format!("the steady daemon did not live through it: {pids:?}"));
        }
        for (name, before, after) in self.quarters() {
            let tolerance = if name == FIGURES[0] { 4096 } else { 8 };
            if after > before + (before / 4).max(tolerance) {
                faults.push(format!("{name}: at most {before}, later {after}"));
            }
        }
        faults
    }
}

fn count_files(folder: &Path) -> u64 {
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

/// Every process of the soak, except this one.
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

//! Whose child is whose, as `/proc` has it. A process is known by its number *and* the time it started at, so
//! that another with the same number is never taken for it.

use crate::pids::{self, Word};
use std::collections::BTreeSet;
use std::fs;

/// A process, as it was when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// In clock ticks since the system's start.
    pub started: u64,
    pub name: String,
    pub state: char,
}

impl Process {
    pub fn look(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold anything, brackets and blanks included.
        let (head, rest) = stat.rsplit_once(')')?;
        let name = head.split_once('(')?.1.to_owned();
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        Some(Self {
            pid,
            name,
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    /// The same process as it is now; nothing if it is gone.
    pub fn again(&self) -> Option<Self> {
        Self::look(self.pid).filter(|now| now.started == self.started)
    }

    /// Whether it runs. One that has ended and waits to be reaped does not.
    pub fn is_alive(&self) -> bool {
        self.again().is_some_and(|now| !now.is_zombie())
    }

    pub fn is_zombie(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    pub fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }

    pub fn is_asleep(&self) -> bool {
        self.state == 'S'
    }

    pub fn tell(&self, word: Word) {
        if self.again().is_some() {
            pids::tell(self.pid, word);
        }
    }
}

/// Every process that there is.
pub fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(Process::look).collect()
}

/// The children of a process and theirs, zombies included.
pub fn descendants(of: u32) -> Vec<Process> {
    let mut family = family(&[of]);
    family.retain(|process| process.pid != of);
    family
}

/// These processes, their children and theirs, zombies included.
pub fn family(roots: &[u32]) -> Vec<Process> {
    let all = all();
    let mut known: BTreeSet<u32> = roots.iter().copied().collect();
    loop {
        let is_new = |process: &&Process| known.contains(&process.parent) && !known.contains(&process.pid);
        let found: Vec<u32> = all.iter().filter(is_new).map(|process| process.pid).collect();
        if found.is_empty() {
            return all.into_iter().filter(|process| known.contains(&process.pid)).collect();
        }
        known.extend(found);
    }
}

//! Parents and children, from `/proc`. A process is identified by its pid *and* its start time, so
//! that another one with the same pid is not mistaken for it.

use crate::pids::{self, Word};
use std::collections::BTreeSet;
use std::fs;

/// A process at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// Start time, in clock ticks since boot.
    pub started: u64,
    pub name: String,
    pub state: char,
}

impl Process {
    pub fn look(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The process name may contain anything, including brackets and blanks.
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

    /// The same process now; `None` if it is gone.
    pub fn again(&self) -> Option<Self> {
        Self::look(self.pid).filter(|now| now.started == self.started)
    }

    /// Whether it runs. A zombie does not.
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

/// All processes.
pub fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(Process::look).collect()
}

/// All descendants of a process, including zombies.
pub fn descendants(of: u32) -> Vec<Process> {
    let mut family = family(&[of]);
    family.retain(|process| process.pid != of);
    family
}

/// These processes and all their descendants, including zombies.
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

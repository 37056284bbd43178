//! The process table: parents and start times. A process number alone identifies nothing, since the system
//! reuses it: number and start time together ([`ProcessId`]) identify one process permanently. Must not know
//! why a process is ended.

#[cfg(target_os = "linux")]
#[path = "table/linux.rs"]
mod os;
#[cfg(target_os = "macos")]
#[path = "table/macos.rs"]
mod os;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
#[path = "table/other.rs"]
mod os;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;

pub(crate) use os::{all, boot, carries, cpu, memory, names, newest, one, own_children, pid_namespace};

/// Identity of one process, not of a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessId {
    pub(crate) pid: u32,
    /// In system-specific units; only equality matters.
    pub(crate) start: u64,
}

impl ProcessId {
    /// The process with this number now; `None` if there is none.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        start(pid).map(|start| Self { pid, start })
    }

    /// Whether the process runs. A zombie does not count.
    pub(crate) fn is_alive(self) -> bool {
        one(self.pid).is_some_and(|entry| entry.start == self.start && !entry.is_zombie)
    }

    /// Sends a signal to exactly this process. Returns whether it existed.
    pub(crate) fn signal(self, signal: Signal) -> bool {
        let Self { pid, start: started } = self;
        let Some(number) = number(pid) else { return false };
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
            match pidfd_open(number, PidfdFlags::empty()) {
                // The descriptor is bound to one process from here on; the start time then tells whether it
                // is the right one.
                Ok(process) => {
                    return start(pid) == Some(started) && pidfd_send_signal(&process, signal).is_ok();
                }
                Err(Errno::SRCH) => return false,
                // No pidfd (old kernel, seccomp, no free descriptor): check and kill below leave a tiny gap.
                Err(_) => {}
            }
        }
        // Any error but ESRCH means that the process exists.
        start(pid) == Some(started) && !matches!(kill_process(number, signal), Err(Errno::SRCH))
    }
}

/// One row of the process table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// The process group, by the number of its first leader.
    pub(crate) group: u32,
    /// In system-specific units; only equality matters.
    pub(crate) start: u64,
    pub(crate) name: OsString,
    /// Ended, but not yet reaped by its parent.
    pub(crate) is_zombie: bool,
}

impl Entry {
    pub(crate) fn id(&self) -> ProcessId {
        ProcessId { pid: self.pid, start: self.start }
    }
}

/// CPU time of a process, in user and in kernel mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CpuTime {
    /// Its own, of all its threads.
    pub(crate) own: Duration,
    /// That of ended children it has waited for, which includes what they had waited for.
    pub(crate) reaped: Duration,
}

/// All descendants of these processes, without the processes themselves: children before grandchildren. A
/// process that `is_kept` is omitted, with everything below it.
pub(crate) fn below<'a>(
    table: &'a [Entry],
    roots: &[u32],
    is_kept: impl Fn(&Entry) -> bool,
) -> Vec<&'a Entry> {
    let mut found: Vec<&Entry> = Vec::new();
    let mut parents: Vec<u32> = roots.to_vec();
    let mut seen: BTreeSet<u32> = roots.iter().copied().collect();
    while !parents.is_empty() {
        let children: Vec<&Entry> = table
            .iter()
            .filter(|entry| parents.contains(&entry.parent) && !seen.contains(&entry.pid) && !is_kept(entry))
            .collect();
        // A table read while numbers were reused may contain a cycle.
        seen.extend(children.iter().map(|child| child.pid));
        parents = children.iter().map(|child| child.pid).collect();
        found.extend(children);
    }
    found
}

/// Whether one of its names is in the list of processes to keep alive.
pub(crate) fn is_kept(entry: &Entry, keep: &[OsString]) -> bool {
    !keep.is_empty() && names(entry).iter().any(|name| keep.contains(name))
}

/// Whether the parent of a process is still the one in the table: numbers may be reused while the table is
/// read, and a stranger's child would look like a member of the tree.
pub(crate) fn is_still_below(entry: &Entry, table: &[Entry]) -> bool {
    let parent = table.iter().find(|parent| parent.pid == entry.parent);
    parent.is_some_and(|parent| start(parent.pid) == Some(parent.start))
}

/// Start time of an existing process, including a zombie.
pub(crate) fn start(pid: u32) -> Option<u64> {
    one(pid).map(|entry| entry.start)
}

pub(crate) fn number(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(pid: u32, parent: u32, name: &str) -> Entry {
        Entry { pid, parent, group: pid, start: u64::from(pid), name: name.into(), is_zombie: false }
    }

    #[test]
    fn kept_branches_are_left_out_of_a_tree() {
        let table = [
            entry(1, 0, "init"),
            entry(5, 3, "node"),
            entry(2, 1, "shell"),
            entry(3, 2, "npm"),
            entry(4, 3, "adb"),
            entry(6, 4, "adb's"),
            entry(7, 1, "other"),
        ];
        let check = |roots: &[u32], keep: &str, expect: &[u32]| {
            let found: Vec<u32> =
                below(&table, roots, |entry| entry.name == keep).iter().map(|entry| entry.pid).collect();
            assert_eq!(found, expect, "below {roots:?}, keeping {keep:?}");
        };
        check(&[2], "", &[3, 5, 4, 6]);
        check(&[2], "adb", &[3, 5]);
        check(&[2], "npm", &[]);
        check(&[7], "", &[]);
        check(&[99], "", &[]);
        check(&[2, 3], "", &[5, 4, 6]);
    }

    #[test]
    fn cycle_in_the_table_ends_the_search() {
        let table = [entry(2, 3, "a"), entry(3, 2, "b")];
        assert_eq!(below(&table, &[2], |_| false).len(), 1);
    }

    #[test]
    fn own_entry_matches_lookup_by_number() {
        let me = std::process::id();
        let table = all().unwrap();
        let entry = table.iter().find(|entry| entry.pid == me).unwrap();
        assert_eq!(Some(entry.start), start(me));
        assert_eq!(entry.parent, std::os::unix::process::parent_id());
        assert_eq!(entry.group, rustix::process::getpgrp().as_raw_pid().unsigned_abs());
        assert!(memory(me).unwrap() > 100_000);
        assert!(!entry.is_zombie);
    }

    #[test]
    fn signal_spares_a_reused_number() {
        let mut command = std::process::Command::new("/bin/sh");
        command.args(["-c", "read line"]).stdin(std::process::Stdio::piped());
        #[expect(clippy::disallowed_methods, reason = "a process that is only looked at")]
        let mut child = command.spawn().unwrap();
        let id = ProcessId::of(child.id()).unwrap();
        let other = ProcessId { start: id.start + 1, ..id };
        assert!(!other.signal(Signal::KILL), "another's start");
        assert_eq!(child.try_wait().unwrap(), None);
        assert!(id.signal(Signal::KILL));
        assert!(!child.wait().unwrap().success());
        assert!(!id.signal(Signal::KILL), "it is gone");
    }
}

//! Process trees, looked up in the process table.

use super::TreeUsage;
use crate::table::{self, CpuTime, Entry, ProcessId};
use crate::wire::NAMESPACE_PROCESS_NAMES;
use std::cell::Cell;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

/// Identifies a tree by processes that exist as long as the tree.
#[derive(Debug, Clone)]
pub(crate) enum OsTree {
    Guarded {
        /// `None` if the system did not report it.
        guard: Option<ProcessId>,
        mark: u64,
        keep: Arc<[OsString]>,
    },
    /// Without a guard.
    Group { leader: Option<ProcessId> },
}

/// The processes of a tree in the table.
#[derive(Debug)]
struct Found<'a> {
    /// The guard and other processes of ours, above the members.
    ours: Vec<&'a Entry>,
    /// Parents before children, except for those that only a mark identifies.
    members: Vec<&'a Entry>,
    /// Ended members that their parents have not waited for.
    zombies: Vec<&'a Entry>,
}

pub(super) fn measure_all(trees: &[&OsTree]) -> Vec<Option<TreeUsage>> {
    // Reading the table takes milliseconds, which a call without trees should not cost.
    let table = if trees.is_empty() { Vec::new() } else { table::all().unwrap_or_default() };
    let marks = marks(&table);
    trees.iter().map(|tree| measure(tree, &table, &marks)).collect()
}

/// Marks by process. Empty on Linux, where orphans become children of their guard and need no mark to be found.
fn marks(table: &[Entry]) -> Vec<(&Entry, u64)> {
    let mark_of = |entry: &Entry| {
        let found = Cell::new(None);
        table::carries(entry.pid, |mark| found.replace(Some(mark)).is_none());
        found.get()
    };
    let table = if cfg!(target_os = "linux") { &[] } else { table };
    table.iter().filter_map(|entry| Some((entry, mark_of(entry)?))).collect()
}

fn measure(tree: &OsTree, table: &[Entry], marks: &[(&Entry, u64)]) -> Option<TreeUsage> {
    let found = tree.find(table, marks)?;
    // A member may end between the reading of the table and this one.
    let held: Vec<u64> = found.members.iter().filter_map(|member| table::memory(member.pid)).collect();
    let memory_bytes = held.iter().copied().reduce(u64::saturating_add)?;
    Some(TreeUsage { memory_bytes, cpu: cpu(&found, table::cpu) })
}

/// CPU time of a tree. The time of an ended process moves to the one that waits for it. So whoever may wait for
/// others is read before them: a process that ends meanwhile may be missing, but does not count twice.
fn cpu(found: &Found<'_>, of: impl Fn(u32) -> Option<CpuTime>) -> Duration {
    let of = |entry: &&Entry| of(entry.pid).unwrap_or_default();
    let ours = found.ours.iter().map(|entry| of(entry).reaped);
    let theirs = found.members.iter().chain(&found.zombies).map(of);
    ours.chain(theirs.map(|time| time.own.saturating_add(time.reaped)))
        .fold(Duration::ZERO, Duration::saturating_add)
}

impl OsTree {
    fn find<'a>(&self, table: &'a [Entry], marks: &[(&'a Entry, u64)]) -> Option<Found<'a>> {
        let mut ours = Vec::new();
        let mut members = match self {
            Self::Guarded { guard, mark, keep } => {
                ours.push(find((*guard)?, table).filter(|guard| !guard.is_zombie)?);
                let is_kept = |entry: &Entry| table::is_kept(entry, keep);
                let mut members = table::below(table, &[(*guard)?.pid], is_kept);
                for (entry, carried) in marks {
                    if carried == mark
                        && !is_kept(entry)
                        && !members.iter().any(|known| known.pid == entry.pid)
                    {
                        members.push(entry);
                    }
                }
                members
            }
            Self::Group { leader } => {
                // The leader's number is taken while it exists, even as a zombie; afterwards it may name another group.
                let leader = find((*leader)?, table)?;
                let mut roots = vec![leader];
                roots.extend(
                    table.iter().filter(|entry| entry.group == leader.pid && entry.pid != leader.pid),
                );
                let numbers: Vec<u32> = roots.iter().map(|root| root.pid).collect();
                roots.extend(table::below(table, &numbers, |_| false));
                roots
            }
        };
        // Our own helper processes are not part of the server.
        let is_ours = |entry: &&Entry| NAMESPACE_PROCESS_NAMES.iter().any(|name| entry.name == *name);
        ours.extend(members.extract_if(.., |entry| is_ours(entry)));
        let zombies = members.extract_if(.., |entry| entry.is_zombie).collect();
        Some(Found { ours, members, zombies })
    }
}

fn find(id: ProcessId, table: &[Entry]) -> Option<&Entry> {
    table.iter().find(|entry| entry.id() == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(pid: u32, parent: u32, group: u32, name: &str) -> Entry {
        Entry { pid, parent, group, start: u64::from(pid), name: name.into(), is_zombie: false }
    }

    fn numbers(tree: &OsTree, table: &[Entry]) -> Option<Vec<u32>> {
        // The last entry carries the mark.
        let marks: Vec<(&Entry, u64)> = table.last().into_iter().map(|entry| (entry, 7)).collect();
        let found = tree.find(table, &marks)?;
        let mut numbers: Vec<u32> = found.members.iter().map(|member| member.pid).collect();
        numbers.sort_unstable();
        Some(numbers)
    }

    #[test]
    fn guarded_tree_omits_own_and_kept() {
        // Numbers beyond any process of this machine, since names are looked up there.
        let big = 1 << 30;
        let mut table = vec![
            entry(big, 1, big, "sb-guard"),
            entry(big + 1, big, big, "sb-init"),
            entry(big + 2, big + 1, big, "sb-parent"),
            entry(big + 3, big + 2, big + 3, "node"),
            entry(big + 4, big + 3, big + 3, "worker"),
            entry(big + 5, big + 1, big + 5, "daemon"),
            entry(big + 6, big, big + 6, "adb"),
            entry(big + 7, big + 6, big + 6, "below adb"),
            entry(big + 8, 1, big + 8, "another's"),
        ];
        let guard = Some(ProcessId { pid: big, start: u64::from(big) });
        let tree = OsTree::Guarded { guard, mark: 1, keep: Arc::new(["adb".into()]) };
        assert_eq!(numbers(&tree, &table), Some(vec![big + 3, big + 4, big + 5]));
        let marked = OsTree::Guarded { guard, mark: 7, keep: Arc::new(["adb".into()]) };
        assert_eq!(numbers(&marked, &table), Some(vec![big + 3, big + 4, big + 5, big + 8]));
        table[3].is_zombie = true;
        assert_eq!(numbers(&tree, &table), Some(vec![big + 4, big + 5]));
        table[0].start += 1;
        assert_eq!(numbers(&tree, &table), None, "its number went to another");
        assert_eq!(numbers(&OsTree::Guarded { guard: None, mark: 7, keep: Arc::new([]) }, &table), None);
    }

    #[test]
    fn cpu_time_counts_nothing_twice() {
        let big = 1 << 30;
        let mut table = vec![
            entry(big + 4, big + 3, big + 3, "worker"),
            entry(big + 3, big + 2, big + 3, "node"),
            entry(big + 2, big + 1, big, "sb-parent"),
            entry(big + 1, big, big, "sb-init"),
            entry(big, 1, big, "sb-guard"),
            entry(big + 8, 1, big + 8, "another's"),
        ];
        table[0].is_zombie = true;
        let guard = Some(ProcessId { pid: big, start: u64::from(big) });
        let tree = OsTree::Guarded { guard, mark: 1, keep: Arc::new([]) };
        let found = tree.find(&table, &[]).unwrap();
        let asked = std::cell::RefCell::new(Vec::new());
        // Own time: a power of two each. Reaped time: a hundred times that.
        let of = |pid: u32| {
            asked.borrow_mut().push(pid - big);
            let own = Duration::from_secs(1 << (pid - big));
            Some(CpuTime { own, reaped: own * 100 })
        };
        // Of our own processes only what they reaped; nothing of another's.
        assert_eq!(cpu(&found, of).as_secs(), 100 + 200 + 400 + 808 + 1616);
        assert_eq!(*asked.borrow(), [0, 1, 2, 3, 4], "parents first");
        assert_eq!(cpu(&found, |_| None), Duration::ZERO);
    }

    #[test]
    fn unguarded_tree_is_group_and_descendants() {
        let mut table = vec![
            entry(10, 1, 10, "leader"),
            entry(11, 10, 10, "child"),
            entry(12, 10, 12, "child with a group of its own"),
            entry(13, 1, 10, "orphan"),
            entry(14, 13, 14, "orphan's child"),
            entry(15, 1, 15, "daemon"),
        ];
        let tree = OsTree::Group { leader: Some(ProcessId { pid: 10, start: 10 }) };
        assert_eq!(numbers(&tree, &table), Some(vec![10, 11, 12, 13, 14]));
        table[0].is_zombie = true;
        assert_eq!(numbers(&tree, &table), Some(vec![11, 12, 13, 14]));
        table.remove(0);
        assert_eq!(numbers(&tree, &table), None, "the group may be another by now");
    }
}

//! Process trees, by their job objects.

use super::TreeUsage;
use crate::family;
use crate::job::Job;
use std::os::windows::io::{AsHandle, AsRawHandle};
use std::sync::{Arc, Weak};
use std::time::Duration;
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::PROCESS_QUERY_LIMITED_INFORMATION;

/// A child while it is owned, so that its number cannot be reused.
#[derive(Debug)]
pub(crate) struct LiveChild {
    pub(crate) pid: u32,
    /// The time of its creation, which tells it from an earlier process with the same number.
    pub(crate) created: u64,
    pub(crate) hold: Hold,
}

/// What knows the processes of a tree.
#[derive(Debug)]
pub(crate) enum Hold {
    Job(Job),
    /// No job, which the system has refused: the process table.
    Tree,
    /// Nothing: only the process itself counts.
    Alone,
}

/// A weak reference, so that it does not keep a job open: closing the last handle ends the members, and that
/// is up to the child.
#[derive(Debug, Clone)]
pub(crate) struct OsTree(Weak<LiveChild>);

impl OsTree {
    pub(crate) fn of(held: &Arc<LiveChild>) -> Self {
        Self(Arc::downgrade(held))
    }
}

pub(super) fn measure_all(trees: &[&OsTree]) -> Vec<Option<TreeUsage>> {
    trees.iter().map(|tree| tree.0.upgrade().and_then(|held| measure(&held))).collect()
}

fn measure(held: &LiveChild) -> Option<TreeUsage> {
    let members = match &held.hold {
        Hold::Job(job) => job.members().ok()?,
        Hold::Tree => family::of(held.pid, held.created),
        Hold::Alone => vec![held.pid],
    };
    let living = members.into_iter().filter_map(usage).reduce(|all, one| TreeUsage {
        memory_bytes: all.memory_bytes.saturating_add(one.memory_bytes),
        cpu: all.cpu.saturating_add(one.cpu),
    })?;
    // The job also counts members that have ended. Wine's jobs do not count at all.
    let counted = match &held.hold {
        Hold::Job(job) => job.cpu().unwrap_or_default(),
        Hold::Tree | Hold::Alone => Duration::ZERO,
    };
    Some(TreeUsage { cpu: living.cpu.max(counted), ..living })
}

/// Private bytes and CPU time of a process; `None` if it is gone.
fn usage(pid: u32) -> Option<TreeUsage> {
    let process = family::open(pid, PROCESS_QUERY_LIMITED_INFORMATION)?;
    let mut counters = PROCESS_MEMORY_COUNTERS::default();
    let size = size_of_val(&counters) as u32;
    // SAFETY: the handle is open; the structure's size is passed along.
    let found = unsafe { K32GetProcessMemoryInfo(process.as_raw_handle(), &raw mut counters, size) };
    // The private bytes, whatever the name says. An ended process can still be opened while a handle to it exists;
    // its memory is then 0.
    let memory_bytes = Some(counters.PagefileUsage as u64).filter(|bytes| found != 0 && *bytes > 0)?;
    Some(TreeUsage { memory_bytes, cpu: family::cpu(process.as_handle()) })
}

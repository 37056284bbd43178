//! Process trees, by their job objects.

use crate::job::Job;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::sync::{Arc, Weak};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::{OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION};

/// A child while it is owned, so that its number cannot be reused.
#[derive(Debug)]
pub(crate) struct LiveChild {
    pub(crate) pid: u32,
    /// `None` if no job was available or wanted.
    pub(crate) job: Option<Job>,
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

pub(super) fn measure_all(trees: &[&OsTree]) -> Vec<Option<u64>> {
    trees.iter().map(|tree| tree.0.upgrade().and_then(|held| measure(&held))).collect()
}

fn measure(held: &LiveChild) -> Option<u64> {
    let members = match &held.job {
        Some(job) => job.members().ok()?,
        None => vec![held.pid],
    };
    let held: Vec<u64> = members.into_iter().filter_map(memory).collect();
    (!held.is_empty()).then(|| held.into_iter().fold(0, u64::saturating_add))
}

/// The private bytes of a process (the meaning of this field on Windows); `None` if it is gone.
fn memory(pid: u32) -> Option<u64> {
    // SAFETY: three integers; a null handle, the only failure, is checked for.
    let handle = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid) };
    if handle.is_null() {
        return None;
    }
    // SAFETY: the handle was just opened and has no other owner.
    let process = unsafe { OwnedHandle::from_raw_handle(handle) };
    let mut counters = PROCESS_MEMORY_COUNTERS::default();
    let size = size_of_val(&counters) as u32;
    // SAFETY: the handle is open; the structure's size is passed along.
    let found = unsafe { K32GetProcessMemoryInfo(process.as_raw_handle(), &raw mut counters, size) };
    // An ended process can still be opened while a handle to it exists; its memory is then 0.
    Some(counters.PagefileUsage as u64).filter(|bytes| found != 0 && *bytes > 0)
}

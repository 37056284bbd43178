//! The processes of a child, with their memory and CPU time. A read-only view for code that does not own the child:
//! it can neither end a process nor keep one alive. Must not know what is done about a tree that is too large.

#[cfg(unix)]
#[path = "tree/unix.rs"]
mod os;
#[cfg(windows)]
#[path = "tree/windows.rs"]
mod os;

pub(crate) use os::OsTree;
#[cfg(windows)]
pub(crate) use os::{Hold, LiveChild};

use std::time::Duration;

/// A child with everything it started, by name only.
///
/// Under a guard: all its descendants, including detached ones. Without a guard (`guard: off`): the child,
/// its descendants and its process group; on Windows the child alone. Processes named in `keep` do not count,
/// since they do not end with the tree.
#[derive(Debug, Clone)]
pub struct Tree(pub(crate) OsTree);

/// What the processes of a tree use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeUsage {
    /// Memory of the living processes.
    ///
    /// - Linux: the proportional share (`Pss` and `SwapPss`), which counts a shared page once among all its
    ///   users. If it cannot be read: resident memory without shared pages.
    /// - macOS: the physical footprint, as in the Activity Monitor.
    /// - Windows: the private bytes.
    pub memory_bytes: u64,
    /// CPU time since the tree was started, in user and in kernel mode.
    ///
    /// - Linux and macOS: the living processes, and ended ones that a living one, or on Linux the guard, has waited
    ///   for. The system drops the time of a process whose parent ignores its end, so a later value may be lower.
    /// - Windows: all processes that were ever in the job; without a job, the living ones.
    pub cpu: Duration,
}

impl Tree {
    /// Memory and CPU time of each tree; `None` for a tree that is gone or cannot be inspected. Reads the whole
    /// process table once, which takes milliseconds, and more for every large process: not for a thread that
    /// others wait for.
    pub fn measure_all(trees: &[Self]) -> Vec<Option<TreeUsage>> {
        let trees: Vec<&OsTree> = trees.iter().map(|tree| &tree.0).collect();
        os::measure_all(&trees)
    }
}

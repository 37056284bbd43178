//! The processes of a child, and their memory use. A read-only view for code that does not own the child: it
//! can neither end a process nor keep one alive. Must not know what is done about a tree that is too large.

#[cfg(unix)]
#[path = "tree/unix.rs"]
mod os;
#[cfg(windows)]
#[path = "tree/windows.rs"]
mod os;

#[cfg(windows)]
pub(crate) use os::LiveChild;
pub(crate) use os::OsTree;

/// A child with everything it started, by name only.
///
/// Under a guard: all its descendants, including detached ones. Without a guard (`guard: off`): the child,
/// its descendants and its process group; on Windows the child alone. Processes named in `keep` do not count,
/// since they do not end with the tree.
#[derive(Debug, Clone)]
pub struct Tree(pub(crate) OsTree);

impl Tree {
    /// Memory of each tree in bytes; `None` for a tree that is gone or cannot be inspected. Reads the whole
    /// process table once, which takes milliseconds, and more for every large process: not for a thread that
    /// others wait for.
    ///
    /// - Linux: the proportional share (`Pss` and `SwapPss`), which counts a shared page once among all its
    ///   users. If it cannot be read: resident memory without shared pages.
    /// - macOS: the physical footprint, as in the Activity Monitor.
    /// - Windows: the private bytes.
    pub fn measure_all(trees: &[Self]) -> Vec<Option<u64>> {
        let trees: Vec<&OsTree> = trees.iter().map(|tree| &tree.0).collect();
        os::measure_all(&trees)
    }
}

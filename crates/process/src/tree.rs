//! The processes that belong to a child, and how much memory they hold. For those who look at a child while somebody
//! else keeps it; nothing here can end anybody, or keep anybody alive. Must not know what is done about a tree that is
//! too large.

#[cfg(unix)]
#[path = "tree/unix.rs"]
mod os;
#[cfg(windows)]
#[path = "tree/windows.rs"]
mod os;

#[cfg(windows)]
pub(crate) use os::LiveChild;
pub(crate) use os::OsTree;

/// A child with all that it started, by name only.
///
/// With a guard that is all below it, also those that have made themselves independent. Without one (`guard: off`)
/// it is the child, what stands below it, and its process group; on Windows the child alone. Those who are to live on
/// by `keep` are not counted: they do not end with the tree.
#[derive(Debug, Clone)]
pub struct Tree(pub(crate) OsTree);

impl Tree {
    /// How many bytes of memory each of the trees holds; nothing for one that is gone, or cannot be looked at. Reads
    /// the table of all processes once, which takes milliseconds, and some more for every large process: not for a
    /// thread that others wait for.
    ///
    /// - Linux: the proportional share (`Pss` and `SwapPss`), in which a page that several processes use counts once
    ///   between them all. Where it may not be read: what is resident without what is shared.
    /// - macOS: the physical footprint, as the Activity Monitor shows it.
    /// - Windows: the private bytes.
    pub fn measure_all(trees: &[Self]) -> Vec<Option<u64>> {
        let trees: Vec<&OsTree> = trees.iter().map(|tree| &tree.0).collect();
        os::measure_all(&trees)
    }
}

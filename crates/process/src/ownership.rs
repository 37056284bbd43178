//! Who can change a file or folder that is open, as the system knows it. Must not know what is made of that.

use std::fs::File;
use std::io;
use std::path::Path;

/// Where the system has such users and rights. On Windows what lies in a profile is its user's by inheritance, and is
/// not looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ownership {
    /// The number of a user.
    pub owner: u32,
    pub group_writes: bool,
    pub all_write: bool,
    /// Of a folder: only its owner, and that of what lies in it, can take something out.
    pub keeps_files: bool,
}

/// The number of the user that we run as.
pub fn this_user() -> Option<u32> {
    #[cfg(unix)]
    return Some(rustix::process::geteuid().as_raw());
    #[cfg(not(unix))]
    None
}

/// Of a file that is open: what has its name may be another one by now.
pub fn of(file: &File) -> io::Result<Option<Ownership>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let meta = file.metadata()?;
        let may = |bits: u32| meta.mode() & bits != 0;
        let (group_writes, all_write, keeps_files) = (may(0o020), may(0o002), may(0o1000));
        Ok(Some(Ownership { owner: meta.uid(), group_writes, all_write, keeps_files }))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(None)
    }
}

/// Of a folder.
pub fn of_folder(path: &Path) -> io::Result<Option<Ownership>> {
    #[cfg(unix)]
    return of(&File::open(path)?);
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(None)
    }
}

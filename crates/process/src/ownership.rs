//! The users who can change an open file or folder. Must not know what follows from the answer.

use std::fs::File;
use std::io;
use std::path::Path;

/// Owner and write permissions, on systems that have them. Windows profiles inherit their user's permissions,
/// which are not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ownership {
    /// The user id.
    pub owner: u32,
    pub group_writes: bool,
    pub all_write: bool,
    /// Sticky bit of a folder: only the owner of the folder or of a file in it can remove that file.
    pub keeps_files: bool,
}

/// The user id that we run as.
pub fn this_user() -> Option<u32> {
    #[cfg(unix)]
    return Some(rustix::process::geteuid().as_raw());
    #[cfg(not(unix))]
    None
}

/// Ownership of an open file. Takes the file rather than the path, which may lead to another file by now.
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

/// Ownership of a folder.
pub fn of_folder(path: &Path) -> io::Result<Option<Ownership>> {
    #[cfg(unix)]
    return of(&File::open(path)?);
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(None)
    }
}

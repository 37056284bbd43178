//! Differences between operating systems in the config code. The rest of it, including its
//! tests, must not know the system.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Whether `Path` and `PATH` are the same environment variable.
pub(super) const NAMES_IGNORE_CASE: bool = cfg!(windows);

/// Whether single processes of a server can be left running. A job object of Windows ends as a whole.
pub const CAN_KEEP: bool = !cfg!(windows);

/// Whether our own folders follow the conventions of Windows.
pub(super) const HAS_APPDATA: bool = cfg!(windows);

/// Creates a file that only its owner can read; an error if it exists.
pub(crate) fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Opens a file for appending; a new one is readable by its owner only.
pub(crate) fn append_to_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Creates a folder and its parents, accessible to their owner only; an existing folder is fine.
pub(crate) fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Whether someone other than its owner may change this file. Not checked on Windows, where the folders of a
/// profile are private by inheritance.
#[cfg(unix)]
pub(super) fn is_writable_by_others(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o022 != 0)
}

#[cfg(not(unix))]
pub(super) fn is_writable_by_others(_: &Path) -> io::Result<bool> {
    Ok(false)
}

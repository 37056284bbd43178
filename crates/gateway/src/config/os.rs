//! What differs between operating systems in this room, and nothing else. The rest of the config code, its
//! tests included, does not know what it runs on.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Whether `Path` and `PATH` are the same environment variable.
pub(super) const NAMES_IGNORE_CASE: bool = cfg!(windows);

/// Whether our own folders are found the Windows way.
pub(super) const HAS_APPDATA: bool = cfg!(windows);

/// A new file that only its owner can read; an error if there is one of that name.
pub(crate) fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A file to append to, that only its owner can read if it is new.
pub(crate) fn append_to_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A folder, and those above it, that only their owner can enter; fine if it is there already.
pub(crate) fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Whether someone other than its owner may change this file. On Windows, where a profile's folders are
/// private by inheritance, this is not looked into.
#[cfg(unix)]
pub(super) fn is_writable_by_others(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o022 != 0)
}

#[cfg(not(unix))]
pub(super) fn is_writable_by_others(_: &Path) -> io::Result<bool> {
    Ok(false)
}

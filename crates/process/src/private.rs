//! Folders and files that only this user can have written, for input that we act on. Must not know what the
//! files contain.

use crate::drafts;
use std::io;
use std::path::Path;

/// Creates a folder that only this user can enter, or checks an existing one.
pub fn folder(path: &Path) -> io::Result<()> {
    os::folder(path)
}

/// Creates a folder that only this user can enter. Fails if it exists.
pub fn new_folder(path: &Path) -> io::Result<()> {
    os::new_folder(path)
}

/// A private folder inside the system's folder for temporary files, which all users may share; its name
/// contains the user id.
pub fn temporary(name: &str) -> io::Result<std::path::PathBuf> {
    let path = std::env::temp_dir().join(os::with_user(name));
    folder(&path)?;
    Ok(path)
}

/// Reads at most `most` bytes of a file that only this user can have written. Does not follow a link.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    os::read(path, most)
}

/// Reads a secret that belongs to this user or root. Follows links, since secrets mounted into a container
/// are links. If the file is ours and others can read it, their access is removed first.
pub fn read_secret(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    os::read_secret(path, most)
}

/// Writes a file for this user alone, replacing its content. The folder must not be writable by others.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    os::write(path, content)
}

/// Writes an executable script for this user, unless it exists with this content. The folder must not be
/// writable by others.
pub fn script(path: &Path, content: &[u8]) -> io::Result<()> {
    // A byte more than expected reveals a longer file.
    if read(path, content.len() as u64 + 1).is_ok_and(|known| known == content) {
        return Ok(());
    }
    // A draft and a rename, since another process may be about to run the script.
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let draft = path.with_file_name(format!("{name}.{}{}", std::process::id(), drafts::ENDING));
    let written = os::write_program(&draft, content).and_then(|()| std::fs::rename(&draft, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    let is_draft = |found: &str| found.strip_prefix(&name).is_some_and(|rest| rest.starts_with('.'));
    drafts::remove_old(path.parent().unwrap_or(path), is_draft);
    written
}

#[cfg(unix)]
pub(crate) use os::{closed_folder, is_closed, open_own};

#[cfg(unix)]
mod os {
    use rustix::fs::{FileType, Mode, OFlags, Stat, fchmod, fstat, open};
    use rustix::process::geteuid;
    use std::fs::{DirBuilder, File};
    use std::io::{self, Read, Write};
    use std::os::unix::fs::DirBuilderExt;
    use std::path::Path;

    pub(super) fn with_user(name: &str) -> String {
        format!("{name}-{}", geteuid().as_raw())
    }

    pub(super) fn folder(path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        // Checked afterwards and by descriptor: the folder may have existed before, made by another user.
        let folder = open(path, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        check(&fstat(folder)?, FileType::Directory)
    }

    pub(super) fn new_folder(path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(path)
    }

    /// Creates a folder that no other user can enter, or checks an existing one. The parent folder must exist.
    pub(crate) fn closed_folder(path: &Path) -> io::Result<()> {
        match new_folder(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => is_closed(path),
        }
    }

    /// Checks that the path is a folder that no other user can enter. A link does not count.
    pub(crate) fn is_closed(path: &Path) -> io::Result<()> {
        let folder = open(path, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let stat = fstat(folder)?;
        if stat.st_uid == geteuid().as_raw() && stat.st_mode & 0o077 == 0 {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user owns it or can access it"))
        }
    }

    pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
        write_as(path, content, Mode::RUSR | Mode::WUSR)
    }

    pub(super) fn write_program(path: &Path, content: &[u8]) -> io::Result<()> {
        write_as(path, content, Mode::RWXU)
    }

    fn write_as(path: &Path, content: &[u8], mode: Mode) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let written = File::from(open(path, flags, mode)?).write_all(content);
        if written.is_err() {
            // A partial file is worse than none.
            let _ = std::fs::remove_file(path);
        }
        written
    }

    pub(super) fn read_secret(path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let file = open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
        let stat = fstat(&file)?;
        let is_trusted = [0, geteuid().as_raw()].contains(&stat.st_uid);
        check_as(&stat, FileType::RegularFile, is_trusted)?;
        if stat.st_uid == geteuid().as_raw() && stat.st_mode & 0o077 != 0 {
            fchmod(&file, Mode::RUSR | Mode::WUSR)?;
        }
        read_some(file.into(), stat.st_size as u64, most)
    }

    /// Opens a file that only this user can have written. Does not follow a link.
    pub(crate) fn open_own(path: &Path) -> io::Result<File> {
        // `NONBLOCK`: a pipe planted at this path must not block us.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = open(path, flags, Mode::empty())?;
        check(&fstat(&file)?, FileType::RegularFile)?;
        Ok(file.into())
    }

    pub(super) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let file = open_own(path)?;
        let size = file.metadata()?.len();
        read_some(file, size, most)
    }

    fn read_some(file: File, size: u64, most: u64) -> io::Result<Vec<u8>> {
        let mut content = Vec::with_capacity(most.min(size) as usize);
        file.take(most).read_to_end(&mut content)?;
        Ok(content)
    }

    fn check(stat: &Stat, kind: FileType) -> io::Result<()> {
        check_as(stat, kind, stat.st_uid == geteuid().as_raw())
    }

    fn check_as(stat: &Stat, kind: FileType, is_trusted: bool) -> io::Result<()> {
        let is_ours = is_trusted && stat.st_mode & 0o022 == 0;
        if is_ours && FileType::from_raw_mode(stat.st_mode) == kind {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user owns it or can write to it"))
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::fs::{self, Permissions};
        use std::os::unix::fs::{PermissionsExt, symlink};

        #[test]
        fn file_writable_by_others_is_refused() {
            let scratch = std::env::temp_dir().join(format!("private-{}", std::process::id()));
            let inner = scratch.join("a/b");
            folder(&inner).unwrap();
            folder(&inner).unwrap();
            fs::set_permissions(&inner, Permissions::from_mode(0o777)).unwrap();
            assert!(folder(&inner).is_err());
            symlink(&scratch, scratch.join("link")).unwrap();
            assert!(folder(&scratch.join("link")).is_err());

            let file = scratch.join("file");
            fs::write(&file, "words").unwrap();
            fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
            assert_eq!(read(&file, 3).unwrap(), b"wor");
            fs::set_permissions(&file, Permissions::from_mode(0o662)).unwrap();
            assert!(read(&file, 3).is_err());
            symlink(&file, scratch.join("file-link")).unwrap();
            assert!(read(&scratch.join("file-link"), 3).is_err());
            assert!(read(&inner, 3).is_err());
            fs::remove_dir_all(scratch).unwrap();
        }
    }
}

/// On Windows, a user's folder for temporary files is private already.
#[cfg(windows)]
mod os {
    use std::io::{self, Read};
    use std::path::Path;

    pub(super) fn with_user(name: &str) -> String {
        name.to_owned()
    }

    pub(super) fn folder(path: &Path) -> io::Result<()> {
        std::fs::create_dir_all(path)
    }

    pub(super) fn new_folder(path: &Path) -> io::Result<()> {
        std::fs::create_dir(path)
    }

    pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
        std::fs::write(path, content)
    }

    pub(super) fn write_program(path: &Path, content: &[u8]) -> io::Result<()> {
        write(path, content)
    }

    pub(super) fn read_secret(path: &Path, most: u64) -> io::Result<Vec<u8>> {
        read(path, most)
    }

    pub(super) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        std::fs::File::open(path)?.take(most).read_to_end(&mut content)?;
        Ok(content)
    }
}

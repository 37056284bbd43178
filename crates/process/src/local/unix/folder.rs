//! The folder for this user's sockets, and the identity of this world (user and namespaces).
//!
//! All processes that belong together must find the same folder. Clients start their servers with a minimal
//! environment, often without `XDG_RUNTIME_DIR` and `TMPDIR`; so the usual values of these variables are tried as well.

use crate::private;
use rustix::process::geteuid;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum length of a socket path (`sun_path`). macOS has the least room, 104 with the final zero.
const MAX_PATH_BYTES: usize = 103;
/// Length of a file name in the folder: a slash, sixteen digits, `.sock`.
const NAME_BYTES: usize = 1 + 16 + 5;

/// The first usable candidate, created if it does not exist.
pub(in crate::local) fn folder() -> io::Result<PathBuf> {
    first(candidates(std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from)))
}

fn first(candidates: Vec<Candidate>) -> io::Result<PathBuf> {
    let mut refused = io::Error::new(io::ErrorKind::NotFound, "found no folder for the socket");
    for candidate in candidates {
        let path = candidate.path();
        // A socket address has no room for a longer path.
        if path.as_os_str().len() + NAME_BYTES > MAX_PATH_BYTES {
            continue;
        }
        match candidate.make(&path) {
            Ok(()) => return Ok(path),
            Err(error) => refused = io::Error::new(error.kind(), format!("{}: {error}", path.display())),
        }
    }
    Err(refused)
}

enum Candidate {
    /// Inside a folder that belongs to this user alone.
    In(PathBuf),
    /// Inside a folder shared by all users.
    Among(PathBuf),
}

impl Candidate {
    fn path(&self) -> PathBuf {
        match self {
            Self::In(folder) => folder.join("switchboard"),
            Self::Among(folder) => folder.join(format!("switchboard-{}", geteuid().as_raw())),
        }
    }

    fn make(&self, path: &Path) -> io::Result<()> {
        // The variable may name a folder that others can write to.
        if let Self::In(folder) = self {
            private::is_closed(folder)?;
        }
        private::closed_folder(path)
    }
}

fn candidates(runtime: Option<PathBuf>) -> Vec<Candidate> {
    // The XDG specification says that a relative path is invalid and must be ignored.
    let mut candidates: Vec<_> =
        runtime.filter(|path| path.is_absolute()).map(Candidate::In).into_iter().collect();
    candidates.extend(of_system().map(Candidate::In));
    // Before `TMPDIR`, so that a shell with its own `TMPDIR` still finds the others.
    candidates.push(Candidate::Among("/tmp".into()));
    candidates.push(Candidate::Among(std::env::temp_dir()));
    candidates
}

/// The usual value of `XDG_RUNTIME_DIR`.
#[cfg(not(target_os = "macos"))]
fn of_system() -> Option<PathBuf> {
    Some(format!("/run/user/{}", geteuid().as_raw()).into())
}

/// The usual value of `TMPDIR`.
#[cfg(target_os = "macos")]
fn of_system() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let mut path = vec![0_u8; 1024];
    // SAFETY: the buffer has the given length; the result ends with a zero.
    let length =
        unsafe { libc::confstr(libc::_CS_DARWIN_USER_TEMP_DIR, path.as_mut_ptr().cast(), path.len()) };
    // The length includes the final zero.
    path.truncate(length.checked_sub(1).filter(|length| *length < path.len())?);
    Some(std::ffi::OsString::from_vec(path).into())
}

/// Identity of our user and namespaces. Programs in containers may share a folder and still see other files
/// and processes.
pub(in crate::local) fn world() -> Vec<u8> {
    use std::os::unix::ffi::OsStringExt;
    let mut world = geteuid().as_raw().to_le_bytes().to_vec();
    for kind in ["mnt", "pid"] {
        let link = std::fs::read_link(format!("/proc/self/ns/{kind}"));
        world.extend(link.map_or_else(|_| b"the only one".to_vec(), |link| link.into_os_string().into_vec()));
        // A separator, since the parts have no fixed length.
        world.push(0);
    }
    world
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn only_a_private_folder_is_used() {
        let scratch = std::env::temp_dir().join(format!("local-folder-{}", std::process::id()));
        let runtime = scratch.join("runtime");
        fs::create_dir_all(&runtime).unwrap();
        let chosen = || first(candidates(Some(runtime.clone()))).unwrap();
        fs::set_permissions(&runtime, Permissions::from_mode(0o700)).unwrap();
        assert_eq!(chosen(), runtime.join("switchboard"));
        let mode = fs::metadata(chosen()).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700);

        // A folder that others may enter, or could have replaced with a link.
        fs::set_permissions(chosen(), Permissions::from_mode(0o755)).unwrap();
        assert!(!chosen().starts_with(&runtime));
        fs::remove_dir(runtime.join("switchboard")).unwrap();
        symlink(&scratch, runtime.join("switchboard")).unwrap();
        assert!(!chosen().starts_with(&runtime));
        fs::remove_file(runtime.join("switchboard")).unwrap();
        fs::set_permissions(&runtime, Permissions::from_mode(0o750)).unwrap();
        assert!(!chosen().starts_with(&runtime));
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn long_or_relative_folder_is_not_used() {
        let scratch = std::env::temp_dir().join(format!("local-long-{}", std::process::id()));
        let long = scratch.join("x".repeat(100));
        fs::create_dir_all(&long).unwrap();
        fs::set_permissions(&long, Permissions::from_mode(0o700)).unwrap();
        for runtime in [long, "relative".into()] {
            let chosen = first(candidates(Some(runtime.clone()))).unwrap();
            assert!(!chosen.starts_with(&runtime), "{}", chosen.display());
            assert!(chosen.is_absolute() && chosen.as_os_str().len() + NAME_BYTES <= MAX_PATH_BYTES);
        }
        fs::remove_dir_all(scratch).unwrap();
    }
}

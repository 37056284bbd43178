//! Turns the system's refusal to start a program into a cause that a person can act on. Must not start anything.

use super::{SpawnError, script};
use rustix::io::Errno;
use std::{io, path::Path};

/// Expects that `path` was found and is executable, and that the folder existed a moment ago.
pub(super) fn cause(path: &Path, source: io::Error) -> SpawnError {
    let path = path.to_owned();
    match Errno::from_io_error(&source) {
        Some(Errno::NOENT) => match script::missing_interpreter(&path) {
            Some(interpreter) => SpawnError::NoInterpreter { path, interpreter },
            None => SpawnError::Other { path, source },
        },
        // A file system mounted `noexec`, or an interpreter without execute permission.
        Some(Errno::ACCESS) => SpawnError::NotExecutable { path },
        Some(Errno::AGAIN | Errno::MFILE | Errno::NFILE | Errno::NOMEM) => SpawnError::Limits { source },
        _ => SpawnError::Other { path, source },
    }
}

//! Resolution of a command to a file. Depends on the file system, the arguments, and our current folder as
//! the base of a relative `cwd`; on nothing else of our process.

use super::{SpawnError, os};
use std::{
    borrow::Cow,
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// Finds the file that `program` names, as a shell in the folder `cwd` with this PATH would. The result is absolute.
///
/// A name with a separator is relative to `cwd` and not searched in PATH. Empty or relative PATH entries are
/// relative to `cwd` too. A file without execute permission is skipped, and named in the error if there is no
/// better match.
pub fn resolve(program: &OsStr, path_var: Option<&OsStr>, cwd: Option<&Path>) -> Result<PathBuf, SpawnError> {
    let named = Path::new(program);
    let has_folder = named.components().count() > 1
        || program.as_encoded_bytes().iter().any(|byte| os::is_separator(*byte));
    if has_folder {
        let path = from_folder(cwd, named);
        return match first_usable(&path) {
            Found::Usable(path) => Ok(path),
            Found::Unusable(path) => Err(SpawnError::NotExecutable { path }),
            Found::Nothing => Err(SpawnError::no_such_file(program, path)),
        };
    }
    let mut unusable = None;
    for folder in path_var.iter().flat_map(std::env::split_paths) {
        match first_usable(&from_folder(cwd, &folder).join(named)) {
            Found::Usable(path) => return Ok(path),
            // A folder of that name was hardly meant, so no error should name it.
            Found::Unusable(path) if path.is_file() => unusable = unusable.or(Some(path)),
            Found::Unusable(_) | Found::Nothing => {}
        }
    }
    Err(match unusable {
        Some(path) => SpawnError::NotExecutable { path },
        None => SpawnError::not_found_in_path(program, path_var),
    })
}

enum Found {
    Usable(PathBuf),
    Unusable(PathBuf),
    Nothing,
}

fn first_usable(path: &Path) -> Found {
    let mut found = Found::Nothing;
    for candidate in os::spellings(path) {
        if os::is_executable(&candidate) {
            return Found::Usable(candidate.into_owned());
        }
        // The first candidate is the one a user would expect in the error.
        if matches!(found, Found::Nothing) && candidate.exists() {
            found = Found::Unusable(candidate.into_owned());
        }
    }
    found
}

fn from_folder(cwd: Option<&Path>, path: &Path) -> PathBuf {
    let joined = match cwd {
        Some(cwd) => Cow::Owned(cwd.join(path)),
        None => Cow::Borrowed(path),
    };
    if joined.is_absolute() {
        return joined.into_owned();
    }
    // An empty path means the current folder; `absolute` returns an error for it.
    let here = if joined.as_os_str().is_empty() { Path::new(".") } else { &joined };
    std::path::absolute(here).unwrap_or_else(|_| here.to_owned())
}

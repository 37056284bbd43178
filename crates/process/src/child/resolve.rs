//! Which file a command means. Looks at the file system and at its arguments, and at nothing of our own
//! process except its current folder, where a relative `cwd` counts from.

use super::{SpawnError, os};
use std::{
    borrow::Cow,
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// Finds the file that `program` names, as a shell in the folder `cwd` with this PATH would. The answer is
/// absolute.
///
/// A name with a separator counts from `cwd` and is not searched for. An entry of PATH that is empty or
/// relative counts from `cwd` too. A file without the right to be executed is passed over, and named in the
/// error if nothing better turns up.
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
    // An empty path means the folder itself, which `absolute` refuses to guess.
    let here = if joined.as_os_str().is_empty() { Path::new(".") } else { &joined };
    std::path::absolute(here).unwrap_or_else(|_| here.to_owned())
}

//! The first token, which is the owner's: made at the first start, kept in a file that only its user can read.
//! The only one whose text is stored: whoever can read the file could use the servers anyway.

use super::secret::Secret;
use crate::config::os;
use crate::stored_file;
use std::io;
use std::path::{Path, PathBuf};
use switchboard_process::private;

const FILE_NAME: &str = "token";
/// Generous limit, since the file may be written by hand.
const MAX_TOKEN_FILE_BYTES: u64 = 64 << 10;
/// A shorter token could be guessed.
const MIN_TOKEN_BYTES: usize = 32;

pub(super) fn path(state_folder: &Path) -> PathBuf {
    state_folder.join(FILE_NAME)
}

/// The token. Made if there is none, or if the existing one is too short.
pub fn get(state_folder: &Path) -> io::Result<Secret> {
    if let Some(known) = read(state_folder)? {
        return Ok(known);
    }
    let made = Secret::random()?;
    // The folder does not exist at the first start.
    os::create_private_dir(state_folder)?;
    stored_file::replace(&path(state_folder), &[made.expose().as_bytes()])?;
    // Another process may have made one at the same time; the file's content counts.
    Ok(read(state_folder)?.unwrap_or(made))
}

/// The token, if there is one that only this user can write. Removes other users' read access.
pub(super) fn read(state_folder: &Path) -> io::Result<Option<Secret>> {
    let path = path(state_folder);
    let text = match private::read_secret(&path, MAX_TOKEN_FILE_BYTES) {
        // A file that is not text counts as empty, and is replaced by the caller.
        Ok(text) => String::from_utf8(text).unwrap_or_default(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let text = format!("{}: {error}\n  hint: remove it, and a new one is created", path.display());
            return Err(io::Error::new(error.kind(), text));
        }
    };
    let text = text.trim();
    Ok((text.len() >= MIN_TOKEN_BYTES).then(|| Secret::new(text)))
}

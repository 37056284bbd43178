//! Bearer token of the HTTP front: made at the first start, kept in a file that only its user can read.

use crate::hex::hex;
use std::io;
use std::path::Path;
use switchboard_process::private;

const FILE_NAME: &str = "token";
/// Generous limit, since the file may be written by hand.
const MAX_TOKEN_FILE_BYTES: u64 = 64 << 10;

/// The token. Made if there is none, or if others could have written the existing one.
pub fn get(state_folder: &Path) -> io::Result<String> {
    if let Some(known) = read(state_folder)? {
        return Ok(known);
    }
    let made = random()?;
    // The folder does not exist at the first start.
    std::fs::create_dir_all(state_folder)?;
    private::write(&state_folder.join(FILE_NAME), made.as_bytes())?;
    // Another process may have made one at the same time; the file's content counts.
    Ok(read(state_folder)?.unwrap_or(made))
}

/// The token, if there is one that only this user can write. Removes other users' read access.
fn read(state_folder: &Path) -> io::Result<Option<String>> {
    let path = state_folder.join(FILE_NAME);
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
    // A short token could be guessed, so it is replaced.
    Ok((text.len() >= 32).then(|| text.to_owned()))
}

/// 256 random bits, as text.
pub(crate) fn random() -> io::Result<String> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(hex(&bytes))
}

//! The token without which nobody is let in: made at the first start, kept in a file that only its user can read.

use crate::hex::hex;
use std::io;
use std::path::Path;
use switchboard_process::private;

const FILE: &str = "token";

/// The token, made if there is none.
pub fn get(state_folder: &Path) -> io::Result<String> {
    if let Some(known) = read(state_folder) {
        return Ok(known);
    }
    let made = random()?;
    // At the very first start there is none.
    std::fs::create_dir_all(state_folder)?;
    private::write(&state_folder.join(FILE), made.as_bytes())?;
    // Another may have made one at the same moment: what stands in the file counts.
    Ok(read(state_folder).unwrap_or(made))
}

/// The token, if there is one.
pub fn read(state_folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(state_folder.join(FILE)).ok()?;
    let text = text.trim();
    (text.len() >= 32).then(|| text.to_owned())
}

/// 256 bits that nobody can guess, as text.
pub(crate) fn random() -> io::Result<String> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(hex(&bytes))
}

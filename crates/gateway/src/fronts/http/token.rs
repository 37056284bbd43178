//! The token without which nobody is let in: made at the first start, kept in a file that only its user can read.

use crate::hex::hex;
use std::io;
use std::path::Path;
use switchboard_process::private;

const FILE_NAME: &str = "token";
/// Somebody may have put one there by hand.
const MAX_TOKEN_FILE_BYTES: u64 = 64 << 10;

/// The token, made if there is none, or if others could have written the one that is there.
pub fn get(state_folder: &Path) -> io::Result<String> {
    if let Some(known) = read(state_folder)? {
        return Ok(known);
    }
    let made = random()?;
    // At the very first start there is none.
    std::fs::create_dir_all(state_folder)?;
    private::write(&state_folder.join(FILE_NAME), made.as_bytes())?;
    // Another may have made one at the same moment: what stands in the file counts.
    Ok(read(state_folder)?.unwrap_or(made))
}

/// The token, if there is one that is ours. Others who could read it so far cannot any more.
fn read(state_folder: &Path) -> io::Result<Option<String>> {
    let path = state_folder.join(FILE_NAME);
    let text = match private::read_secret(&path, MAX_TOKEN_FILE_BYTES) {
        Ok(text) => String::from_utf8(text).unwrap_or_default(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let text = format!("{}: {error}\n  hint: remove it; another is made then", path.display());
            return Err(io::Error::new(error.kind(), text));
        }
    };
    let text = text.trim();
    Ok((text.len() >= 32).then(|| text.to_owned()))
}

/// 256 bits that nobody can guess, as text.
pub(crate) fn random() -> io::Result<String> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(hex(&bytes))
}

//! Files in the state folder that are replaced whole: whoever reads one sees the old content or the new, never a half.

use crate::config::os;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use switchboard_process::drafts;

/// Puts these bytes in the place of a file. Its folder must be there.
pub(crate) fn replace(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let attempt = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Another for each attempt of each process.
    let draft = path.with_file_name(format!("{name}.{}-{attempt}{}", std::process::id(), drafts::ENDING));
    let written = write(&draft, parts).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    if let Some(folder) = path.parent() {
        drafts::remove_old(folder, |name| name.ends_with(drafts::ENDING));
    }
    written
}

fn write(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    // A process with our number may have been killed at it.
    let _ = fs::remove_file(path);
    let mut file = os::create_private_file(path)?;
    for part in parts {
        file.write_all(part)?;
    }
    // Otherwise a power cut could leave the new name with nothing in it.
    file.sync_data()
}

//! Files in the state folder that are replaced atomically: a reader sees the old
//! content or the new, never a part.

use crate::config::os;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use switchboard_process::drafts;

/// Replaces a file with these bytes. Its folder must exist.
pub(crate) fn replace(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let attempt = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Unique per attempt and process.
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
    // A killed process with the same id may have left this file.
    let _ = fs::remove_file(path);
    let mut file = os::create_private_file(path)?;
    for part in parts {
        file.write_all(part)?;
    }
    // Without it, a power failure could leave the new name with no content.
    file.sync_data()
}

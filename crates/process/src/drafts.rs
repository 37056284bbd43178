//! Draft files: written next to the file that they replace. A killed writer leaves its draft behind, and the
//! next writer removes it. Must not know what is in the files.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// Extension of a draft's name.
pub const ENDING: &str = ".draft";

/// Longest time to write a file: the writer of an older draft is certainly gone.
const MAX_WRITE_TIME: Duration = Duration::from_secs(60 * 60);

/// Removes abandoned drafts from a folder. `is_draft` decides by file name. A symbolic link is removed, not followed.
pub fn remove_old(folder: &Path, is_draft: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(&is_draft) && is_old(&entry) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_old(entry: &fs::DirEntry) -> bool {
    let begun = entry.metadata().and_then(|meta| meta.modified());
    // A time in the future (the clock was set back) counts as new.
    begun.is_ok_and(|begun| begun.elapsed().is_ok_and(|elapsed| elapsed > MAX_WRITE_TIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::SystemTime;

    #[test]
    fn only_old_drafts_are_removed() {
        let folder = std::env::temp_dir().join(format!("drafts-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (name, is_old) in [("a.1.draft", true), ("b.2.draft", false), ("kept", true)] {
            let file = File::create(folder.join(name)).unwrap();
            let hours = if is_old { 2 } else { 0 };
            file.set_modified(SystemTime::now() - hours * MAX_WRITE_TIME).unwrap();
        }
        remove_old(&folder, |name| name.ends_with(ENDING));
        let mut left: Vec<_> =
            fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["b.2.draft", "kept"]);
        fs::remove_dir_all(folder).unwrap();
    }
}

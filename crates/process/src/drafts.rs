//! Files that are written beside the one they are to replace. Whoever is killed meanwhile leaves one behind, for the next
//! who writes there to remove.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// How a draft's name ends.
pub const ENDING: &str = ".draft";

/// No writer takes longer, so that the writer of an older draft is gone.
const MAX_WRITE_TIME: Duration = Duration::from_secs(60 * 60);

/// Removes the drafts in a folder that nobody can be at any more. `is_draft` is told a name. A link is removed and not
/// followed.
pub fn remove_old(folder: &Path, is_draft: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(&is_draft) && is_old(&entry) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_old(entry: &fs::DirEntry) -> bool {
    let begun = entry.metadata().and_then(|meta| meta.modified());
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

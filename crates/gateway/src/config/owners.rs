//! Owners whose config files are accepted. A config file names commands that run as its reader, so no one
//! else may be able to write it.
//!
//! The check looks at the opened file, behind all links: its owner must be this user, root, or a user named
//! with `--config-owner`, and it must not be world-writable. A file that someone puts in its place is that
//! person's own, and the same rule refuses it. A world-writable folder is therefore worth only a warning:
//! others can remove the file there, or replace it with another file of its owner.

use super::{Problem, Severity};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use switchboard_process::ownership::{self, Ownership};
use switchboard_process::real_path::real;

/// Accepted owners beside this user and root.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Owners {
    /// Numeric id of a user, such as the owner of files mounted into a container.
    pub also: Option<u32>,
}

/// Reason why a file is not accepted. `Display` has a second line with the command that fixes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    #[error(
        "it belongs to uid {owner}, who could use it to run commands as you\n  \
         hint: `sudo chown {us} {}` makes it yours; `--config-owner {owner}` accepts it as it is",
        quoted(path)
    )]
    Owned { path: PathBuf, owner: u32, us: u32 },
    #[error(
        "everyone can write to it, and could use it to run commands as you\n  hint: check its content, then run \
         `chmod o-w {}`",
        quoted(path)
    )]
    Open { path: PathBuf },
}

impl Owners {
    /// Warnings about the file, or the reason to refuse it.
    pub(super) fn check(self, path: &Path, file: &File) -> io::Result<Result<Vec<Problem>, Foreign>> {
        let (Some(found), Some(us)) = (ownership::of(file)?, ownership::this_user()) else {
            // Owners are not known on this system, so there is nothing to judge.
            return Ok(Ok(Vec::new()));
        };
        Ok(self.judge(path, found, us).map(|warning| warning.into_iter().chain(folders(path)).collect()))
    }

    fn judge(self, path: &Path, found: Ownership, us: u32) -> Result<Option<Problem>, Foreign> {
        let Ownership { owner, group_writes, all_write, .. } = found;
        let path = path.to_owned();
        // Root can run commands as this user anyway.
        if owner != us && owner != 0 && Some(owner) != self.also {
            return Err(Foreign::Owned { path, owner, us });
        }
        if all_write {
            return Err(Foreign::Open { path });
        }
        let warning = || {
            let message = "the file's group can write to it, and could use it to run commands as you";
            let remedy = format!("run: chmod g-w {}", quoted(&path));
            Problem::with_file(path.clone(), Severity::Warning, message.to_owned(), remedy)
        };
        Ok(group_writes.then(warning))
    }
}

/// Warns of a world-writable folder that contains the file or a link to it. A folder that cannot be opened is
/// skipped, since the file could be.
fn folders(path: &Path) -> Option<Problem> {
    // Both the link's folder and the file's own: whoever can write to either can replace the file.
    let link = std::path::absolute(path).ok();
    let real = real(path).ok();
    let open = link.iter().chain(&real).filter_map(|path| path.parent()).find(|folder| {
        let found = ownership::of_folder(folder).ok().flatten();
        // In a folder with the sticky bit, such as /tmp, others cannot remove the file.
        found.is_some_and(|found| found.all_write && !found.keeps_files)
    })?;
    let message = "everyone can write to its folder, and so remove or replace it";
    let remedy = format!("run: chmod o-w {}", quoted(open));
    Some(Problem::with_file(path.to_owned(), Severity::Warning, message.to_owned(), remedy))
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Owners = Owners { also: None };
    const MOUNTED: Owners = Owners { also: Some(7) };

    fn verdict(owners: Owners, owner: u32, mode: u32) -> &'static str {
        let found = Ownership {
            owner,
            group_writes: mode & 0o020 != 0,
            all_write: mode & 0o002 != 0,
            keeps_files: false,
        };
        match owners.judge(Path::new("/etc/it's.json"), found, 1000) {
            Ok(None) => "taken",
            Ok(Some(_)) => "warned of",
            Err(Foreign::Owned { .. }) => "another's",
            Err(Foreign::Open { .. }) => "open",
        }
    }

    #[test]
    fn own_and_roots_files_are_taken() {
        for (owners, owner, mode, expected) in [
            (NONE, 1000, 0o644, "taken"),
            (NONE, 0, 0o644, "taken"),
            (NONE, 1000, 0o664, "warned of"),
            (NONE, 0, 0o660, "warned of"),
            (NONE, 1000, 0o646, "open"),
            (NONE, 0, 0o666, "open"),
            (NONE, 7, 0o600, "another's"),
            (MOUNTED, 7, 0o600, "taken"),
            (MOUNTED, 7, 0o620, "warned of"),
            (MOUNTED, 7, 0o602, "open"),
            (MOUNTED, 1000, 0o600, "taken"),
            (MOUNTED, 8, 0o600, "another's"),
        ] {
            assert_eq!(verdict(owners, owner, mode), expected, "{owner} {mode:o}");
        }
    }

    #[test]
    fn refusal_names_the_command() {
        let found = Ownership { owner: 7, group_writes: false, all_write: false, keeps_files: false };
        let refusal = NONE.judge(Path::new("/etc/it's.json"), found, 1000).unwrap_err().to_string();
        assert!(refusal.contains(r"`sudo chown 1000 '/etc/it'\''s.json'`"), "{refusal}");
        assert!(refusal.contains("`--config-owner 7`"), "{refusal}");
        let open = Ownership { owner: 1000, all_write: true, ..found };
        let refusal = NONE.judge(Path::new("/etc/x.json"), open, 1000).unwrap_err().to_string();
        assert!(refusal.contains("`chmod o-w '/etc/x.json'`"), "{refusal}");
    }
}

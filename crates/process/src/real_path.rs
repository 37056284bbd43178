//! Canonical paths, in the form that users write. Must not know what a path is for.

use std::io;
use std::path::{Path, PathBuf};

/// The absolute path with all links resolved. Windows itself returns `\\?\C:\folder`, which many programs such as node do
/// not accept, and replaces a mapped drive by its share, in which `cmd.exe` cannot work. This function removes the prefix
/// and keeps the drive.
pub fn real(path: &Path) -> io::Result<PathBuf> {
    let followed = path.canonicalize().map(plain)?;
    if cfg!(not(windows)) {
        return Ok(followed);
    }
    let given = plain(std::path::absolute(path)?);
    let kept = given.to_str().zip(followed.to_str()).and_then(|(given, followed)| {
        on_its_drive(given, followed, |drive| {
            let share = Path::new(drive).canonicalize().map(plain).ok()?;
            share.into_os_string().into_string().ok()
        })
    });
    Ok(kept.map_or(followed, PathBuf::from))
}

/// Restores the mapped drive of a path that was resolved to a share. `follow` resolves the drive. If a link leads from the
/// drive to another share, the path stays as it was given.
fn on_its_drive(given: &str, followed: &str, follow: impl FnOnce(&str) -> Option<String>) -> Option<String> {
    let drive = given.get(..2).filter(|drive| drive.ends_with(':') && followed.starts_with(r"\\"))?;
    let share = follow(&format!(r"{drive}\"))?;
    let share = share.trim_end_matches('\\');
    let rest = followed.get(share.len()..).filter(|rest| {
        let is_below = rest.is_empty() || rest.starts_with('\\');
        is_below && share.starts_with(r"\\") && followed[..share.len()].eq_ignore_ascii_case(share)
    });
    Some(match rest {
        Some("") => format!(r"{drive}\"),
        Some(rest) => format!("{drive}{rest}"),
        None => given.to_owned(),
    })
}

/// Removes the prefix of verbatim paths.
pub(crate) fn plain(path: PathBuf) -> PathBuf {
    let share = |rest: &str| PathBuf::from(format!(r"\\{rest}"));
    match path.to_str().and_then(|text| text.strip_prefix(r"\\?\")) {
        Some(rest) if rest.as_bytes().get(1) == Some(&b':') => PathBuf::from(rest),
        Some(rest) => rest.strip_prefix(r"UNC\").map_or(path.clone(), share),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::{on_its_drive, plain};
    use std::path::{Path, PathBuf};

    #[test]
    fn verbatim_paths_become_plain() {
        for (path, expect) in [
            (r"\\?\C:\a\b.mjs", r"C:\a\b.mjs"),
            (r"\\?\UNC\host\share\a", r"\\host\share\a"),
            (r"\\?\Volume{1}\a", r"\\?\Volume{1}\a"),
            ("/a/b.mjs", "/a/b.mjs"),
        ] {
            assert_eq!(plain(PathBuf::from(path)), Path::new(expect));
        }
    }

    #[test]
    fn mapped_drive_is_kept() {
        let on = |share: &'static str| move |drive: &str| (drive == r"Z:\").then(|| share.to_owned());
        let (sub, top) = (on(r"\\host\share\sub"), on(r"\\host\share\"));
        for (given, followed, expect) in [
            // The resolved path has the real case of the folder's name.
            (r"Z:\PROJECT\x", r"\\host\share\sub\Project\x", Some(r"Z:\Project\x")),
            (r"Z:\a\..\b", r"\\HOST\Share\sub\b", Some(r"Z:\b")),
            (r"Z:\", r"\\host\share\sub", Some(r"Z:\")),
            // A link that leads elsewhere.
            (r"Z:\link\x", r"\\other\share\x", Some(r"Z:\link\x")),
            (r"Z:\link\x", r"\\host\share\subway\x", Some(r"Z:\link\x")),
            (r"Z:\link", r"C:\real", None),
            (r"\\host\share\sub\x", r"\\host\share\sub\x", None),
            (r"Y:\x", r"\\host\share\x", None),
        ] {
            assert_eq!(on_its_drive(given, followed, sub).as_deref(), expect, "{given} {followed}");
        }
        assert_eq!(on_its_drive(r"Z:\x", r"\\host\share\x", top).as_deref(), Some(r"Z:\x"));
        // A link on a drive of this machine.
        let local = |_: &str| Some(r"C:\".to_owned());
        assert_eq!(on_its_drive(r"C:\l\x", r"\\host\s\x", local).as_deref(), Some(r"C:\l\x"));
    }
}

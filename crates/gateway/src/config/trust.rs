//! Record of the project config files that the user has approved. A config file names commands to run, so one
//! from a cloned repository is ignored until its owner has approved exactly this content at this place.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::os;
use crate::hex::hex;
use switchboard_process::drafts;
use switchboard_process::real_path::real;

const FILE_NAME: &str = "trust.json";
const FORMAT_VERSION: u32 = 1;

/// List of approved files, in the state folder. Not cached: each query reads the file, so that an approval in
/// another process takes effect at once.
#[derive(Clone, Debug)]
pub struct Trust {
    file: PathBuf,
}

/// One approved file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trusted {
    pub path: PathBuf,
    /// Digest of the content, in hexadecimal.
    pub sha256: String,
}

/// Status of a project's config file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustVerdict {
    Trusted,
    /// Approved with other content.
    Changed,
    Unknown,
}

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("cannot find {}: {source}", path.display())]
    NotFound { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{} is damaged ({source}); remove it, then trust your project files again", path.display())]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error("{} was written by a newer release of Switchboard; update this one", path.display())]
    Newer { path: PathBuf },
    #[error("others can write to {0}, so it cannot be relied on; run: chmod go-w '{0}'", path.display())]
    OpenToOthers { path: PathBuf },
}

#[derive(Serialize, Deserialize)]
struct TrustFile {
    version: u32,
    trusted: Vec<Trusted>,
}

impl Trust {
    pub fn new(state_dir: &Path) -> Self {
        Self { file: state_dir.join(FILE_NAME) }
    }

    /// Approves the file at `path` with the content `source`: the text that the user was shown, even
    /// if the file has changed since.
    pub fn trust(&self, path: &Path, source: &str) -> Result<Trusted, TrustError> {
        let new = Trusted { path: location(path)?, sha256: hash(source) };
        let mut all = self.trusted()?;
        all.retain(|trusted| trusted.path != new.path);
        all.push(new.clone());
        self.write(all)?;
        Ok(new)
    }

    /// Revokes an approval; `false` if there was none. Also works for a file that is gone.
    pub fn untrust(&self, path: &Path) -> Result<bool, TrustError> {
        // If the folder is gone, only the path as it was given can be compared.
        let path = location(path).unwrap_or_else(|_| path.to_owned());
        let mut all = self.trusted()?;
        let before = all.len();
        all.retain(|trusted| trusted.path != path);
        let found = all.len() < before;
        if found {
            self.write(all)?;
        }
        Ok(found)
    }

    /// All approved files, the latest last.
    pub fn trusted(&self) -> Result<Vec<Trusted>, TrustError> {
        let path = || self.file.clone();
        let text = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(TrustError::Read { path: path(), source }),
        };
        if os::is_writable_by_others(&self.file)
            .map_err(|source| TrustError::Read { path: path(), source })?
        {
            // Anyone who can write here could approve any file, so the list counts for nothing.
            return Err(TrustError::OpenToOthers { path: path() });
        }
        let stored: TrustFile =
            serde_json::from_str(&text).map_err(|source| TrustError::Damaged { path: path(), source })?;
        if stored.version > FORMAT_VERSION {
            // An older program would drop what it does not understand when it writes the list.
            return Err(TrustError::Newer { path: path() });
        }
        Ok(stored.trusted)
    }

    /// Whether the file at `path` may be used with the content `source`.
    pub fn verdict(&self, path: &Path, source: &str) -> Result<TrustVerdict, TrustError> {
        let path = location(path)?;
        let known = self.trusted()?.into_iter().find(|trusted| trusted.path == path);
        Ok(match known {
            Some(trusted) if trusted.sha256 == hash(source) => TrustVerdict::Trusted,
            Some(_) => TrustVerdict::Changed,
            None => TrustVerdict::Unknown,
        })
    }

    /// Replaces the list atomically: a reader, or a crash, sees the old list or the new one.
    fn write(&self, trusted: Vec<Trusted>) -> Result<(), TrustError> {
        let failed = |source| TrustError::Write { path: self.file.clone(), source };
        let stored = TrustFile { version: FORMAT_VERSION, trusted };
        let text = serde_json::to_vec_pretty(&stored).map_err(|error| failed(error.into()))?;
        let folder = self.file.parent().unwrap_or(Path::new(""));
        os::create_private_dir(folder).map_err(failed)?;

        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let unique = format!("{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let temporary = folder.join(format!(".{FILE_NAME}.{unique}"));
        // Synced before the rename: otherwise a power failure could leave the name with no content.
        let written = os::create_private_file(&temporary)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, &self.file));
        drafts::remove_old(folder, |name| {
            name.strip_prefix('.').is_some_and(|name| name.starts_with(&format!("{FILE_NAME}.")))
        });
        written.map_err(|error| {
            // A draft that was not renamed would stay behind.
            let _ = fs::remove_file(&temporary);
            failed(error)
        })
    }
}

/// Canonical folder and file name. A link is not followed: the same text means other commands in another
/// folder, so approving the target must not approve a link to it.
fn location(path: &Path) -> Result<PathBuf, TrustError> {
    let not_found = |source| TrustError::NotFound { path: path.to_owned(), source };
    let name = path.file_name().ok_or_else(|| not_found(io::ErrorKind::InvalidInput.into()))?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    Ok(real(folder).map_err(not_found)?.join(name))
}

fn hash(source: &str) -> String {
    hex(&Sha256::digest(source.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::Scratch;

    fn project(scratch: &Scratch, name: &str) -> PathBuf {
        scratch.file(&format!("{name}/switchboard.json"), "{}")
    }

    #[test]
    fn trusts_a_content_at_a_place() {
        let scratch = Scratch::new();
        let trust = Trust::new(&scratch.path("state"));
        let (one, other) = (project(&scratch, "one"), project(&scratch, "other"));
        assert_eq!(trust.verdict(&one, "{}").unwrap(), TrustVerdict::Unknown);
        trust.trust(&one, "{}").unwrap();
        assert_eq!(trust.verdict(&one, "{}").unwrap(), TrustVerdict::Trusted);
        assert_eq!(trust.verdict(&one, "{ }").unwrap(), TrustVerdict::Changed);
        assert_eq!(trust.verdict(&other, "{}").unwrap(), TrustVerdict::Unknown);
    }

    #[test]
    fn second_approval_replaces_the_first() {
        let scratch = Scratch::new();
        let trust = Trust::new(&scratch.path("state"));
        let file = project(&scratch, "one");
        trust.trust(&file, "{}").unwrap();
        let latest = trust.trust(&file, "{ }").unwrap();
        assert_eq!(trust.trusted().unwrap(), [latest]);
    }

    #[test]
    fn untrust_works_for_a_missing_file() {
        let scratch = Scratch::new();
        let trust = Trust::new(&scratch.path("state"));
        let file = project(&scratch, "one");
        let trusted = trust.trust(&file, "{}").unwrap();
        fs::remove_dir_all(file.parent().unwrap()).unwrap();
        assert!(trust.untrust(&trusted.path).unwrap());
        assert!(!trust.untrust(&trusted.path).unwrap());
        assert_eq!(trust.trusted().unwrap(), []);
    }

    #[test]
    fn the_hash_is_sha256() {
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn damaged_list_trusts_nothing() {
        let scratch = Scratch::new();
        let list = scratch.file("state/trust.json", "{ not json");
        let trust = Trust::new(&scratch.path("state"));
        let file = project(&scratch, "one");
        for result in [trust.trusted().map(drop), trust.trust(&file, "{}").map(drop)] {
            assert!(matches!(result, Err(TrustError::Damaged { .. })), "{result:?}");
        }
        assert_eq!(fs::read_to_string(list).unwrap(), "{ not json");
    }

    #[test]
    fn newer_list_is_left_alone() {
        let scratch = Scratch::new();
        scratch.file("state/trust.json", r#"{ "version": 2, "trusted": [] }"#);
        let result = Trust::new(&scratch.path("state")).trusted();
        assert!(matches!(result, Err(TrustError::Newer { .. })), "{result:?}");
    }

    #[test]
    fn leaves_no_temporary_file() {
        let scratch = Scratch::new();
        let trust = Trust::new(&scratch.path("state"));
        trust.trust(&project(&scratch, "one"), "{}").unwrap();
        let names: Vec<_> =
            fs::read_dir(scratch.path("state")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [FILE_NAME]);
    }

    #[cfg(unix)]
    #[test]
    fn the_list_is_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = Scratch::new();
        let state = scratch.path("state");
        let trust = Trust::new(&state);
        trust.trust(&project(&scratch, "one"), "{}").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&state), mode(&state.join(FILE_NAME))), (0o700, 0o600));

        fs::set_permissions(state.join(FILE_NAME), fs::Permissions::from_mode(0o662)).unwrap();
        assert!(matches!(trust.trusted(), Err(TrustError::OpenToOthers { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_trusted_file_is_not_trusted() {
        let scratch = Scratch::new();
        let trust = Trust::new(&scratch.path("state"));
        let file = project(&scratch, "one");
        trust.trust(&file, "{}").unwrap();
        fs::create_dir(scratch.path("evil")).unwrap();
        let link = scratch.path("evil").join("switchboard.json");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(trust.verdict(&link, "{}").unwrap(), TrustVerdict::Unknown);

        // A link to the folder leads to the same place, though.
        std::os::unix::fs::symlink(file.parent().unwrap(), scratch.path("alias")).unwrap();
        let alias = scratch.path("alias").join("switchboard.json");
        assert_eq!(trust.verdict(&alias, "{}").unwrap(), TrustVerdict::Trusted);
    }
}

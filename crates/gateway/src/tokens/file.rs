//! The file of all tokens but the first: names, hashes, rights and limits. Several processes may change it at a
//! time, so a change happens under a lock; readers need none, since the file is replaced atomically.

use super::entry::{NewToken, TokenEntry};
use super::secret::{Secret, digest};
use crate::config::os;
use crate::stored_file;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use switchboard_core::text::nearest::nearest_name;
use switchboard_process::file_lock::FileLock;
use switchboard_process::private;

const FILE_NAME: &str = "tokens.json";
const LOCK_NAME: &str = "tokens.lock";
const FORMAT_VERSION: u32 = 1;
/// Far more than any real file.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// A change takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The tokens in the state folder. Not cached: each query reads the file.
#[derive(Debug, Clone)]
pub struct TokenFile {
    folder: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "{0}: another user owns it or can write to it, so no token in it counts\n  hint: run `chmod go-w '{0}'` if its content is right, or remove it",
        path.display()
    )]
    OpenToOthers { path: PathBuf },
    #[error(
        "{} is damaged ({source}), so no token in it counts\n  hint: repair it, or remove it and create the tokens again",
        path.display()
    )]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error(
        "{} was written by a newer release of Switchboard, so no token in it counts\n  hint: update this one",
        path.display()
    )]
    Newer { path: PathBuf },
    #[error("cannot create a token: {0}")]
    Random(io::Error),
    #[error(
        "there is a token `{name}` already\n  hint: `switchboard token revoke {name}` first, or choose another name"
    )]
    Exists { name: String },
    #[error("there is no token `{name}`\n  hint: {hint}")]
    Unknown { name: String, hint: String },
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    tokens: Vec<TokenEntry>,
}

/// Read before the rest: another version may look different.
#[derive(Deserialize)]
struct StoredVersion {
    version: u32,
}

impl TokenFile {
    pub fn new(state_folder: &Path) -> Self {
        Self { folder: state_folder.to_owned() }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(FILE_NAME)
    }

    /// All tokens, in the order in which they were made.
    pub fn list(&self) -> Result<Vec<TokenEntry>, TokensError> {
        let path = self.path();
        let text = match private::read(&path, MAX_FILE_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(TokensError::OpenToOthers { path });
            }
            Err(source) => return Err(TokensError::Read { path, source }),
        };
        let damaged = |source| TokensError::Damaged { path: path.clone(), source };
        let StoredVersion { version } = serde_json::from_slice(&text).map_err(damaged)?;
        if version > FORMAT_VERSION {
            return Err(TokensError::Newer { path });
        }
        Ok(serde_json::from_slice::<Stored>(&text).map_err(damaged)?.tokens)
    }

    /// Makes a token. Its text is returned here and stored nowhere.
    pub fn create(&self, new: NewToken) -> Result<(TokenEntry, Secret), TokensError> {
        let secret = Secret::random().map_err(TokensError::Random)?;
        let name = new.name.clone();
        let entry = TokenEntry::new(new, digest(secret.expose()), SystemTime::now());
        let made = entry.clone();
        self.change(|tokens| {
            if tokens.iter().any(|known| known.name == name) {
                return Err(TokensError::Exists { name });
            }
            tokens.push(made);
            Ok(())
        })?;
        Ok((entry, secret))
    }

    /// Removes a token, and returns it.
    pub fn revoke(&self, name: &str) -> Result<TokenEntry, TokensError> {
        self.change(|tokens| match tokens.iter().position(|known| known.name == name) {
            Some(at) => Ok(tokens.remove(at)),
            None => Err(unknown(name, tokens)),
        })
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<TokenEntry>) -> Result<T, TokensError>,
    ) -> Result<T, TokensError> {
        let path = self.path();
        let failed = |source| TokensError::Write { path: path.clone(), source };
        os::create_private_dir(&self.folder).map_err(failed)?;
        let _lock = FileLock::take(&self.folder.join(LOCK_NAME), LOCK_TIMEOUT).map_err(failed)?;
        // Read under the lock: a file that cannot be read is not replaced by one without its tokens.
        let mut tokens = self.list()?;
        let result = change(&mut tokens)?;
        let stored = Stored { version: FORMAT_VERSION, tokens };
        let text = serde_json::to_vec_pretty(&stored).map_err(|error| failed(error.into()))?;
        stored_file::replace(&path, &[&text, b"\n"]).map_err(failed)?;
        Ok(result)
    }
}

fn unknown(name: &str, tokens: &[TokenEntry]) -> TokensError {
    let names: Vec<String> = tokens.iter().map(|token| token.name.clone()).collect();
    let hint = match nearest_name(name, &names) {
        Some(near) => format!("did you mean `{near}`? `switchboard token list` shows all tokens"),
        None => "`switchboard token list` shows all tokens".to_owned(),
    };
    TokensError::Unknown { name: name.to_owned(), hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("sb-tokens-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Self(path)
        }

        fn file(&self) -> TokenFile {
            TokenFile::new(&self.0)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn named(name: &str) -> NewToken {
        NewToken { name: name.to_owned(), ..NewToken::default() }
    }

    #[test]
    fn only_the_hash_is_stored() {
        let folder = Folder::new("hash");
        let new = NewToken { rate: Some("5/min".into()), profile: Some("work".into()), ..named("ci") };
        let (entry, secret) = folder.file().create(new).unwrap();
        let text = fs::read_to_string(folder.file().path()).unwrap();
        assert!(
            !text.contains(secret.expose()) && !text.contains(&secret.expose()["swb_".len()..]),
            "{text}"
        );
        assert_eq!(folder.file().list().unwrap(), std::slice::from_ref(&entry));
        assert_eq!(*entry.digest(), digest(secret.expose()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(folder.file().path()).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn names_are_unique_and_found_again() {
        let folder = Folder::new("names");
        let file = folder.file();
        assert!(matches!(file.revoke("ci"), Err(TokensError::Unknown { .. })));
        file.create(named("builds")).unwrap();
        assert!(matches!(file.create(named("builds")), Err(TokensError::Exists { .. })));
        let Err(error) = file.revoke("build") else { panic!("it is not there") };
        assert!(error.to_string().contains("did you mean `builds`?"), "{error}");
        assert_eq!(file.revoke("builds").unwrap().name, "builds");
        assert_eq!(file.list().unwrap(), []);
        file.create(named("builds")).unwrap();
    }

    #[test]
    fn concurrent_changes_lose_nothing() {
        let folder = Folder::new("crowd");
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let file = folder.file();
                scope.spawn(move || {
                    (0..4).for_each(|at| drop(file.create(named(&format!("t{thread}-{at}"))).unwrap()));
                });
            }
        });
        assert_eq!(folder.file().list().unwrap().len(), 32);
    }

    #[test]
    fn damaged_file_is_kept() {
        let folder = Folder::new("damaged");
        let file = folder.file();
        file.create(named("ci")).unwrap();
        let good = fs::read_to_string(file.path()).unwrap();
        let with_unknown = good.replace("\"name\"", "\"onlyOnMondays\": true, \"name\"");
        let newer = good.replace("\"version\": 1", "\"version\": 2");
        for (text, is_it) in [
            ("", (|error| matches!(error, TokensError::Damaged { .. })) as fn(&TokensError) -> bool),
            ("{", |error| matches!(error, TokensError::Damaged { .. })),
            ("{\"version\": 1}", |error| matches!(error, TokensError::Damaged { .. })),
            (&with_unknown, |error| matches!(error, TokensError::Damaged { .. })),
            (&newer, |error| matches!(error, TokensError::Newer { .. })),
        ] {
            fs::write(file.path(), text).unwrap();
            for error in [
                file.list().unwrap_err(),
                file.create(named("x")).unwrap_err(),
                file.revoke("ci").unwrap_err(),
            ] {
                assert!(is_it(&error), "{text}: {error}");
                assert!(error.to_string().contains("hint:"), "{error}");
            }
            assert_eq!(fs::read_to_string(file.path()).unwrap(), text, "it is not replaced");
        }
    }

    #[cfg(unix)]
    #[test]
    fn file_that_others_can_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new("open");
        let file = folder.file();
        file.create(named("ci")).unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o662)).unwrap();
        assert!(matches!(file.list(), Err(TokensError::OpenToOthers { .. })));
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(file.list().unwrap().len(), 1);
    }
}

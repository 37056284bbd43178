//! Records of launches, stored between runs: a small file per launch, as the config has it.
//!
//! No error is fatal: an unreadable record is learned again.

use crate::config::{Packages, ServerConfig};
use crate::hex::hex;
use crate::stored_file;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use switchboard_core::{FramingChoice, Record, SeenEra, SeenOffers, Slow};
use switchboard_process::private;
use switchboard_protocol::{Era, Framing};

#[cfg(test)]
mod tests;

const FOLDER: &str = "launches";
const ENDING: &str = ".json";
/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 64 << 10;
/// More launches than anyone has. Beyond it, the oldest files are removed.
const MAX_FILES: usize = 1000;
/// Neither newline framing nor another got an answer.
const NOT_NEWLINE: &str = "not-newline";

/// All records of this user.
#[derive(Clone)]
pub(crate) struct Launches {
    folder: Arc<Path>,
}

/// A record on disk.
#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct StoredRecord {
    /// For readers of the folder; one launch may have several names.
    server: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    framing: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slow: Option<StoredSlow>,
    asks_roots: bool,
    asks_questions: bool,
    keeps_state: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    era: Option<StoredEra>,
    #[serde(skip_serializing_if = "SeenOffers::is_empty", with = "seen_offers")]
    offers: SeenOffers,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredSlow {
    tries: u32,
    /// In seconds since 1970.
    retry_at: u64,
    /// Hash of the whole entry: a change, for example of `startTimeout`, gives the server another chance.
    entry: String,
}

/// The era that a server turned out to speak.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredEra {
    name: String,
    /// Whether it has refused the other era.
    #[serde(default)]
    only: bool,
    /// In seconds since 1970.
    until: u64,
}

impl Launches {
    pub(crate) fn new(state_folder: &Path) -> Self {
        Self { folder: state_folder.join(FOLDER).into() }
    }

    pub(crate) fn state_folder(&self) -> &Path {
        self.folder.parent().unwrap_or(&self.folder)
    }

    pub(crate) fn load(&self, server: &ServerConfig) -> Record {
        let read = || {
            let content = private::read(&self.path(server), MAX_FILE_BYTES).ok()?;
            serde_json::from_slice::<StoredRecord>(&content).ok()
        };
        read().map(|stored| stored.record(server)).unwrap_or_default()
    }

    pub(crate) fn save(&self, server: &ServerConfig, record: &Record) -> io::Result<()> {
        // An empty record needs no file.
        if *record == Record::default() {
            return self.forget(server);
        }
        private::folder(&self.folder)?;
        let text = serde_json::to_vec_pretty(&StoredRecord::of(server, record))?;
        stored_file::replace(&self.path(server), &[&text])?;
        self.clean();
        Ok(())
    }

    pub(crate) fn forget(&self, server: &ServerConfig) -> io::Result<()> {
        match fs::remove_file(self.path(server)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn path(&self, server: &ServerConfig) -> PathBuf {
        self.folder.join(format!("{}{ENDING}", launch_key(server)))
    }

    fn clean(&self) {
        let entries = fs::read_dir(&*self.folder).into_iter().flatten().flatten();
        let mut files: Vec<(SystemTime, PathBuf)> = entries
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        if files.len() <= MAX_FILES {
            return;
        }
        files.sort();
        for (_, path) in &files[..files.len() - MAX_FILES] {
            let _ = fs::remove_file(path);
        }
    }
}

impl StoredRecord {
    fn of(server: &ServerConfig, record: &Record) -> Self {
        let framing = match record.framing {
            FramingChoice::Fixed(framing) => Some(framing.name().to_owned()),
            FramingChoice::Doubt => Some(NOT_NEWLINE.to_owned()),
            FramingChoice::Try => None,
        };
        let slow = record.slow.map(|slow| StoredSlow {
            tries: slow.tries,
            // An absolute time, since this process may end before it comes.
            retry_at: since_1970(SystemTime::now() + slow.retry_in).as_secs(),
            entry: entry_hash(server),
        });
        Self {
            server: server.name.clone(),
            framing,
            slow,
            asks_roots: record.asks_roots,
            asks_questions: record.asks_questions,
            keeps_state: record.keeps_state,
            era: record.era.map(|seen| StoredEra {
                name: seen.era.name().to_owned(),
                only: seen.is_only,
                until: since_1970(SystemTime::now() + seen.good_for).as_secs(),
            }),
            offers: record.offers.clone(),
        }
    }

    fn record(self, server: &ServerConfig) -> Record {
        let word = self.framing.as_deref().unwrap_or_default();
        let known = [Framing::Newline, Framing::ContentLength].into_iter().find(|it| it.name() == word);
        let framing = match known {
            Some(framing) => FramingChoice::Fixed(framing),
            None if word == NOT_NEWLINE => FramingChoice::Doubt,
            None => FramingChoice::Try,
        };
        let slow = self.slow.filter(|slow| slow.entry == entry_hash(server)).map(|slow| {
            let left = Duration::from_secs(slow.retry_at).saturating_sub(since_1970(SystemTime::now()));
            // A clock that was set back must not postpone the next attempt for years.
            Slow { tries: slow.tries, retry_in: left.min(Duration::from_secs(60 * 60)) }
        });
        Record {
            framing,
            slow,
            asks_roots: self.asks_roots,
            asks_questions: self.asks_questions,
            keeps_state: self.keeps_state,
            era: self.era.and_then(StoredEra::seen),
            offers: self.offers,
        }
    }
}

impl StoredEra {
    /// `None` once it is over, or if a later version wrote it.
    fn seen(self) -> Option<SeenEra> {
        let era = [Era::Legacy, Era::Modern].into_iter().find(|era| era.name() == self.name)?;
        let left = Duration::from_secs(self.until).checked_sub(since_1970(SystemTime::now()))?;
        // A clock that was set back must not keep it for years.
        Some(SeenEra { era, is_only: self.only, good_for: left.min(SeenEra::GOOD_FOR) })
    }
}

/// Serde's own form needs a feature for shared names.
mod seen_offers {
    use super::SeenOffers;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    type Plain = BTreeMap<String, BTreeMap<String, u64>>;

    pub(super) fn serialize<S: Serializer>(offers: &SeenOffers, serializer: S) -> Result<S::Ok, S::Error> {
        let plain: Plain = offers.iter().map(|(profile, seen)| (profile.to_string(), seen.clone())).collect();
        plain.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SeenOffers, D::Error> {
        let plain = Plain::deserialize(deserializer)?;
        Ok(plain.into_iter().map(|(profile, seen)| (profile.into(), seen)).collect())
    }
}

fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn entry_hash(server: &ServerConfig) -> String {
    hash(&[&format!("{server:?}")])
}

/// Identity of a launch, as the config has it. Servers with equal launches behave alike,
/// whatever their names and filters.
pub(crate) fn launch_key(server: &ServerConfig) -> String {
    let cwd = server.cwd.as_deref();
    // The counts separate arguments from variables: without them, different launches could hash alike.
    let (args, env) = (server.args.len().to_string(), server.env.len().to_string());
    let mut words = vec![server.command.as_str(), &args];
    words.extend(server.args.iter().map(String::as_str));
    words.push(&env);
    words.extend(server.env.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]));
    words.extend([if cwd.is_some() { "in" } else { "" }, cwd.unwrap_or_default()]);
    // `${HOME}` is a folder if expanded, and literal text otherwise.
    words.push(if server.expand { "expand" } else { "" });
    // May be another program. The default adds nothing, so that older records stay valid.
    if server.packages == Packages::Workspace {
        words.push("packages of the workspace");
    }
    if let Some(remote) = &server.remote {
        words.extend(["remote", &remote.url]);
        words.extend(remote.headers.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]));
    }
    hash(&words)
}

pub(crate) fn hash(words: &[&str]) -> String {
    let mut hash = Sha256::new();
    for word in words {
        // Length-prefixed, so that different lists of words never hash alike.
        hash.update((word.len() as u64).to_le_bytes());
        hash.update(word.as_bytes());
    }
    hex(&hash.finalize())
}

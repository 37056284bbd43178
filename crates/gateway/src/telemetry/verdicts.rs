//! Which framing a server turned out to speak, remembered between runs: the second start need not find out
//! again. Keyed by the launch as it is written in the config.

use crate::config::{ServerConfig, os};
use crate::hex::hex;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use switchboard_core::{BackendId, Fact, FramingChoice};
use switchboard_protocol::Framing;

/// Newline got no answer, and nothing else did either.
const DOUBT: &str = "not-newline";
/// More servers than anyone has; beyond it the memory starts anew.
const MOST: usize = 500;

/// The remembered verdicts, and the keys of the servers at hand.
#[derive(Clone)]
pub(crate) struct Verdicts {
    file: PathBuf,
    /// By the server's name.
    keys: Arc<Mutex<BTreeMap<String, String>>>,
    /// Whose backend it is.
    backends: BTreeMap<BackendId, String>,
}

impl Verdicts {
    pub(crate) fn new<'a>(state_folder: &Path, servers: impl IntoIterator<Item = &'a ServerConfig>) -> Self {
        let keys = Arc::default();
        let verdicts = Self { file: state_folder.join("framings.json"), keys, backends: BTreeMap::new() };
        servers.into_iter().for_each(|server| verdicts.learn_of(server));
        verdicts
    }

    /// A server that was not there before, or is another now.
    pub(crate) fn learn_of(&self, server: &ServerConfig) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.insert(server.name.clone(), key(server));
    }

    /// What earlier starts have shown.
    pub(crate) fn remembered(&self) -> Remembered {
        Remembered(self.read())
    }

    pub(crate) fn hear(&mut self, fact: &Fact) {
        if let Fact::Starting { backend, server, .. } = fact {
            self.backends.insert(*backend, server.clone());
        }
        let word = match fact {
            Fact::FramingLearnt { framing, .. } => Some(framing.name()),
            // Many clients give up before the second try: so the next start begins with it.
            Fact::FramingDoubted { framing: Framing::Newline, .. } => Some(DOUBT),
            Fact::FramingDoubted { framing: Framing::ContentLength, .. } => None,
            _ => return,
        };
        let server = fact.backend().and_then(|backend| self.backends.get(&backend));
        let key = |server| self.keys.lock().unwrap_or_else(PoisonError::into_inner).get(server).cloned();
        let Some(key) = server.and_then(key) else { return };
        let mut verdicts = self.read();
        if verdicts.len() >= MOST {
            verdicts.clear();
        }
        match word {
            Some(word) => verdicts.insert(key, word.into()),
            None => verdicts.remove(&key),
        };
        // Not being able to remember costs the next start some seconds, and nothing else.
        let _ = self.write(&verdicts);
    }

    fn read(&self) -> Map<String, Value> {
        fs::read(&self.file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn write(&self, verdicts: &Map<String, Value>) -> std::io::Result<()> {
        if let Some(folder) = self.file.parent() {
            os::create_private_dir(folder)?;
        }
        let draft = self.file.with_extension(format!("json.{}", std::process::id()));
        fs::write(&draft, serde_json::to_vec_pretty(verdicts)?)?;
        fs::rename(&draft, &self.file)
    }
}

/// What was known at one time, of any number of servers.
pub(crate) struct Remembered(Map<String, Value>);

impl Remembered {
    /// How to begin.
    pub(crate) fn choice(&self, server: &ServerConfig) -> FramingChoice {
        let word = self.0.get(&key(server)).and_then(Value::as_str).unwrap_or_default();
        if word == DOUBT {
            return FramingChoice::Doubt;
        }
        let known =
            [Framing::Newline, Framing::ContentLength].into_iter().find(|framing| word == framing.name());
        known.map_or(FramingChoice::Try, FramingChoice::Fixed)
    }
}

fn key(server: &ServerConfig) -> String {
    let mut hash = Sha256::new();
    for word in [&server.command].into_iter().chain(&server.args) {
        hash.update(word.len().to_le_bytes());
        hash.update(word.as_bytes());
    }
    hex(&hash.finalize()[..16])
}

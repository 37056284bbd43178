//! Which framing a server turned out to speak, remembered between runs: the second start need not find out
//! again. Keyed by the launch as it is written in the config.

use crate::config::{ServerConfig, os};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use switchboard_core::Fact;
use switchboard_protocol::Framing;

/// More servers than anyone has; beyond it the memory starts anew.
const MOST: usize = 500;

/// The remembered verdicts, and the key of the server at hand.
pub(crate) struct Verdicts {
    file: PathBuf,
    key: String,
}

impl Verdicts {
    pub(crate) fn new(state_folder: &Path, server: &ServerConfig) -> Self {
        let mut hash = Sha256::new();
        for word in [&server.command].into_iter().chain(&server.args) {
            hash.update(word.len().to_le_bytes());
            hash.update(word.as_bytes());
        }
        let key = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Self { file: state_folder.join("framings.json"), key }
    }

    pub(crate) fn known(&self) -> Option<Framing> {
        let word = self.read().remove(&self.key)?;
        [Framing::Newline, Framing::ContentLength].into_iter().find(|framing| word == framing.name())
    }

    pub(crate) fn hear(&mut self, fact: &Fact) {
        let Fact::FramingLearnt { framing, .. } = fact else { return };
        let mut verdicts = self.read();
        if verdicts.len() >= MOST {
            verdicts.clear();
        }
        verdicts.insert(self.key.clone(), framing.name().into());
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

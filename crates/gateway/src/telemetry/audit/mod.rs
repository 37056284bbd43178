//! The audit: a JSON line for each call of an audited client, and for each refusal. Unlike log lines, these are
//! neither summed up nor dropped under a flood: they have a queue of their own, and what does not fit into it is
//! counted in a line. Must not know how the log is written.
//!
//! # Layout
//! - `queue`: records that wait to be written.
//! - `line`: a record as JSON.
//! - `file`: the file, with its old files.

mod queue;
mod line;
mod file;

pub(super) use queue::{AuditQueue, Record};

use crate::config::expand::{self, ExpandError};
use crate::config::{AuditClients, AuditConfig, Lookup};
use crate::secrets;
use file::AuditFile;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const FILE_NAME: &str = "audit.jsonl";

/// File of the audit, and when it is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditOptions {
    /// Whether anything is recorded at all.
    pub is_on: bool,
    /// `None` is `audit.jsonl` in the log folder.
    pub file: Option<PathBuf>,
    /// Size at which a new file begins.
    pub max_bytes: u64,
    /// Old files that are kept.
    pub keep: usize,
}

impl AuditOptions {
    /// Options of a config. A relative path starts at the config file's folder.
    pub fn of(
        config: &AuditConfig,
        config_file: Option<&Path>,
        vars: Lookup<'_>,
    ) -> Result<Self, ExpandError> {
        let file =
            config_file.map(|config_file| expand::audit_file(config, config_file, vars)).transpose()?;
        let is_on = config.clients != AuditClients::None;
        Ok(Self { is_on, file: file.flatten(), max_bytes: config.max_bytes as u64, keep: config.keep })
    }

    /// Path of the file.
    pub fn path(&self, log_folder: &Path) -> PathBuf {
        self.file.clone().unwrap_or_else(|| log_folder.join(FILE_NAME))
    }
}

/// State of the audit, for `status`.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct AuditState {
    pub(crate) file: PathBuf,
    /// Lines that were lost since the start.
    pub(crate) lost: u64,
    /// Reason why the file cannot be written.
    pub(crate) error: Option<String>,
}

/// A change that is worth a line in the log.
pub(super) enum AuditTrouble {
    Began(String),
    /// With the number of lines that were lost meanwhile.
    Over(u64),
}

/// The thread's side of the audit.
pub(super) struct Audit {
    file: AuditFile,
    state: AuditState,
    /// Lines that were lost since the last one was written.
    untold: u64,
}

impl Audit {
    pub(super) fn open(options: &AuditOptions, log_folder: &Path) -> Self {
        let file = AuditFile::new(options, log_folder);
        let state = AuditState { file: file.path().to_owned(), ..AuditState::default() };
        Self { file, state, untold: 0 }
    }

    /// Writes to another file, or with other limits, from now on.
    pub(super) fn change(&mut self, options: &AuditOptions, log_folder: &Path) {
        self.file = AuditFile::new(options, log_folder);
        self.state = AuditState { file: self.file.path().to_owned(), lost: self.state.lost, error: None };
    }

    pub(super) fn state(&self) -> &AuditState {
        &self.state
    }

    /// Writes records; `dropped` further ones did not fit into the queue.
    pub(super) fn write(&mut self, records: Vec<Record>, dropped: u64) -> Option<AuditTrouble> {
        self.lose(dropped);
        if records.is_empty() && self.untold == 0 {
            return None;
        }
        let secrets = secrets::known();
        let mut lines: Vec<String> = records.iter().filter_map(|record| line::of(record, &secrets)).collect();
        let own = usize::from(self.untold > 0);
        if self.untold > 0 {
            lines.insert(0, line::lost(SystemTime::now(), self.untold));
        }
        let before = self.untold;
        match self.file.write(&lines) {
            Ok(()) => {
                self.untold = 0;
                self.state.error.take().map(|_| AuditTrouble::Over(before))
            }
            Err((error, written)) => {
                if written > 0 {
                    // The line about lost ones was the first.
                    self.untold = 0;
                }
                self.lose((lines.len() - written.max(own)) as u64);
                let is_new = self.state.error.is_none();
                self.state.error = Some(error.to_string());
                is_new.then(|| AuditTrouble::Began(error.to_string()))
            }
        }
    }

    fn lose(&mut self, lines: u64) {
        self.untold += lines;
        self.state.lost += lines;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("switchboard-audit-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    fn record() -> Record {
        Record::Event(Box::new(queue::AuditEvent::new(SystemTime::now(), "refused")))
    }

    fn lines(path: &Path) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn lost_lines_are_counted_in_a_line() {
        let folder = folder("lost");
        let options = AuditOptions { is_on: true, file: None, max_bytes: 1 << 20, keep: 2 };
        let mut audit = Audit::open(&options, &folder);
        assert!(audit.write(vec![record()], 3).is_none());
        let lines = lines(&folder.join(FILE_NAME));
        assert_eq!((&lines[0]["event"], &lines[0]["lines"]), (&"lost".into(), &3.into()), "{lines:?}");
        assert_eq!((lines.len(), audit.state().lost), (2, 3));
        fs::remove_dir_all(&folder).unwrap();
    }

    /// A folder in the place of the file stands for a disk that cannot be written.
    #[test]
    fn failure_is_told_once_and_made_up_for() {
        let folder = folder("failure");
        let options = AuditOptions { is_on: true, file: None, max_bytes: 1 << 20, keep: 2 };
        fs::create_dir_all(folder.join(FILE_NAME)).unwrap();
        let mut audit = Audit::open(&options, &folder);
        assert!(matches!(audit.write(vec![record(), record()], 0), Some(AuditTrouble::Began(_))));
        assert!(audit.write(vec![record()], 0).is_none(), "told already");
        assert!(audit.state().error.is_some());
        fs::remove_dir(folder.join(FILE_NAME)).unwrap();
        assert!(matches!(audit.write(vec![record()], 0), Some(AuditTrouble::Over(3))));
        let lines = lines(&folder.join(FILE_NAME));
        assert_eq!((&lines[0]["event"], &lines[0]["lines"]), (&"lost".into(), &3.into()), "{lines:?}");
        assert_eq!((lines.len(), audit.state().lost, &audit.state().error), (2, 3, &None));
        fs::remove_dir_all(&folder).unwrap();
    }
}

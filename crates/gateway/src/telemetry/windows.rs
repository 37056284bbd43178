//! Logs of the daemon's windows. A window with log flags, or with variables for them, has its own log:
//! lines about its messages go there instead of the daemon's log. Lines about servers go to the daemon's
//! log and to the windows' own files.

use super::audit::AuditTrouble;
use super::log::Log;
use super::{Crowd, LogOptions};
use crate::config::{LogFormat, LogLevel};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use switchboard_core::redact::Secrets;
use switchboard_core::{ClientId, Fact};

/// Log settings of a window; missing ones are the daemon's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowLog {
    pub level: Option<LogLevel>,
    pub format: Option<LogFormat>,
    /// An absolute path.
    pub file: Option<PathBuf>,
    pub bodies: bool,
}

impl WindowLog {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    fn over(&self, daemon: &LogOptions) -> LogOptions {
        LogOptions {
            level: self.level.unwrap_or(daemon.level),
            format: self.format.unwrap_or(daemon.format),
            file: self.file.clone().or_else(|| daemon.file.clone()),
            bodies: self.bodies,
            ..daemon.clone()
        }
    }
}

/// The daemon's log, and those of its windows.
pub(super) struct Logs {
    options: LogOptions,
    main: Log,
    windows: BTreeMap<ClientId, Window>,
}

struct Window {
    log: Log,
    has_own_file: bool,
}

impl Logs {
    pub(super) fn open(options: LogOptions) -> Self {
        Self { main: Log::open(options.clone()), options, windows: BTreeMap::new() }
    }

    pub(super) fn open_window(&mut self, client: ClientId, wanted: &WindowLog) {
        let mut log = Log::open(wanted.over(&self.options));
        // A window that opens later must still name the backends that run already.
        log.know_backends_of(&self.main);
        self.windows.insert(client, Window { log, has_own_file: wanted.file.is_some() });
    }

    pub(super) fn close_window(&mut self, client: ClientId) {
        if let Some(mut window) = self.windows.remove(&client) {
            window.log.flush(0);
        }
    }

    pub(super) fn fact(&mut self, time: SystemTime, fact: &Fact) {
        if let Some(window) = fact.client().and_then(|client| self.windows.get_mut(&client)) {
            return window.log.fact(time, fact);
        }
        self.main.fact(time, fact);
        for window in self.windows.values_mut().filter(|_| fact.client().is_none()) {
            if window.has_own_file {
                window.log.fact(time, fact);
            } else {
                // Without a file of its own, the window shares the daemon's file,
                // which has this line already.
                window.log.know(fact);
            }
        }
    }

    pub(super) fn crowd(&mut self, time: SystemTime, crowd: &Crowd) {
        self.main.crowd(time, crowd);
    }

    pub(super) fn bad(&mut self, time: SystemTime, messages: u64) {
        self.main.bad(time, messages);
    }

    /// Logs a body for `window`, or into the daemon's log.
    pub(super) fn body(&mut self, time: SystemTime, window: Option<ClientId>, from: &str, text: &[u8]) {
        let window = window.and_then(|client| self.windows.get_mut(&client));
        window.map_or(&mut self.main, |window| &mut window.log).body(time, from, text);
    }

    pub(super) fn set_secrets(&mut self, secrets: &Secrets) {
        self.main.set_secrets(secrets);
        self.windows.values_mut().for_each(|window| window.log.set_secrets(secrets));
    }

    pub(super) fn audit(&mut self, time: SystemTime, trouble: &AuditTrouble, file: &Path) {
        self.main.audit(time, trouble, file);
    }

    pub(super) fn stderr(&mut self, time: SystemTime, server: &str, line: &str) {
        self.main.stderr(time, server, line);
    }

    /// Writes the collected lines.
    pub(super) fn flush(&mut self, dropped: u64) {
        self.main.flush(dropped);
        // Dropped lines are reported once, in the daemon's log.
        self.windows.values_mut().for_each(|window| window.log.flush(0));
    }
}

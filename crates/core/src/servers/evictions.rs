//! Backends that displace each other: one is stopped because a limit is reached, and is needed again soon
//! after. Must not know how a backend is stopped or started.

use crate::backends::BackendKey;
use crate::environment::Environment;
use crate::moment::Moment;
use serde::Serialize;
use std::collections::VecDeque;
use std::time::Duration;

/// A restart within this time after an eviction means that the eviction came too early.
const EARLY_EVICTION_WINDOW: Duration = Duration::from_secs(2 * 60);

/// Time for which such a restart counts, and the minimum time between two warnings.
const RESTART_COUNT_WINDOW: Duration = Duration::from_secs(10 * 60);

/// Limit on stored evictions and restarts per server.
const MAX_REMEMBERED: usize = 256;

/// A limit on running backends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// `maxBackends` of the server.
    Server(usize),
    /// `pool.maxBackends`.
    Pool(usize),
    /// `pool.memoryLimit`, in bytes.
    Memory(u64),
}

impl Limit {
    /// The config key that raises it.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Server(_) => "maxBackends",
            Self::Pool(_) => "pool.maxBackends",
            Self::Memory(_) => "pool.memoryLimit",
        }
    }

    /// Advice: the setting and its value, with the server that it belongs to.
    pub fn cure(self, server: &str) -> String {
        match self {
            Self::Server(most) => format!("raise `maxBackends` of the server `{server}`, now {most}"),
            Self::Pool(most) => format!("raise `pool.maxBackends`, now {most}"),
            Self::Memory(bytes) => format!("raise `pool.memoryLimit`, now {} MiB", bytes >> 20),
        }
    }
}

/// How often backends of a server were stopped to make room and started again soon after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Crowding {
    pub times: usize,
    /// The time span in which `times` is counted.
    pub within_seconds: u64,
    /// The config key to change.
    pub setting: &'static str,
    pub message: String,
    pub hint: String,
}

impl Crowding {
    fn new(server: &str, limit: Limit, times: usize) -> Self {
        let within = RESTART_COUNT_WINDOW.as_secs() / 60;
        let often = if times == 1 { "once".to_owned() } else { format!("{times} times") };
        Self {
            times,
            within_seconds: RESTART_COUNT_WINDOW.as_secs(),
            setting: limit.setting(),
            message: format!(
                "stopped to make room and started again soon after, {often} in the last {within} minutes"
            ),
            hint: limit.cure(server),
        }
    }
}

/// Identity of a backend across restarts: its key and its variables.
pub(crate) type BackendIdentity = (BackendKey, Environment);

/// Evictions of a server's backends, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Evictions {
    evicted: VecDeque<(Moment, BackendIdentity, Limit)>,
    /// Restarts of backends that were evicted shortly before.
    returned: VecDeque<(Moment, Limit)>,
    warned_at: Option<Moment>,
}

impl Evictions {
    pub(crate) fn record(&mut self, now: Moment, backend: BackendIdentity, limit: Limit) {
        // Only the latest eviction of a backend counts.
        self.evicted.retain(|(at, other, _)| now.since(*at) <= EARLY_EVICTION_WINDOW && *other != backend);
        if self.evicted.len() == MAX_REMEMBERED {
            self.evicted.pop_front();
        }
        self.evicted.push_back((now, backend, limit));
    }

    /// Records a start; `true` if the owner should be warned.
    pub(crate) fn started(&mut self, now: Moment, backend: &BackendIdentity) -> bool {
        let Some(at) = self.evicted.iter().position(|(_, evicted, _)| evicted == backend) else {
            return false;
        };
        let Some((evicted_at, _, limit)) = self.evicted.remove(at) else { return false };
        if now.since(evicted_at) > EARLY_EVICTION_WINDOW {
            return false;
        }
        self.returned.retain(|(at, _)| now.since(*at) <= RESTART_COUNT_WINDOW);
        if self.returned.len() == MAX_REMEMBERED {
            self.returned.pop_front();
        }
        self.returned.push_back((now, limit));
        let is_due = self.warned_at.is_none_or(|at| now.since(at) > RESTART_COUNT_WINDOW);
        if is_due {
            self.warned_at = Some(now);
        }
        is_due
    }

    /// Recent displacement of backends; `None` if there was none.
    pub(crate) fn crowding(&self, now: Moment, server: &str) -> Option<Crowding> {
        let recent = self.returned.iter().filter(|(at, _)| now.since(*at) <= RESTART_COUNT_WINDOW);
        let (_, limit) = recent.clone().next_back()?;
        Some(Crowding::new(server, *limit, recent.count()))
    }
}

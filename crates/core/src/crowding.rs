//! Backends that stop each other: one is stopped because a limit is reached, and is needed again soon after. Every start
//! costs its clients seconds, and one setting cures it. Must not know how a backend is stopped or started.

use crate::environment::Environment;
use crate::event::BackendId;
use crate::exchange::Core;
use crate::fact::Fact;
use crate::key::Key;
use crate::moment::Moment;
use serde::Serialize;
use std::collections::VecDeque;
use std::time::Duration;

/// A backend that is started again within this time was stopped too early.
const SOON: Duration = Duration::from_secs(2 * 60);

/// How long such a start is counted, and how long a warning is not repeated.
const RECENT: Duration = Duration::from_secs(10 * 60);

/// How many evictions and starts of a server are remembered.
const MAX_REMEMBERED: usize = 256;

/// A limit on how many backends run.
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
    /// The key of the config that raises it.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Server(_) => "maxBackends",
            Self::Pool(_) => "pool.maxBackends",
            Self::Memory(_) => "pool.memoryLimit",
        }
    }

    /// The setting and its value, with the server that it belongs to.
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
    /// Length of the time that `times` is counted in.
    pub within_seconds: u64,
    /// The key of the config that cures it.
    pub setting: &'static str,
    pub message: String,
    pub hint: String,
}

impl Crowding {
    fn new(server: &str, limit: Limit, times: usize) -> Self {
        let within = RECENT.as_secs() / 60;
        let often = if times == 1 { "once".to_owned() } else { format!("{times} times") };
        Self {
            times,
            within_seconds: RECENT.as_secs(),
            setting: limit.setting(),
            message: format!(
                "stopped to make room and started again soon after, {often} in the last {within} minutes"
            ),
            hint: limit.cure(server),
        }
    }
}

/// What makes a backend the same one again: its key and its variables.
type Place = (Key, Environment);

/// Evictions of a server's backends, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Evictions {
    evicted: VecDeque<(Moment, Place, Limit)>,
    /// Starts of backends that were evicted shortly before.
    returned: VecDeque<(Moment, Limit)>,
    warned_at: Option<Moment>,
}

impl Evictions {
    fn note(&mut self, now: Moment, place: Place, limit: Limit) {
        self.evicted.retain(|(at, other, _)| now.since(*at) <= SOON && *other != place);
        if self.evicted.len() == MAX_REMEMBERED {
            self.evicted.pop_front();
        }
        self.evicted.push_back((now, place, limit));
    }

    /// A backend starts. `true` if its server's owner should be warned.
    fn started(&mut self, now: Moment, place: &Place) -> bool {
        let Some(at) = self.evicted.iter().position(|(_, evicted, _)| evicted == place) else { return false };
        let Some((evicted_at, _, limit)) = self.evicted.remove(at) else { return false };
        if now.since(evicted_at) > SOON {
            return false;
        }
        self.returned.retain(|(at, _)| now.since(*at) <= RECENT);
        if self.returned.len() == MAX_REMEMBERED {
            self.returned.pop_front();
        }
        self.returned.push_back((now, limit));
        let is_due = self.warned_at.is_none_or(|at| now.since(at) > RECENT);
        if is_due {
            self.warned_at = Some(now);
        }
        is_due
    }

    /// `None` if it has not happened recently.
    pub(crate) fn crowding(&self, now: Moment, server: &str) -> Option<Crowding> {
        let recent = self.returned.iter().filter(|(at, _)| now.since(*at) <= RECENT);
        let (_, limit) = recent.clone().next_back()?;
        Some(Crowding::new(server, *limit, recent.count()))
    }
}

impl Core {
    /// The backend is stopped because this limit is reached, and not because nobody needs it.
    pub(crate) fn note_eviction(&mut self, backend: BackendId, limit: Limit) {
        let Some(b) = self.backends.get(&backend) else { return };
        if let Some(server) = self.servers.get_mut(b.server.0 as usize) {
            let place = (b.key.clone(), b.environment.without_sources());
            server.evictions.note(self.now, place, limit);
        }
    }

    /// The backend is started: too soon after an eviction, its owner is warned.
    pub(crate) fn note_return(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get(&backend) else { return };
        let Some(server) = self.servers.get_mut(b.server.0 as usize) else { return };
        if !server.evictions.started(self.now, &(b.key.clone(), b.environment.without_sources())) {
            return;
        }
        if let Some(crowding) = server.evictions.crowding(self.now, &server.settings.name) {
            self.report(Fact::Crowded { backend, crowding });
        }
    }
}

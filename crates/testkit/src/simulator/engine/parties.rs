//! Clients and processes, as far as all scenarios share them: presence and time.

use serde_json::Value;
use std::collections::BTreeSet;
use switchboard_core::{ClientId, Launch, Moment};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Here,
    /// Sends nothing more, but reads.
    Ended,
    Lost,
}

/// A client, with the scenario's own part.
#[derive(Debug)]
pub(crate) struct Client<C> {
    pub(crate) id: ClientId,
    pub(crate) presence: Presence,
    /// Its server; `None` for all servers.
    pub(crate) server: Option<usize>,
    pub(crate) environment: u32,
    /// Whether it has sent `initialized`.
    pub(crate) is_confirmed: bool,
    pub(crate) next_id: usize,
    /// Log level, by rank.
    pub(crate) level: Option<usize>,
    /// Unanswered questions and their processes; `None` for our question for its roots.
    pub(crate) questions: Vec<(Value, Option<usize>)>,
    pub(crate) own: C,
}

impl<C> Client<C> {
    pub(crate) fn is_there(&self) -> bool {
        self.presence != Presence::Lost
    }

    /// Whether it is a client of all servers.
    pub(crate) fn is_aggregate(&self) -> bool {
        self.server.is_none()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Ordered, and not running yet.
    Making,
    Alive,
    Gone,
}

/// A process of a backend, with the scenario's own part.
#[derive(Debug)]
pub(crate) struct Process<P> {
    pub(crate) launch: Launch,
    /// Number of its server in the config.
    pub(crate) server: usize,
    pub(crate) root: Option<String>,
    pub(crate) environment: u32,
    pub(crate) phase: Phase,
    /// Whether it was told to end.
    pub(crate) is_stopping: bool,
    /// Ids of the requests that it got.
    pub(crate) given: BTreeSet<u64>,
    /// Number of handshakes sent to it, their number at the last `initialized`, whether one was answered well,
    /// and whether `initialized` followed.
    pub(crate) handshakes: usize,
    pub(crate) confirmed_at: usize,
    pub(crate) is_greeted: bool,
    pub(crate) is_confirmed: bool,
    /// Time of its last message.
    pub(crate) last_word: Moment,
    pub(crate) own: P,
}

impl<P> Process<P> {
    /// Whether it exists, or is being started.
    pub(crate) fn is_alive(&self) -> bool {
        self.phase != Phase::Gone
    }

    pub(crate) fn is_staying(&self) -> bool {
        self.is_alive() && !self.is_stopping
    }
}

/// Makes the scenario's own part of a thing directly accessible.
macro_rules! derefs_to_own {
    ($thing:ident) => {
        impl<T> std::ops::Deref for $thing<T> {
            type Target = T;

            fn deref(&self) -> &T {
                &self.own
            }
        }

        impl<T> std::ops::DerefMut for $thing<T> {
            fn deref_mut(&mut self) -> &mut T {
                &mut self.own
            }
        }
    };
}
pub(super) use derefs_to_own;

derefs_to_own!(Client);
derefs_to_own!(Process);

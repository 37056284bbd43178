//! The state of the core as a whole. The transitions are in `transitions`.
//!
//! # Layout
//! - `ending`: how near the end of the program is.
//! - `followups`: work that an event leaves for its end.

mod ending;
mod followups;

pub(crate) use ending::Ending;
pub(crate) use followups::{Followup, Followups};

use crate::aggregate::Views;
use crate::backends::Backend;
use crate::clients::Clients;
use crate::event::Action;
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId, Peer};
use crate::moment::Moment;
use crate::pending::{Asked, ClosedTokens, Merge, Pending, QuestionTokens, Table};
use crate::servers::Server;
use crate::settings::{ServerSettings, Settings};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use switchboard_protocol::ErrorAnswer;

/// Asked with an event and the time, it answers with actions. It cannot block and cannot fail.
#[derive(Debug)]
pub struct Core {
    pub(crate) settings: Settings,
    /// The answer to every request, if there is nothing to serve.
    pub(crate) refusal: Option<ErrorAnswer>,
    pub(crate) now: Moment,
    pub(crate) clients: Clients,
    pub(crate) backends: BTreeMap<BackendId, Backend>,
    pub(crate) next_backend: u32,
    pub(crate) next_delegate: u32,
    /// How several servers look as one, for all who see the same.
    pub(crate) views: Views,
    pub(crate) servers: Vec<Server>,
    /// For what concerns no server.
    pub(crate) nobody: Arc<ServerSettings>,
    /// Backends that wait for room.
    pub(crate) line: VecDeque<BackendId>,
    /// A server was started without a client at least once; most never are.
    pub(crate) has_standbys: bool,
    /// Since when nobody has needed us.
    pub(crate) unused_since: Option<Moment>,
    /// All backends together hold more memory than they may, and did so at the last look.
    pub(crate) is_heavy: bool,
    pub(crate) merging: Vec<Merge>,
    pub(crate) pending: Table<Pending>,
    pub(crate) asked: Table<Asked>,
    pub(crate) closed_tokens: ClosedTokens,
    pub(crate) question_tokens: QuestionTokens,
    pub(crate) ending: Ending,
    /// No deadline is earlier than this. It may be too early, never too late: see `deadlines`.
    pub(crate) wake: Option<Moment>,
    pub(crate) dice: u64,
    pub(crate) followups: Followups,
    pub(crate) actions: Vec<Action>,
}

impl Core {
    pub fn new(mut settings: Settings) -> Self {
        let dice = settings.seed | 1;
        let first_question = settings.first_question;
        let servers = std::mem::take(&mut settings.servers).into_iter();
        let servers = servers.map(|server| Server::new(server, Moment::default())).collect();
        Self {
            settings,
            refusal: None,
            now: Moment::default(),
            clients: Clients::default(),
            backends: BTreeMap::new(),
            next_backend: 1,
            next_delegate: ClientId::FIRST_DELEGATE,
            views: Views::new(dice),
            servers,
            nobody: Arc::new(ServerSettings::new("?")),
            line: VecDeque::new(),
            has_standbys: false,
            unused_since: None,
            is_heavy: false,
            merging: Vec::new(),
            pending: Table::new(),
            asked: Table::starting_at(first_question),
            closed_tokens: ClosedTokens::default(),
            question_tokens: QuestionTokens::default(),
            ending: Ending::Running,
            wake: None,
            dice,
            followups: Followups::default(),
            actions: Vec::new(),
        }
    }

    /// One that has nothing to serve, and answers every request with this error.
    pub fn refusing(settings: Settings, error: ErrorAnswer) -> Self {
        Self { refusal: Some(error), ..Self::new(settings) }
    }

    /// Whether [`crate::Fact::Routed`] is reported from now on.
    pub fn report_routes(&mut self, wanted: bool) {
        self.settings.report_routes = wanted;
    }

    /// When [`Event::Tick`] is wanted at the latest.
    pub fn wake(&self) -> Option<Moment> {
        self.wake
    }

    /// Whether this peer leaves so much unread that nothing more should be read from it.
    pub fn is_clogged(&self, peer: Peer) -> bool {
        // Twice: what answers and requests may fill, and as much again for errors.
        match peer {
            Peer::Client(client) => self
                .clients
                .get(&client)
                .is_some_and(|c| c.has_more_queued_than(2 * self.settings.limits.client_bytes)),
            Peer::Backend(launch) => self
                .backends
                .get(&launch.backend)
                .is_some_and(|b| b.is_current(launch) && b.queued > 2 * self.settings.limits.backend_bytes),
        }
    }

    /// New clients are served.
    pub fn is_serving(&self) -> bool {
        self.is_running()
    }

    /// We are a daemon that ends: what is asked now is for the next one.
    pub fn is_succeeded(&self) -> bool {
        self.lives_on() && !self.is_running()
    }

    /// Requests that wait for an answer, in both directions.
    pub fn unanswered(&self) -> usize {
        self.pending.len() + self.asked.len()
    }

    pub(crate) fn report(&mut self, fact: Fact) {
        self.actions.push(Action::Report(fact));
    }

    /// What is known of a backend's server. One that is not as the server is now says nothing about it.
    pub(crate) fn origin(&mut self, backend: BackendId) -> Option<&mut Server> {
        let server = self.backends.get(&backend).filter(|b| !b.is_retired())?.server;
        self.servers.get_mut(server.0 as usize)
    }

    /// The settings of a backend's server, as they were when it was made.
    pub(crate) fn settings_of(&self, backend: BackendId) -> Arc<ServerSettings> {
        self.backends.get(&backend).map_or_else(|| self.nobody.clone(), |b| b.settings.clone())
    }

    pub(crate) fn server_name(&self, backend: BackendId) -> &str {
        self.backends.get(&backend).map_or("?", |b| &b.settings.name)
    }

    /// A number that differs from run to run with the seed, and not otherwise.
    pub(crate) fn roll(&mut self) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice
    }
}

//! The state of the core as a whole. The transitions are in `transitions`.
//!
//! # Layout
//! - `clock`: the time of the event at hand, and the next deadline.
//! - `ending`: how near the end of the program is.
//! - `followups`: work that an event leaves for its end.
//! - `numbers`: ids for new backends and delegates.
//! - `random`: numbers from the seed.

mod clock;
mod ending;
mod followups;
mod numbers;
mod random;

use clock::Clock;
use numbers::Numbers;
use random::Random;

pub(crate) use ending::Ending;
pub(crate) use followups::{Followup, Followups};

use crate::aggregate::Views;
use crate::backends::Backends;
use crate::clients::Clients;
use crate::event::Action;
use crate::fact::Fact;
use crate::ids::{BackendId, Peer};
use crate::moment::Moment;
use crate::pending::{Merging, PendingRequests, Questions};
use crate::servers::{Server, Servers};
use crate::settings::{ServerSettings, Settings};
use std::sync::Arc;
use switchboard_protocol::ErrorAnswer;

/// The whole state. Takes an event and the time, and answers with actions; cannot block and cannot fail.
#[derive(Debug)]
pub struct Core {
    pub(crate) settings: Settings,
    /// The answer to every request, if there is nothing to serve.
    refusal: Option<ErrorAnswer>,
    pub(crate) clock: Clock,
    pub(crate) clients: Clients,
    pub(crate) backends: Backends,
    pub(crate) numbers: Numbers,
    /// Merged catalogues, shared by clients that see the same.
    pub(crate) views: Views,
    pub(crate) servers: Servers,
    /// Stands in where a client or a backend has no server.
    no_server: Arc<ServerSettings>,
    /// A server was started without a client at least once; most never are.
    has_standbys: bool,
    /// The moment at which the last client and the last process were gone.
    unused_since: Option<Moment>,
    /// All backends together held more memory than they may at the last look.
    is_over_memory: bool,
    pub(crate) merging: Merging,
    pub(crate) pending: PendingRequests,
    pub(crate) questions: Questions,
    pub(crate) ending: Ending,
    pub(crate) random: Random,
    pub(crate) followups: Followups,
    pub(crate) actions: Vec<Action>,
}

impl Core {
    pub fn new(mut settings: Settings) -> Self {
        let seed = settings.seed;
        let first_question = settings.first_question;
        let servers = Servers::new(std::mem::take(&mut settings.servers), Moment::default());
        Self {
            settings,
            refusal: None,
            clock: Clock::default(),
            clients: Clients::default(),
            backends: Backends::default(),
            numbers: Numbers::new(),
            views: Views::new(seed | 1),
            servers,
            no_server: Arc::new(ServerSettings::new("?")),
            has_standbys: false,
            unused_since: None,
            is_over_memory: false,
            merging: Merging::default(),
            pending: PendingRequests::new(),
            questions: Questions::starting_at(first_question),
            ending: Ending::Running,
            random: Random::new(seed),
            followups: Followups::default(),
            actions: Vec::new(),
        }
    }

    /// A core without servers, which answers every request with this error.
    pub fn refusing(settings: Settings, error: ErrorAnswer) -> Self {
        Self { refusal: Some(error), ..Self::new(settings) }
    }

    /// Whether [`crate::Fact::Routed`] is reported from now on.
    pub fn report_routes(&mut self, wanted: bool) {
        self.settings.report_routes = wanted;
    }

    /// When [`Event::Tick`](crate::Event::Tick) is wanted at the latest.
    pub fn wake(&self) -> Option<Moment> {
        self.clock.wake()
    }

    /// Whether this peer leaves so much unread that nothing more should be read from it.
    pub fn is_clogged(&self, peer: Peer) -> bool {
        // Twice: what answers and requests may fill, and as much again for errors.
        match peer {
            Peer::Client(client) => self
                .clients
                .get(&client)
                .is_some_and(|c| c.has_more_queued_than(2 * self.settings.limits.client_bytes)),
            Peer::Backend(launch) => self.backends.get(&launch.backend).is_some_and(|b| {
                b.is_current(launch) && b.outbox().has_more_than(2 * self.settings.limits.backend_bytes)
            }),
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
        self.pending.len() + self.questions.len()
    }

    /// Nothing has told the program to end yet.
    pub(crate) fn is_running(&self) -> bool {
        self.ending == Ending::Running
    }

    /// A daemon: goes on without clients.
    pub(crate) fn lives_on(&self) -> bool {
        self.settings.linger.is_some()
    }

    pub(crate) fn refusal(&self) -> Option<&ErrorAnswer> {
        self.refusal.as_ref()
    }

    pub(crate) fn has_standbys(&self) -> bool {
        self.has_standbys
    }

    pub(crate) fn note_standby(&mut self) {
        self.has_standbys = true;
    }

    pub(crate) fn unused_since(&self) -> Option<Moment> {
        self.unused_since
    }

    /// Returns whether the program becomes unused now.
    pub(crate) fn set_unused(&mut self, is_unused: bool) -> bool {
        let was_unused = self.unused_since.is_some();
        self.unused_since = is_unused.then(|| self.unused_since.unwrap_or(self.clock.now()));
        is_unused && !was_unused
    }

    /// Returns whether the last look had the same result.
    pub(crate) fn set_over_memory(&mut self, is_over: bool) -> bool {
        std::mem::replace(&mut self.is_over_memory, is_over) == is_over
    }

    pub(crate) fn no_server(&self) -> Arc<ServerSettings> {
        self.no_server.clone()
    }

    pub(crate) fn report(&mut self, fact: Fact) {
        self.actions.push(Action::Report(fact));
    }

    /// The server of a backend, unless the backend is retired: then it says nothing about its server.
    pub(crate) fn origin(&mut self, backend: BackendId) -> Option<&mut Server> {
        let server = self.backends.get(&backend).filter(|b| !b.is_retired())?.server();
        self.servers.get_mut(server)
    }

    /// The settings of a backend's server, as they were when it was made.
    pub(crate) fn settings_of(&self, backend: BackendId) -> Arc<ServerSettings> {
        self.backends.get(&backend).map_or_else(|| self.no_server(), |b| b.settings().clone())
    }

    pub(crate) fn server_name(&self, backend: BackendId) -> &str {
        self.backends.get(&backend).map_or("?", |b| &b.settings().name)
    }
}

//! The whole state of the core. Must not know the transitions, which are in `transitions`.
//!
//! # Layout
//! - `clock`: the time of the current event, and the next deadline.
//! - `ending`: the progress of a shutdown.
//! - `followups`: work deferred to the end of an event.
//! - `numbers`: ids for new backends and delegates.
//! - `random`: pseudo-random numbers from the seed.
//! - `queries`: questions that involve several parts of the state.

mod clock;
mod ending;
mod followups;
mod numbers;
mod random;
mod queries;

use clock::Clock;
use numbers::Numbers;
use random::Random;

pub(crate) use ending::Ending;
pub(crate) use followups::{Followup, Followups};

use crate::access::{CallLimiter, Refusals};
use crate::aggregate::Views;
use crate::backends::Backends;
use crate::catalogue::Narrowings;
use crate::clients::Clients;
use crate::event::Action;
use crate::fact::Fact;
use crate::ids::{BackendId, Launch, Peer};
use crate::moment::Moment;
use crate::pending::{EndedCalls, EraWaits, ListenWaits, Merging, PausedCalls, PendingRequests, Questions};
use crate::redact::Secrets;
use crate::servers::{Server, Servers};
use crate::settings::{ServerSettings, Settings};
use crate::translation::Step;
use std::collections::VecDeque;
use std::sync::Arc;
use switchboard_protocol::ErrorAnswer;

/// The whole state. Takes an event and the time, and returns actions; cannot block and cannot fail.
#[derive(Debug)]
pub struct Core {
    pub(crate) settings: Settings,
    /// The answer to every request, if there is no server.
    refusal: Option<ErrorAnswer>,
    pub(crate) clock: Clock,
    pub(crate) clients: Clients,
    pub(crate) backends: Backends,
    pub(crate) numbers: Numbers,
    /// Merged catalogues, shared by clients that see the same.
    pub(crate) views: Views,
    /// Namings of servers for clients with restricted rights.
    pub(crate) narrowings: Narrowings,
    pub(crate) servers: Servers,
    /// Placeholder where a client or backend has no server.
    no_server: Arc<ServerSettings>,
    /// Whether a server was ever started without a client; usually not.
    has_standbys: bool,
    /// Time at which the last client and the last process were gone.
    unused_since: Option<Moment>,
    /// Whether all backends together exceeded the memory limit at the last measurement.
    is_over_memory: bool,
    pub(crate) merging: Merging,
    pub(crate) pending: PendingRequests,
    pub(crate) questions: Questions,
    /// Calls of modern clients that wait for input.
    pub(crate) paused: PausedCalls,
    /// Calls of modern clients that a legacy server may still ask about.
    pub(crate) ended_calls: EndedCalls,
    /// Modern requests that wait for the eras of servers.
    pub(crate) era_waits: EraWaits,
    /// Subscriptions of modern clients that wait for the agreement of servers.
    pub(crate) listen_waits: ListenWaits,
    pub(crate) limiter: Box<dyn CallLimiter>,
    pub(crate) refusals: Refusals,
    pub(crate) ending: Ending,
    pub(crate) random: Random,
    pub(crate) followups: Followups,
    /// Messages that translators have made of others, oldest first.
    pub(crate) translated: VecDeque<(Launch, Step)>,
    pub(crate) actions: Vec<Action>,
}

impl Core {
    pub fn new(mut settings: Settings) -> Self {
        let seed = settings.seed;
        let first_question = settings.first_question;
        let paused = PausedCalls::new(settings.state_key.0);
        let limiter = settings.limiter.create();
        let servers = Servers::new(std::mem::take(&mut settings.servers), Moment::default());
        Self {
            settings,
            refusal: None,
            clock: Clock::default(),
            clients: Clients::default(),
            backends: Backends::default(),
            numbers: Numbers::new(),
            views: Views::new(seed | 1),
            narrowings: Narrowings::default(),
            servers,
            no_server: Arc::new(ServerSettings::new("?")),
            has_standbys: false,
            unused_since: None,
            is_over_memory: false,
            merging: Merging::default(),
            pending: PendingRequests::new(),
            questions: Questions::starting_at(first_question),
            paused,
            ended_calls: EndedCalls::default(),
            era_waits: EraWaits::default(),
            listen_waits: ListenWaits::default(),
            limiter,
            refusals: Refusals::default(),
            ending: Ending::Running,
            random: Random::new(seed),
            followups: Followups::default(),
            translated: VecDeque::new(),
            actions: Vec::new(),
        }
    }

    /// A core without servers, which answers every request with this error.
    pub fn refusing(settings: Settings, error: ErrorAnswer) -> Self {
        Self { refusal: Some(error), ..Self::new(settings) }
    }

    /// Enables or disables [`crate::Fact::Routed`].
    pub fn report_routes(&mut self, wanted: bool) {
        self.settings.report_routes = wanted;
    }

    /// Replaces the values to mask.
    pub fn set_secrets(&mut self, secrets: Secrets) {
        self.settings.secrets = secrets;
    }

    /// Latest time for the next [`Event::Tick`](crate::Event::Tick).
    pub fn wake(&self) -> Option<Moment> {
        self.clock.wake()
    }

    /// Whether this peer has so many unread bytes that nothing more should be read from it.
    pub fn is_clogged(&self, peer: Peer) -> bool {
        // Twice the limit: once for answers and requests, and as much again for errors.
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

    /// Whether new clients are served.
    pub fn is_serving(&self) -> bool {
        self.is_running()
    }

    /// Whether we are a daemon in shutdown: new requests are for the next one.
    pub fn is_succeeded(&self) -> bool {
        self.lives_on() && !self.is_running()
    }

    /// Number of unanswered requests, in both directions.
    pub fn unanswered(&self) -> usize {
        self.pending.len() + self.questions.len()
    }

    /// Whether no shutdown has begun.
    pub(crate) fn is_running(&self) -> bool {
        self.ending == Ending::Running
    }

    /// Whether this is a daemon, which continues without clients.
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

    /// Records whether the program is unused; returns whether it has just become so.
    pub(crate) fn set_unused(&mut self, is_unused: bool) -> bool {
        let was_unused = self.unused_since.is_some();
        // The first time counts, not the latest check.
        self.unused_since = is_unused.then(|| self.unused_since.unwrap_or(self.clock.now()));
        is_unused && !was_unused
    }

    /// Records the result of a measurement; returns whether it is the same as last time.
    pub(crate) fn set_over_memory(&mut self, is_over: bool) -> bool {
        std::mem::replace(&mut self.is_over_memory, is_over) == is_over
    }

    pub(crate) fn no_server(&self) -> Arc<ServerSettings> {
        self.no_server.clone()
    }

    pub(crate) fn report(&mut self, fact: Fact) {
        self.actions.push(Action::Report(fact));
    }

    /// The server of a backend, unless the backend is retired and no longer representative of it.
    pub(crate) fn origin(&mut self, backend: BackendId) -> Option<&mut Server> {
        let server = self.backends.get(&backend).filter(|b| !b.is_retired())?.server();
        self.servers.get_mut(server)
    }

    /// The settings of a backend's server, as of its creation.
    pub(crate) fn settings_of(&self, backend: BackendId) -> Arc<ServerSettings> {
        self.backends.get(&backend).map_or_else(|| self.no_server(), |b| b.settings().clone())
    }

    pub(crate) fn server_name(&self, backend: BackendId) -> &str {
        self.backends.get(&backend).map_or("?", |b| &b.settings().name)
    }
}

//! The core itself: its state, and the dispatch of events to the transitions in the files beside this one.

use crate::aggregate::{Views, delegate_numbers};
use crate::answers::Cause;
use crate::backend::{Backend, Manner};
use crate::batch::Batches;
use crate::catalogue::Offers;
use crate::client::{Client, Clients, Handshake, Presence, Role, Roots, Shared};
use crate::crowding::Evictions;
use crate::debounce::Merge;
use crate::drain::Ending;
use crate::environment::Environment;
use crate::event::{Action, BackendId, ClientId, Event, Peer, Principal, ServerId, Surroundings};
use crate::fact::Fact;
use crate::failure::Failure;
use crate::key::Declared;
use crate::moment::Moment;
use crate::pending::{Asked, Pending, Table};
use crate::progress::{ClosedTokens, QuestionTokens};
use crate::record::{Record, Retry};
use crate::roots::Known;
use crate::route::Route;
use crate::settings::{ServerSettings, Settings};
use crate::sharing::Insight;
use crate::status::LastStart;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use switchboard_protocol::{ErrorAnswer, Message};

/// What all backends of a server have in common.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) settings: Arc<ServerSettings>,
    /// How it frames its messages, as far as one of its backends has shown.
    pub(crate) manner: Manner,
    pub(crate) insight: Insight,
    /// The last answer to a handshake, of whichever backend.
    pub(crate) welcome: Option<Message>,
    /// Its lists as they were when it was asked last.
    pub(crate) offers: Offers,
    /// What its starts have shown, as it is stored.
    pub(crate) record: Record,
    /// It could not be asked for its lists, and is tried again.
    pub(crate) retry: Option<Retry>,
    /// Clients have been told that it cannot be had.
    pub(crate) is_told_missing: bool,
    pub(crate) last_start: LastStart,
    /// Why it failed last, if it has not worked since.
    pub(crate) failure: Option<Failure>,
    pub(crate) evictions: Evictions,
    /// Its owner has stopped it.
    pub(crate) is_held: bool,
    /// It is no longer in the config.
    pub(crate) is_gone: bool,
}

impl Server {
    pub(crate) fn new(settings: ServerSettings, now: Moment) -> Self {
        let manner = Manner::of(settings.framing);
        Self {
            offers: Offers::stored(&settings.offers),
            retry: Self::planned_retry(&settings.record, now),
            insight: Insight::of(&settings.record),
            record: settings.record.clone(),
            settings: Arc::new(settings),
            manner,
            welcome: None,
            is_told_missing: false,
            last_start: LastStart::Untried,
            failure: None,
            evictions: Evictions::default(),
            is_held: false,
            is_gone: false,
        }
    }
}

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
    /// Backends that were missed, and are to be tried again once they can be.
    pub(crate) start_again: Vec<BackendId>,
    /// How several servers look as one, for all who see the same.
    pub(crate) views: Views,
    pub(crate) servers: Vec<Server>,
    /// For what concerns no server.
    pub(crate) nobody: Arc<ServerSettings>,
    /// Backends that wait for room.
    pub(crate) line: VecDeque<BackendId>,
    /// Handshakes that came to nothing in this event, with their backends: others may follow.
    pub(crate) failed_greetings: Vec<(BackendId, ClientId)>,
    /// Clients of many servers that wait no longer for one of them, in this event.
    pub(crate) disappointed: Vec<ClientId>,
    /// Backends whose last client has left them: they end when they have nothing more to do for it, and why.
    pub(crate) left: Vec<(BackendId, &'static str)>,
    /// Some of the clients are gone, and not yet forgotten.
    pub(crate) has_lost: bool,
    /// Clients of servers whose settings have changed: they are to have other backends.
    pub(crate) moving: Vec<ClientId>,
    /// A server was started without a client at least once; most never are.
    pub(crate) has_standbys: bool,
    /// Something has happened that may concern servers which run without a client.
    pub(crate) standby_due: bool,
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
    /// Backends that can take one more of those that wait their turn.
    pub(crate) free: Vec<BackendId>,
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
            next_delegate: delegate_numbers(),
            start_again: Vec::new(),
            views: Views::new(dice),
            servers,
            nobody: Arc::new(ServerSettings::new("?")),
            line: VecDeque::new(),
            failed_greetings: Vec::new(),
            disappointed: Vec::new(),
            left: Vec::new(),
            has_lost: false,
            moving: Vec::new(),
            has_standbys: false,
            standby_due: false,
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
            free: Vec::new(),
            actions: Vec::new(),
        }
    }

    /// One that has nothing to serve, and answers every request with this error.
    pub fn refusing(settings: Settings, error: ErrorAnswer) -> Self {
        Self { refusal: Some(error), ..Self::new(settings) }
    }

    /// Appends to `actions` what is to be done because of `event`.
    pub fn handle(&mut self, now: Moment, event: Event, actions: &mut Vec<Action>) {
        self.now = self.now.max(now);
        std::mem::swap(&mut self.actions, actions);
        let is_tick = matches!(event, Event::Tick);
        self.standby_due |= is_tick;
        self.dispatch(event);
        self.settle();
        if is_tick {
            self.wake = self.next_deadline();
        }
        std::mem::swap(&mut self.actions, actions);
    }

    /// What follows from whatever has happened.
    pub(crate) fn settle(&mut self) {
        self.after_failed_greetings();
        self.after_misses();
        // Before turns are given: what waits at a process that its client must leave goes with the client.
        self.move_on();
        self.see_to_standbys();
        self.give_turns();
        self.start_missed();
        self.end_left();
        self.serve_line();
        self.let_clients_go();
        self.forget_lost();
        self.note_use();
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
            Peer::Client(client) => {
                self.clients.get(&client).is_some_and(|c| c.queued > 2 * self.settings.limits.client_bytes)
            }
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

    fn dispatch(&mut self, event: Event) {
        match event {
            Event::ClientConnected { client, server, surroundings } => {
                self.client_connected(client, server, surroundings);
            }
            Event::AggregateConnected { client, surroundings, environments, only } => {
                self.aggregate_connected(client, surroundings, environments, only);
            }
            Event::OfferRead { launch, round, offer } => self.offer_read(launch, round, offer),
            Event::FromClient { client, frame, places } => self.client_sent(client, frame, places),
            Event::RootsLookedUp { client, inquiry, roots } => self.roots_looked_up(client, inquiry, roots),
            Event::ClientTooLong { client, length, glimpses } => {
                self.client_too_long(client, length, &glimpses)
            }
            Event::ClientInputEnded { client } => self.client_input_ended(client),
            Event::ClientLost { client } => self.client_lost(client),
            Event::Spawned { launch, pid } => self.spawned(launch, pid),
            Event::SpawnFailed { launch, reason, hint } => {
                let fact = Fact::SpawnFailed { backend: launch.backend, reason: reason.clone() };
                self.start_failed(launch, fact, &Cause::Spawn { reason, hint });
            }
            Event::NotReached { launch, reason, hint, retryable, after } => {
                let fact = Fact::NotReached { backend: launch.backend, reason: reason.clone() };
                self.start_failed(launch, fact, &Cause::NotReached { reason, hint, retryable, after });
            }
            Event::FromBackend { launch, message } => self.backend_sent(launch, message),
            Event::BackendNoise { launch, text, broken } => self.backend_noise(launch, &text, broken),
            Event::BackendTooLong { launch, length, glimpses } => {
                self.backend_too_long(launch, length, &glimpses);
            }
            Event::BackendEnded { launch, how, stderr, hint } => {
                self.backend_ended(launch, &how, &stderr, hint)
            }
            Event::Measured { bytes } => self.measured(&bytes),
            Event::Flushed { peer, bytes } => self.flushed(peer, bytes),
            Event::Dropped { client } => self.dropped_for(client),
            Event::Tick => self.tick(),
            Event::Drain { why } => self.told_to_end(why),
            Event::Kill => self.kill(),
        }
    }

    fn client_connected(&mut self, id: ClientId, server: ServerId, surroundings: Surroundings) {
        let Some(settings) = self.servers.get(server.0 as usize).map(|server| server.settings.clone()) else {
            return;
        };
        let Surroundings { principal, goes_by_request, is_elsewhere, .. } = surroundings;
        let refusal_mark = surroundings.refusal_mark.clone();
        let environment = surroundings.environment.clone();
        let known = self.what_is_known(surroundings);
        let client = Client {
            principal,
            environment,
            known,
            goes_by_request,
            refusal_mark,
            is_elsewhere,
            ..self.newcomer(id, server, settings)
        };
        self.clients.insert(id, client);
        self.report(Fact::ClientConnected { client: id });
        self.start_early(id);
    }

    /// Where a client that comes from there may work.
    pub(crate) fn what_is_known(&self, surroundings: Surroundings) -> Shared<Known> {
        Shared::from(Known {
            pinned: surroundings.pinned,
            given: surroundings.given,
            client: Vec::new(),
            seen: Vec::new(),
            environment: surroundings.named,
            working_folder: surroundings.working_folder,
            default: surroundings.default,
            home: self.settings.roots.home.clone(),
        })
    }

    /// A client of which nothing is known yet.
    pub(crate) fn newcomer(&self, id: ClientId, server: ServerId, settings: Arc<ServerSettings>) -> Client {
        Client {
            id,
            role: Role::Plain,
            server,
            settings,
            since: self.now,
            principal: Principal::OWNER,
            environment: Environment::default(),
            known: Shared::default(),
            roots: Roots::Unasked,
            roots_answer: None,
            inquiries: 0,
            declared: Declared::default(),
            handshake: Handshake::New,
            home: None,
            seats: BTreeMap::new(),
            parked: VecDeque::new(),
            shown: Vec::new(),
            level: None,
            ear: self.settings.dialect,
            goes_by_request: false,
            refusal_mark: None,
            is_elsewhere: false,
            presence: Presence::Here,
            farewell: None,
            batches: Batches::default(),
            queued: 0,
            unanswered: 0,
            dropped: 0,
        }
    }

    /// Nothing is gained by waiting for the first request, unless it decides what is to be started, or another
    /// instance may do. In the end it is too late.
    fn start_early(&mut self, client: ClientId) {
        let Some(c) = self.clients.get(&client) else { return };
        let is_first = self.backends.values().all(|b| b.server != c.server);
        if !self.is_running() || c.settings.is_split() || !(is_first || self.is_private(c.server)) {
            return;
        }
        if let Route::To(home) = self.settle_home(client) {
            self.ensure_started(home);
        }
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

//! A backend: the life of its process, and what waits for it. See `LIFECYCLE.md` beside this file.

use crate::backends::{
    BackendFraming, BackendHandshake, BackendKey, BackendLists, BackendOutbox, BackendQueue, BackendRoots,
    BackendState, Breaker, Counters, FramingGuess, Health, Quarantine, Subscriptions, Tasks, Users,
    takes_turn,
};
use crate::catalogue::{List, Offer, RawOffer};
use crate::environment::Environment;
use crate::ids::{BackendId, ClientId, Launch, ServerId};
use crate::moment::Moment;
use crate::settings::ServerSettings;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Framing, Kind, Message, Method, Part, RawId};

#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) id: BackendId,
    pub(crate) server: ServerId,
    pub(crate) settings: Arc<ServerSettings>,
    pub(crate) key: BackendKey,
    /// The variables of its process, or of the one that is started next.
    pub(crate) environment: Environment,
    pub(crate) state: BackendState,
    handshake: BackendHandshake,
    lists: BackendLists,
    roots: BackendRoots,
    subscriptions: Subscriptions,
    tasks: Tasks,
    /// The log level that it was told.
    pub(crate) level: Option<Vec<u8>>,
    /// Why nobody joins it any more: its settings have changed, or its clients are separated. `None` while it may be joined.
    pub(crate) retired: Option<&'static str>,
    pub(crate) pid: Option<u32>,
    counters: Counters,
    /// When it was last of use.
    pub(crate) last_used: Moment,
    health: Health,
    /// The last process was stopped because nobody needed it.
    pub(crate) is_at_rest: bool,
    outbox: BackendOutbox,
    queue: BackendQueue,
    /// How many processes were started so far, and when the last was.
    pub(crate) launches: u32,
    pub(crate) launched_at: Moment,
    /// The present process was sent a request of a client. Others were started only to be asked for their lists.
    pub(crate) is_used: bool,
    /// Who has used the present process.
    pub(crate) users: Users,
    framing: BackendFraming,
    /// The dialect that its messages have shown.
    dialect: LearntDialect,
    /// It has answered something at least once.
    pub(crate) proven: bool,
    breaker: Breaker,
    quarantine: Quarantine,
}

impl Backend {
    pub(crate) fn new(
        id: BackendId,
        server: ServerId,
        settings: Arc<ServerSettings>,
        framing: FramingGuess,
        (key, environment): (BackendKey, Environment),
        now: Moment,
    ) -> Self {
        Self {
            id,
            server,
            settings,
            key,
            environment,
            state: BackendState::Stopped,
            handshake: BackendHandshake::default(),
            lists: BackendLists::default(),
            roots: BackendRoots::default(),
            subscriptions: Subscriptions::default(),
            tasks: Tasks::default(),
            level: None,
            retired: None,
            pid: None,
            counters: Counters::default(),
            last_used: now,
            health: Health::default(),
            is_at_rest: true,
            outbox: BackendOutbox::default(),
            queue: BackendQueue::default(),
            launches: 0,
            launched_at: now,
            is_used: false,
            users: Users::default(),
            framing: BackendFraming::new(framing),
            dialect: LearntDialect::Open,
            proven: false,
            breaker: Breaker::default(),
            quarantine: Quarantine::default(),
        }
    }

    pub(crate) fn id(&self) -> BackendId {
        self.id
    }

    pub(crate) fn server(&self) -> ServerId {
        self.server
    }

    /// The settings of its server, as they were when the backend was made.
    pub(crate) fn settings(&self) -> &Arc<ServerSettings> {
        &self.settings
    }

    /// Shows the same things under changed names.
    pub(crate) fn rename(&mut self, settings: &Arc<ServerSettings>) {
        self.settings = settings.clone();
        self.lists.rename(&settings.naming);
    }

    pub(crate) fn key(&self) -> &BackendKey {
        &self.key
    }

    /// The workspace that the launch is filled in with.
    pub(crate) fn root(&self) -> Option<&str> {
        self.key.root.as_deref()
    }

    /// The only client that it serves.
    pub(crate) fn owner(&self) -> Option<ClientId> {
        self.key.owner
    }

    /// Makes it the backend that another client needs.
    pub(crate) fn set_key(&mut self, key: BackendKey) {
        self.key = key;
    }

    /// From now on it serves this client alone.
    pub(crate) fn set_owner(&mut self, owner: ClientId) {
        self.key.owner = Some(owner);
    }

    /// If it serves one client alone, another takes that client's place.
    pub(crate) fn replace_owner(&mut self, before: ClientId, after: ClientId) {
        self.key.owner = self.key.owner.map(|owner| if owner == before { after } else { owner });
    }

    /// The variables of its process, or of the one that is started next.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The next process has these variables alone.
    pub(crate) fn set_environment(&mut self, environment: Environment) {
        self.environment = environment;
    }

    /// Forgets the values that only clients brought which have left: `present` are the variables of the others, and `all`
    /// those together. A process that runs keeps its variables.
    pub(crate) fn forget_values(&mut self, all: Environment, present: &[Environment]) {
        match self.has_process() {
            true => self.environment.draw_from(present),
            false => self.environment = all,
        }
    }

    pub(crate) fn handshake(&self) -> &BackendHandshake {
        &self.handshake
    }

    pub(crate) fn handshake_mut(&mut self) -> &mut BackendHandshake {
        &mut self.handshake
    }

    pub(crate) fn roots(&self) -> &BackendRoots {
        &self.roots
    }

    pub(crate) fn roots_mut(&mut self) -> &mut BackendRoots {
        &mut self.roots
    }

    pub(crate) fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    pub(crate) fn subscriptions_mut(&mut self) -> &mut Subscriptions {
        &mut self.subscriptions
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    pub(crate) fn tasks_mut(&mut self) -> &mut Tasks {
        &mut self.tasks
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    pub(crate) fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }

    pub(crate) fn quarantine_mut(&mut self) -> &mut Quarantine {
        &mut self.quarantine
    }

    pub(crate) fn lists(&self) -> &BackendLists {
        &self.lists
    }

    pub(crate) fn lists_mut(&mut self) -> &mut BackendLists {
        &mut self.lists
    }

    /// The lists that it offers, as far as anybody wanted to know.
    pub(crate) fn offer(&self) -> Option<&Arc<Offer>> {
        self.lists.offer()
    }

    /// Asks for these lists: returns the number of the round, and the lists that the server offers at all.
    pub(crate) fn begin_list_round(&mut self, lists: &[List]) -> Option<(u32, Vec<List>)> {
        let offered = Offer::new(self.introduction()?);
        let round = self.lists.begin_round(lists, &offered);
        Some((round, lists.iter().copied().filter(|list| offered.declares(*list)).collect()))
    }

    /// Hands out the answers to be read, with the number of the round, once all lists are there.
    pub(crate) fn take_complete_lists(&mut self) -> Option<(u32, RawOffer)> {
        let introduction = self.introduction()?;
        self.lists.take_complete(introduction, &self.settings.naming)
    }

    /// The lists of a round are read. Returns the offer, and whether it is partial.
    pub(crate) fn finish_list_round(
        &mut self,
        round: u32,
        offer: Arc<Offer>,
        now: Moment,
    ) -> Option<(Arc<Offer>, bool)> {
        self.lists.finish_round(round, offer, &self.settings.naming, now)
    }

    /// The result of its `initialize`.
    fn introduction(&self) -> Option<Bytes> {
        let welcome = self.handshake.welcome()?;
        welcome.has(Part::Result).then(|| welcome.bytes().slice(welcome.span(Part::Result).range()))
    }

    /// A process exists, is being made, or is not gone yet.
    pub(crate) fn has_process(&self) -> bool {
        self.number().is_some()
    }

    /// The number of the process that exists or is being made.
    pub(crate) fn number(&self) -> Option<u32> {
        match self.state {
            BackendState::Starting { number, .. }
            | BackendState::Ready { number, .. }
            | BackendState::Stopping { number, .. } => Some(number),
            BackendState::Stopped | BackendState::Backoff { .. } | BackendState::Failed { .. } => None,
        }
    }

    /// Whether this is the process of now, and not a late word of an earlier one.
    pub(crate) fn is_current(&self, launch: Launch) -> bool {
        self.number() == Some(launch.number)
    }

    pub(crate) fn launch(&self) -> Option<Launch> {
        self.number().map(|number| Launch { backend: self.id, number })
    }

    /// The process, if it takes messages.
    pub(crate) fn ready_launch(&self) -> Option<Launch> {
        self.launch().filter(|_| self.is_ready())
    }

    /// The process takes messages.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.state, BackendState::Ready { .. })
    }

    /// A process that is ready hears a handshake again.
    pub(crate) fn begin_handshake_again(&mut self, now: Moment) -> Option<Launch> {
        let launch = self.ready_launch()?;
        self.state = BackendState::Starting { number: launch.number, since: now, is_spawned: true };
        Some(launch)
    }

    /// When there must be a process, while there is none; and its number.
    pub(crate) fn spawn_by(&self, within: Duration) -> Option<(u32, Moment)> {
        match self.state {
            BackendState::Starting { number, since, is_spawned: false } => Some((number, since + within)),
            BackendState::Starting { .. }
            | BackendState::Stopped
            | BackendState::Ready { .. }
            | BackendState::Stopping { .. }
            | BackendState::Backoff { .. }
            | BackendState::Failed { .. } => None,
        }
    }

    /// Nobody joins it any more.
    pub(crate) fn is_retired(&self) -> bool {
        self.retired.is_some()
    }

    /// A process starts: nothing of the one before counts any more. Returns the framing that it is spoken to in.
    pub(crate) fn begin_process(&mut self) -> Framing {
        self.health.begin_process();
        self.outbox = BackendOutbox::default();
        self.queue.begin_process();
        self.handshake.begin_process();
        self.lists.begin_process();
        // They went with the process before; the next may use the same ids.
        self.tasks.clear();
        self.framing.begin_process()
    }

    /// Its owner has seen to it: earlier crashes do not count.
    pub(crate) fn forgive(&mut self) {
        self.breaker.forgive();
    }

    pub(crate) fn record_crash(&mut self, now: Moment) {
        let ready_since = match self.state {
            BackendState::Ready { since, .. } => Some(since),
            BackendState::Stopped
            | BackendState::Starting { .. }
            | BackendState::Stopping { .. }
            | BackendState::Backoff { .. }
            | BackendState::Failed { .. } => None,
        };
        self.breaker.record_crash(now, ready_since);
    }

    pub(crate) fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    pub(crate) fn breaker_mut(&mut self) -> &mut Breaker {
        &mut self.breaker
    }

    pub(crate) fn outbox(&self) -> &BackendOutbox {
        &self.outbox
    }

    pub(crate) fn outbox_mut(&mut self) -> &mut BackendOutbox {
        &mut self.outbox
    }

    pub(crate) fn queue(&self) -> &BackendQueue {
        &self.queue
    }

    pub(crate) fn queue_mut(&mut self) -> &mut BackendQueue {
        &mut self.queue
    }

    /// Whether a request can be sent now, and does not have to wait its turn.
    pub(crate) fn can_take(&self, method: Method) -> bool {
        let has_turn = || self.has_free_turn() && self.queue.is_empty();
        matches!(self.state, BackendState::Ready { .. })
            && !self.queue.is_turned_away()
            && (!takes_turn(method) || has_turn())
    }

    /// Fewer requests are at work than may be.
    pub(crate) fn has_free_turn(&self) -> bool {
        self.queue.at_work() < self.settings.max_in_flight
    }

    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    pub(crate) fn health_mut(&mut self) -> &mut Health {
        &mut self.health
    }

    pub(crate) fn framing(&self) -> &BackendFraming {
        &self.framing
    }

    pub(crate) fn framing_mut(&mut self) -> &mut BackendFraming {
        &mut self.framing
    }

    /// No framing was answered: the next start begins from the first.
    pub(crate) fn begin_framing_anew(&mut self) {
        self.framing.begin_anew(self.settings.framing);
    }

    /// The process has given a sign of life; `answers` if it answers a request of ours. Returns the framing if it is known
    /// now, and was not before.
    pub(crate) fn record_word(&mut self, answers: bool) -> Option<Framing> {
        self.health.end_probe();
        self.framing.record_word(answers, matches!(self.state, BackendState::Stopping { .. }))
    }

    /// Learns the dialect from a message. `false`: this is no message of MCP.
    ///
    /// Structured logs on stdout are JSON objects too, and may have a `method` or an `id`. A line without `jsonrpc` is a
    /// message only from a server that leaves it out always, and only if it looks like MCP.
    pub(crate) fn hear(&mut self, message: &Message) -> bool {
        let speaks_bare = matches!(self.dialect, LearntDialect::Open | LearntDialect::HeardBare);
        let is_plausible = message.has(Part::Jsonrpc)
            || match message.kind() {
                Kind::Response { .. } => message.part(Part::Id).and_then(RawId::minted).is_some(),
                Kind::Request | Kind::Notification => speaks_bare && message.method().comes_from_servers(),
            };
        if is_plausible {
            self.dialect.learn(message);
        }
        is_plausible
    }
}

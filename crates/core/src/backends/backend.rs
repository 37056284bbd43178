//! A backend: one running instance of a server, with its successive processes. Each part of its state has its
//! own type; this file has its identity, and the methods that concern several parts. Must not know clients or
//! other backends.
//!
//! # Layout
//! - `life`: start, readiness, stop and crash of its processes.
//! - `parts`: access to the parts.

mod life;
mod parts;

use crate::backends::{
    BackendFraming, BackendHandshake, BackendKey, BackendLists, BackendOutbox, BackendQueue, BackendRoots,
    Breaker, Counters, FramingGuess, Health, LateLogs, Lifecycle, OwnListen, Quarantine, Subscriptions,
    Tasks, Usage, Users, takes_turn,
};
use crate::catalogue::{List, Offer, RawOffer, Wishes};
use crate::environment::Environment;
use crate::ids::{BackendId, ClientId, ServerId};
use crate::moment::Moment;
use crate::pins::Pinning;
use crate::settings::ServerSettings;
use crate::translation::Translator;
use bytes::Bytes;
use serde_json::Value;
use std::sync::Arc;
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Framing, Kind, Message, Method, Part, RawId};

/// One running instance of a server.
#[derive(Debug)]
pub(crate) struct Backend {
    id: BackendId,
    server: ServerId,
    settings: Arc<ServerSettings>,
    key: BackendKey,
    environment: Environment,
    lifecycle: Lifecycle,
    handshake: BackendHandshake,
    lists: BackendLists,
    roots: BackendRoots,
    subscriptions: Subscriptions,
    own_listen: OwnListen,
    late_logs: LateLogs,
    tasks: Tasks,
    /// Tasks that clients run for its process.
    held_tasks: Tasks,
    /// The log level set in the current process.
    level: Option<Vec<u8>>,
    /// Reason why clients no longer join: changed settings, or clients that must be separated.
    retired: Option<&'static str>,
    usage: Usage,
    counters: Counters,
    health: Health,
    outbox: BackendOutbox,
    queue: BackendQueue,
    framing: BackendFraming,
    /// The dialect learnt from its messages.
    dialect: LearntDialect,
    /// Whether it has ever answered a request with a result.
    has_answered: bool,
    breaker: Breaker,
    quarantine: Quarantine,
    /// Stands before the current process, if the process does not speak the era of its clients.
    translator: Option<Translator>,
    /// The number of ids that earlier translators of the current process have used.
    spent_ids: u64,
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
            lifecycle: Lifecycle::new(id, now),
            handshake: BackendHandshake::default(),
            lists: BackendLists::default(),
            roots: BackendRoots::default(),
            subscriptions: Subscriptions::default(),
            own_listen: OwnListen::default(),
            late_logs: LateLogs::default(),
            tasks: Tasks::default(),
            held_tasks: Tasks::default(),
            level: None,
            retired: None,
            usage: Usage::new(now),
            counters: Counters::default(),
            health: Health::default(),
            outbox: BackendOutbox::default(),
            queue: BackendQueue::default(),
            framing: BackendFraming::new(framing),
            dialect: LearntDialect::Open,
            has_answered: false,
            breaker: Breaker::default(),
            quarantine: Quarantine::default(),
            translator: None,
            spent_ids: 0,
        }
    }

    pub(crate) fn id(&self) -> BackendId {
        self.id
    }

    pub(crate) fn server(&self) -> ServerId {
        self.server
    }

    /// The settings of its server, as of the creation of the backend.
    pub(crate) fn settings(&self) -> &Arc<ServerSettings> {
        &self.settings
    }

    /// Applies changed names to the same tools, prompts and resources.
    pub(crate) fn rename(&mut self, settings: &Arc<ServerSettings>) {
        self.settings = settings.clone();
        self.lists.rename(&settings.naming);
    }

    /// The changes of lists that the server has promised to announce.
    pub(crate) fn announced_changes(&self) -> Wishes {
        let welcome = self.handshake.welcome().and_then(|welcome| welcome.part(Part::Result));
        let welcome: Value = welcome.and_then(|it| serde_json::from_slice(it).ok()).unwrap_or_default();
        Wishes::of_lists(&welcome["capabilities"])
    }

    /// Whether the server has promised to tell of changes of resources; `None` until it has answered a handshake.
    pub(crate) fn declares_subscribe(&self) -> Option<bool> {
        Some(Offer::new(self.introduction()?).declares_subscribe())
    }

    pub(crate) fn is_translated(&self) -> bool {
        self.translator.is_some()
    }

    pub(crate) fn translator(&self) -> Option<&Translator> {
        self.translator.as_ref()
    }

    pub(crate) fn translator_mut(&mut self) -> Option<&mut Translator> {
        self.translator.as_mut()
    }

    /// Lets a translator stand before the current process.
    pub(crate) fn translate(&mut self, translator: Translator) {
        self.translator = Some(translator);
    }

    /// Whether the process is asked whether it speaks the other era.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.translator.as_ref().is_some_and(Translator::is_in_doubt)
    }

    /// The time at which the translator has something to do. Nothing, once the process is being stopped.
    pub(crate) fn translator_deadline(&self) -> Option<Moment> {
        self.translator.as_ref().filter(|_| self.wanted_launch().is_some())?.deadline()
    }

    /// The time at which something is to be done about our own subscription.
    pub(crate) fn listen_deadline(&self) -> Option<Moment> {
        self.own_listen.deadline()
    }

    /// The number of ids that translators of the current process have used so far.
    pub(crate) fn spent_ids(&self) -> u64 {
        self.spent_ids
    }

    pub(crate) fn translate_no_more(&mut self) {
        // A later translator of the same process must not begin anew.
        self.spent_ids = self.translator.take().map_or(self.spent_ids, |it| it.spent_ids());
    }

    pub(crate) fn key(&self) -> &BackendKey {
        &self.key
    }

    /// The workspace that is substituted into the launch.
    pub(crate) fn root(&self) -> Option<&str> {
        self.key.root.as_deref()
    }

    /// The only client it serves, if it is private.
    pub(crate) fn owner(&self) -> Option<ClientId> {
        self.key.owner
    }

    /// Reassigns the backend to another key.
    pub(crate) fn set_key(&mut self, key: BackendKey) {
        self.key = key;
    }

    /// Makes the backend private to this client.
    pub(crate) fn set_owner(&mut self, owner: ClientId) {
        self.key.owner = Some(owner);
    }

    /// Passes a private backend from one client to another.
    pub(crate) fn replace_owner(&mut self, before: ClientId, after: ClientId) {
        self.key.owner = self.key.owner.map(|owner| if owner == before { after } else { owner });
    }

    /// The variables of its process, or of the next one.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Sets exactly these variables for the next process.
    pub(crate) fn set_environment(&mut self, environment: Environment) {
        self.environment = environment;
    }

    /// Forgets values that only departed clients brought: `present` are the variables of each remaining
    /// client, and `all` their union. A running process keeps its variables.
    pub(crate) fn forget_values(&mut self, all: Environment, present: &[Environment]) {
        match self.has_process() {
            true => self.environment.draw_from(present),
            false => self.environment = all,
        }
    }

    /// The lists, as far as they have been requested.
    pub(crate) fn offer(&self) -> Option<&Arc<Offer>> {
        self.lists.offer()
    }

    /// Starts a round for these lists: returns its number, and those lists that the server declares.
    pub(crate) fn begin_list_round(&mut self, lists: &[List]) -> Option<(u32, Vec<List>)> {
        let offered = Offer::new(self.introduction()?);
        let round = self.lists.begin_round(lists, &offered);
        Some((round, lists.iter().copied().filter(|list| offered.declares(*list)).collect()))
    }

    /// Once all lists have arrived, takes the raw answers and the number of the round.
    pub(crate) fn take_complete_lists(&mut self) -> Option<(u32, RawOffer)> {
        let introduction = self.introduction()?;
        let is_pinned = self.settings.pinning != Pinning::Off;
        self.lists.take_complete(introduction, &self.settings.naming, is_pinned)
    }

    /// Records the parsed lists of a round. Returns the offer, and whether it is partial.
    pub(crate) fn finish_list_round(
        &mut self,
        round: u32,
        offer: Arc<Offer>,
        now: Moment,
    ) -> Option<(Arc<Offer>, bool)> {
        self.lists.finish_round(round, offer, &self.settings.naming, now)
    }

    /// The result of its `initialize`.
    pub(crate) fn introduction(&self) -> Option<Bytes> {
        let welcome = self.handshake.welcome()?;
        welcome.has(Part::Result).then(|| welcome.bytes().slice(welcome.span(Part::Result).range()))
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired.is_some()
    }

    /// Reason why clients no longer join.
    pub(crate) fn retirement(&self) -> Option<&'static str> {
        self.retired
    }

    pub(crate) fn retire(&mut self, why: &'static str) {
        self.retired = Some(why);
    }

    /// The log level set in the current process.
    pub(crate) fn level(&self) -> Option<&[u8]> {
        self.level.as_deref()
    }

    pub(crate) fn set_level(&mut self, level: Option<Vec<u8>>) {
        self.level = level;
    }

    /// Records that the backend is in use.
    pub(crate) fn touch(&mut self, now: Moment) {
        self.usage.touch(now);
    }

    pub(crate) fn last_used(&self) -> Moment {
        self.usage.last_used()
    }

    /// Whether the current process was sent a request of a client. Others were started only to list their offers.
    pub(crate) fn is_used(&self) -> bool {
        self.usage.is_used()
    }

    pub(crate) fn mark_used(&mut self) {
        self.usage.mark_used();
    }

    /// The clients that have used the current process.
    pub(crate) fn users(&self) -> &Users {
        self.usage.users()
    }

    pub(crate) fn users_mut(&mut self) -> &mut Users {
        self.usage.users_mut()
    }

    /// Whether it has ever answered a request with a result.
    pub(crate) fn has_answered(&self) -> bool {
        self.has_answered
    }

    /// Records an answer; `is_error` for an error answer.
    pub(crate) fn record_answer(&mut self, is_error: bool) {
        // Only a result shows that the server works; a refusal does not.
        self.has_answered |= !is_error;
        // Even an error ends the trial: the process lives and answers.
        self.breaker.end_trial();
    }

    /// Forgets earlier crashes, after an intervention of the owner.
    pub(crate) fn forgive(&mut self) {
        self.breaker.forgive();
    }

    /// Whether a request can be sent now, without queueing.
    pub(crate) fn can_take(&self, method: Method) -> bool {
        // Queued requests come first: a new one must not overtake them.
        let has_turn = || self.has_free_turn() && self.queue.is_empty();
        self.is_ready()
            && !self.queue.is_turned_away()
            && (!takes_turn(method) || has_turn())
            && !self.must_check_first(method)
    }

    /// Whether a request must wait until the tools of the process were compared with the approved ones.
    pub(crate) fn must_check_first(&self, method: Method) -> bool {
        // An unknown method may be another way to call a tool.
        self.settings.pinning == Pinning::Hold
            && matches!(method, Method::ToolsCall | Method::Other)
            && !self.lists.are_tools_checked()
    }

    /// Whether fewer requests are in progress than allowed.
    pub(crate) fn has_free_turn(&self) -> bool {
        self.queue.at_work() < self.settings.max_in_flight
    }

    /// Restarts framing detection from the first guess, after all were tried without an answer.
    pub(crate) fn begin_framing_anew(&mut self) {
        self.framing.begin_anew(self.settings.framing);
    }

    /// Records a sign of life; `answers` if it answers a request of ours. Returns the framing if it has just
    /// become known.
    pub(crate) fn record_word(&mut self, answers: bool) -> Option<Framing> {
        self.health.end_probe();
        self.framing.record_word(answers, self.is_stopping())
    }

    /// Learns the dialect from a message. Returns `false` if this is not an MCP message.
    ///
    /// Structured logs on stdout are JSON objects too, and may have a `method` or an `id`. A line without
    /// `jsonrpc` counts as a message only if the server has never sent `jsonrpc`, and only if it looks like MCP.
    pub(crate) fn hear(&mut self, message: &Message) -> bool {
        let speaks_bare = matches!(self.dialect, LearntDialect::Open | LearntDialect::HeardBare);
        let is_plausible = message.has(Part::Jsonrpc)
            || match message.kind() {
                Kind::Response { .. } => message.part(Part::Id).and_then(RawId::minted).is_some(),
                Kind::Request | Kind::Notification => speaks_bare && message.method().comes_from_servers(),
            };
        // A log line must not teach us a dialect.
        if is_plausible {
            self.dialect.learn(message);
        }
        is_plausible
    }
}

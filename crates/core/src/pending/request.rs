//! Requests to a backend, from clients or from us. Must not know clients and backends except by number.

use crate::access::{CallParams, Permit};
use crate::catalogue::{List, Wishes};
use crate::ids::{BackendId, ClientId, Launch};
use crate::messages::log_rank as rank;
use crate::moment::Moment;
use crate::settings::{LIST_TIMEOUT, ServerSettings};
use std::borrow::Cow;
use std::time::Duration;
use switchboard_protocol::{Message, Method, Part, RawId};

/// The recipient of the answer.
#[derive(Debug, Clone)]
pub(crate) enum Asker {
    /// A client, with the id in its own spelling.
    Client { client: ClientId, id: RawId, batch: Option<u32> },
    /// We ourselves: a replayed handshake.
    Replay,
    /// We ourselves: a liveness probe.
    Probe,
    /// We ourselves: state that an earlier process had been told.
    Restore,
    /// We ourselves: a page of a list.
    Catalogue { list: List, round: u32 },
    /// We ourselves: `initialize` for a process that does not answer `server/discover`.
    Era,
    /// We ourselves: changes of lists and resources.
    Listen,
    /// The modern client that continues the call, when it comes. Its server has asked for input.
    Paused,
}

/// Placeholder backend of a request that is not routed yet.
pub(crate) const NOWHERE: BackendId = BackendId(0);

/// Progress of a request.
#[derive(Debug)]
pub(crate) enum RequestState {
    /// In the backend's queue, not written: may go to any process.
    Waiting(Message),
    /// Handed to the backend's outbox. The message is kept if it may be repeated after a crash.
    Sent(Option<Message>),
    /// Cancelled by the client; an answer that comes nevertheless is still forwarded.
    Cancelled,
}

/// The part of a call's record that is known before its answer.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// The tool, prompt or URI.
    pub(crate) item: Option<String>,
    pub(crate) bytes: usize,
    pub(crate) params: Option<CallParams>,
    /// The process that got the request.
    pub(crate) launch: Option<Launch>,
}

/// A request to a backend.
#[derive(Debug)]
pub(crate) struct Pending {
    asker: Asker,
    backend: BackendId,
    method: Method,
    name: Cow<'static, str>,
    state: RequestState,
    /// The task that the request refers to.
    task: Option<Vec<u8>>,
    /// The client's progress token; ours is the minted id.
    token: Option<RawId>,
    /// Rank of the least severe log messages about it that the request wants.
    log_rank: Option<usize>,
    /// A modern client's call as it was written, while its server may ask for input.
    words: Option<Box<Message>>,
    /// The user of the process that the server's questions about a continued call are for.
    user: Option<ClientId>,
    /// A modern client's request that was translated for a legacy server.
    is_translated: bool,
    /// The subscription has been acknowledged.
    is_acknowledged: bool,
    /// The notifications that we have agreed to send on a subscription, in place of those that its client wants.
    agreed: Option<Box<Wishes>>,
    /// The request runs as a task, whose progress may continue long after its answer.
    is_task: bool,
    is_retried: bool,
    /// Whether the request may be sent depends on its server's lists: see `filters`.
    is_undecided: bool,
    /// A reload has hidden what it names since it was sent.
    is_hidden: bool,
    /// The request occupies one of the backend's turns.
    has_turn: bool,
    /// The right to be in progress, under a limit on calls.
    permit: Option<Permit>,
    accepted: Moment,
    deadline: Moment,
    /// Upper limit of the deadline, which progress extends.
    latest: Option<Moment>,
    /// The record of a call that is audited, until it is reported.
    recorded: Option<Box<Recorded>>,
}

impl Pending {
    /// A client's request, to be sent by the deadline and answered by the latest time.
    pub(crate) fn of_client(
        asker: Asker,
        backend: BackendId,
        message: Message,
        accepted: Moment,
        (deadline, latest): (Moment, Option<Moment>),
    ) -> Self {
        Self {
            asker,
            backend,
            method: message.method(),
            name: name_of(&message),
            task: message.part(Part::TaskId).map(<[u8]>::to_vec),
            token: message.part(Part::MetaProgressToken).map(RawId::from_bytes),
            log_rank: log_rank(&message),
            words: None,
            user: None,
            is_translated: false,
            is_acknowledged: false,
            agreed: None,
            is_task: message.has(Part::Task),
            state: RequestState::Waiting(message),
            is_retried: false,
            is_undecided: false,
            is_hidden: false,
            has_turn: false,
            permit: None,
            accepted,
            deadline: latest.map_or(deadline, |latest| deadline.min(latest)),
            latest,
            recorded: None,
        }
    }

    /// A request of our own, which is sent at once.
    pub(crate) fn of_ours(
        asker: Asker,
        backend: BackendId,
        method: Method,
        accepted: Moment,
        deadline: Moment,
    ) -> Self {
        Self {
            asker,
            backend,
            method,
            name: Cow::Borrowed(method.name().unwrap_or("?")),
            state: RequestState::Sent(None),
            task: None,
            token: None,
            log_rank: None,
            words: None,
            user: None,
            is_translated: false,
            is_acknowledged: false,
            agreed: None,
            is_task: false,
            is_retried: false,
            is_undecided: false,
            is_hidden: false,
            has_turn: false,
            permit: None,
            accepted,
            deadline,
            latest: None,
            recorded: None,
        }
    }

    pub(crate) fn asker(&self) -> &Asker {
        &self.asker
    }

    pub(crate) fn backend(&self) -> BackendId {
        self.backend
    }

    pub(crate) fn method(&self) -> Method {
        self.method
    }

    /// The name of the method.
    pub(crate) fn name(&self) -> &Cow<'static, str> {
        &self.name
    }

    pub(crate) fn state(&self) -> &RequestState {
        &self.state
    }

    /// The task that the request refers to.
    pub(crate) fn task(&self) -> Option<&[u8]> {
        self.task.as_deref()
    }

    /// The client's progress token.
    pub(crate) fn token(&self) -> Option<&RawId> {
        self.token.as_ref()
    }

    /// Whether the request wants log messages about it.
    pub(crate) fn wants_log(&self) -> bool {
        self.log_rank.is_some()
    }

    /// Whether the request wants log messages of this rank.
    pub(crate) fn admits_log(&self, rank: Option<usize>) -> bool {
        self.log_rank.is_some_and(|wanted| rank.is_none_or(|rank| rank >= wanted))
    }

    pub(crate) fn mark_translated(&mut self) {
        self.is_translated = true;
    }

    /// Whether its answer is to be translated for a modern client.
    pub(crate) fn is_translated(&self) -> bool {
        self.is_translated
    }

    /// Keeps a modern client's call as it was written: its continuation must ask for the same.
    pub(crate) fn keep_words(&mut self, message: &Message) {
        self.words = Some(Box::new(message.clone()));
    }

    /// The call as its modern client wrote it, if it may be paused.
    pub(crate) fn words(&self) -> Option<&Message> {
        self.words.as_deref()
    }

    /// The user of the process on whose behalf a continued call is in progress, since it was paused for the first time.
    pub(crate) fn user(&self) -> Option<ClientId> {
        self.user
    }

    pub(crate) fn set_user(&mut self, connection: ClientId) {
        self.user = Some(connection);
    }

    /// Lets a call wait for its client to continue it. Returns the one that waited for its answer.
    pub(crate) fn pause(&mut self, until: Moment) -> Asker {
        self.token = None;
        self.deadline = until;
        // A call that is paused is not repeated: the question would be lost.
        drop(self.mark_sent());
        std::mem::replace(&mut self.asker, Asker::Paused)
    }

    /// Gives a paused call to the client that continues it. The time of the pause does not count.
    pub(crate) fn resume(&mut self, asker: Asker, words: &Message, paused: Duration, until: Moment) {
        self.asker = asker;
        self.latest = self.latest.map(|latest| latest + paused);
        self.token = words.part(Part::MetaProgressToken).map(RawId::from_bytes);
        self.log_rank = log_rank(words);
        self.keep_words(words);
        self.deadline = self.limited(until);
    }

    pub(crate) fn is_paused(&self) -> bool {
        matches!(self.asker, Asker::Paused)
    }

    /// Whether the request runs as a task.
    pub(crate) fn is_task(&self) -> bool {
        self.is_task
    }

    /// The record of a call that is audited and not yet reported.
    pub(crate) fn recorded(&self) -> Option<&Recorded> {
        self.recorded.as_deref()
    }

    pub(crate) fn recorded_mut(&mut self) -> Option<&mut Recorded> {
        self.recorded.as_deref_mut()
    }

    pub(crate) fn record(&mut self, recorded: Option<Box<Recorded>>) {
        self.recorded = recorded;
    }

    /// Takes the record of a request that stays open: it is reported once.
    pub(crate) fn take_recorded(&mut self) -> Option<Box<Recorded>> {
        self.recorded.take()
    }

    pub(crate) fn accepted(&self) -> Moment {
        self.accepted
    }

    pub(crate) fn deadline(&self) -> Moment {
        self.deadline
    }

    /// Whether it was sent to this backend. A queued request cannot have been answered: the answer would be
    /// from a process that is being stopped, and the next one will get the request.
    pub(crate) fn was_sent_to(&self, backend: BackendId) -> bool {
        self.backend == backend && self.waiting().is_none()
    }

    /// The client that asked.
    pub(crate) fn client(&self) -> Option<ClientId> {
        match self.asker {
            Asker::Client { client, .. } => Some(client),
            Asker::Replay
            | Asker::Probe
            | Asker::Restore
            | Asker::Catalogue { .. }
            | Asker::Era
            | Asker::Listen
            | Asker::Paused => None,
        }
    }

    /// The message, if it has not been sent.
    pub(crate) fn waiting(&self) -> Option<&Message> {
        match &self.state {
            RequestState::Waiting(message) => Some(message),
            RequestState::Sent(_) | RequestState::Cancelled => None,
        }
    }

    /// The message that was sent, if it was kept.
    pub(crate) fn sent(&self) -> Option<&Message> {
        match &self.state {
            RequestState::Sent(message) => message.as_ref(),
            RequestState::Waiting(_) | RequestState::Cancelled => None,
        }
    }

    /// Records that a subscription is open for its client.
    pub(crate) fn acknowledge(&mut self) {
        self.is_acknowledged = true;
    }

    /// Records that we have opened a subscription for its client, and what we send on it.
    pub(crate) fn agree(&mut self, wishes: Wishes) {
        (self.is_acknowledged, self.agreed) = (true, Some(wishes.into()));
    }

    /// The notifications that a subscription includes: those that we have agreed to, or, until then and at a modern server,
    /// those that its client wants.
    pub(crate) fn wishes(&self) -> Option<Wishes> {
        self.agreed.as_deref().cloned().or_else(|| self.sent().and_then(Wishes::of))
    }

    pub(crate) fn is_acknowledged(&self) -> bool {
        self.is_acknowledged
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(self.state, RequestState::Cancelled)
    }

    pub(crate) fn is_of(&self, client: ClientId) -> bool {
        self.client() == Some(client)
    }

    /// Whether a client waits for its answer.
    pub(crate) fn is_wanted(&self) -> bool {
        self.client().is_some() && !self.is_cancelled()
    }

    /// Number of bytes kept for the request.
    pub(crate) fn bytes_kept(&self) -> usize {
        let id = match &self.asker {
            Asker::Client { id, .. } => id.as_bytes().len(),
            Asker::Replay
            | Asker::Probe
            | Asker::Restore
            | Asker::Catalogue { .. }
            | Asker::Era
            | Asker::Listen
            | Asker::Paused => 0,
        };
        let token = self.token.as_ref().map_or(0, |token| token.as_bytes().len());
        let message = self.waiting().or(self.sent()).map_or(0, |message| message.bytes().len());
        let words = self.words.as_ref().map_or(0, |words| words.bytes().len());
        id + token + self.task.as_ref().map_or(0, Vec::len) + message + words
    }

    pub(crate) fn route_to(&mut self, backend: BackendId) {
        self.backend = backend;
    }

    /// Marks the request as not routed.
    pub(crate) fn unroute(&mut self) {
        self.backend = NOWHERE;
    }

    /// Whether the request waits for its server's lists before it may be sent.
    pub(crate) fn is_undecided(&self) -> bool {
        self.is_undecided
    }

    pub(crate) fn set_undecided(&mut self, is_undecided: bool) {
        self.is_undecided = is_undecided;
    }

    /// Whether a reload has hidden what it names since it was sent.
    pub(crate) fn is_hidden(&self) -> bool {
        self.is_hidden
    }

    pub(crate) fn mark_hidden(&mut self) {
        self.is_hidden = true;
    }

    pub(crate) fn has_turn(&self) -> bool {
        self.has_turn
    }

    pub(crate) fn begin_turn(&mut self) {
        self.has_turn = true;
    }

    /// Ends the request's turn, if it has one; returns the backend that can then take another.
    pub(crate) fn end_turn(&mut self) -> Option<BackendId> {
        std::mem::take(&mut self.has_turn).then_some(self.backend)
    }

    pub(crate) fn has_permit(&self) -> bool {
        self.permit.is_some()
    }

    pub(crate) fn set_permit(&mut self, permit: Option<Permit>) {
        self.permit = permit;
    }

    pub(crate) fn take_permit(&mut self) -> Option<Permit> {
        self.permit.take()
    }

    /// Cancels the request; returns its previous state.
    pub(crate) fn cancel(&mut self) -> RequestState {
        std::mem::replace(&mut self.state, RequestState::Cancelled)
    }

    /// Marks the request as sent, without keeping its message; returns its previous state.
    pub(crate) fn mark_sent(&mut self) -> RequestState {
        std::mem::replace(&mut self.state, RequestState::Sent(None))
    }

    /// Keeps the message of a sent request, for another process.
    pub(crate) fn keep_sent(&mut self, message: Message) {
        self.state = RequestState::Sent(Some(message));
    }

    /// Makes a sent request wait to be sent again; `false` if its message was not kept.
    pub(crate) fn wait_again(&mut self) -> bool {
        match self.mark_sent() {
            RequestState::Sent(Some(message)) => {
                self.state = RequestState::Waiting(message);
                true
            }
            // Puts back what `mark_sent` has replaced.
            other => {
                self.state = other;
                false
            }
        }
    }

    /// Schedules the one retry of a request.
    pub(crate) fn retry(&mut self, message: Message) {
        self.is_retried = true;
        self.state = RequestState::Waiting(message);
    }

    pub(crate) fn is_retried(&self) -> bool {
        self.is_retried
    }

    /// Deadline of the answer, if the request is sent now.
    pub(crate) fn deadline_if_sent(&self, server: &ServerSettings, now: Moment) -> Moment {
        let within = match self.method {
            Method::Initialize => server.start_timeout,
            // Waits for the end of a task, or for news, without a time limit of its own.
            Method::TaskResult | Method::Listen => server.hard_timeout.unwrap_or(Duration::MAX),
            // Another Switchboard has its own timeout for these, with a better explanation.
            method if method.is_short() && !server.relays => server.timeout.min(LIST_TIMEOUT),
            _ => server.timeout,
        };
        self.limited(now + within)
    }

    /// Deadline of the answer, if the backend waits for room.
    pub(crate) fn deadline_in_line(&self, server: &ServerSettings, now: Moment) -> Moment {
        match self.method {
            // Once it is sent it may take any time; until then it has the usual time.
            Method::TaskResult | Method::Listen => self.limited(now + server.timeout),
            _ => self.deadline_if_sent(server, now),
        }
    }

    fn limited(&self, deadline: Moment) -> Moment {
        self.latest.map_or(deadline, |latest| deadline.min(latest))
    }

    /// Sets the deadline. The caller must update `Core::wake`.
    pub(crate) fn set_deadline(&mut self, deadline: Moment) {
        self.deadline = deadline;
    }

    /// Extends the deadline, never shortens it: `Core::wake` need not be updated.
    pub(crate) fn go_on_until(&mut self, moment: Moment) {
        // Its client has the time of a pause, whatever the server does.
        if self.is_paused() {
            return;
        }
        self.deadline = self.deadline.max(self.limited(moment));
    }
}

fn log_rank(request: &Message) -> Option<usize> {
    request.part(Part::MetaLogLevel).map(|level| rank(level).unwrap_or_default())
}

/// The name of a message's method; allocates only for unknown methods.
pub(crate) fn name_of(message: &Message) -> Cow<'static, str> {
    const MAX_NAME_CHARS: usize = 80;
    match message.method().name() {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(message.method_name().chars().take(MAX_NAME_CHARS).collect()),
    }
}

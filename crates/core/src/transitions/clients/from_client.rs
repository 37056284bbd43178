//! Requests of clients: accepted, routed, and sent to a backend under a minted id. Must not handle messages
//! without an answer: `notices` does.

use crate::answers::{Cause, Overload};
use crate::backends::BackendState;
use crate::catalogue::Wishes;
use crate::clients::Farewell;
use crate::core::Core;
use crate::event::MemberPath;
use crate::fact::{Fact, Outcome};
use crate::ids::{BackendId, ClientId};
use crate::messages::{own_result, same_spelling};
use crate::pending::{Asker, NOWHERE, Pending, name_of};
use crate::routing::NamedPath;
use crate::transitions::{Route, Screened};
use switchboard_protocol::hunt::Glimpse;
use switchboard_protocol::{Broken, Dialect, ErrorAnswer, Kind, Message, Method, Parsed, Part, RawId};

impl Core {
    pub(crate) fn client_sent(
        &mut self,
        client: ClientId,
        frame: Result<Parsed, Broken>,
        mut paths: Vec<MemberPath>,
    ) {
        if self.is_lost(client) {
            return;
        }
        let mut paths_of = |member| {
            let own = paths.extract_if(.., |named: &mut MemberPath| named.member == member);
            own.map(|named| named.path).collect::<Vec<NamedPath>>()
        };
        match frame {
            Ok(Parsed::One(message)) => self.client_message(client, message, None, paths_of(0)),
            Ok(Parsed::Batch(members)) => {
                let Some(c) = self.clients.get_mut(&client) else { return };
                // Notifications count too: the array goes out when the last member is done.
                let batch = Some(c.open_batch(members.len()));
                for (index, member) in members.into_iter().enumerate() {
                    match member {
                        Ok(message) => self.client_message(client, message, batch, paths_of(index)),
                        Err(broken) => self.client_broken(client, &broken, batch),
                    }
                }
            }
            Err(broken) => self.client_broken(client, &broken, None),
        }
    }

    fn client_broken(&mut self, client: ClientId, broken: &Broken, batch: Option<u32>) {
        let error = ErrorAnswer::of_fault(broken.fault);
        self.report(Fact::BadMessage { from: client.to_string().into(), what: error.message().to_owned() });
        // A broken answer: a backend waits for it.
        if broken.is_answer
            && let Some(asked) = broken.id.as_ref().and_then(|id| RawId::minted(id.as_bytes()))
            && self.refuse_one_asked(client, asked, &error)
        {
            return self.no_answer(client, batch);
        }
        // JSON-RPC answers under a null id if the request's own cannot be read.
        let id = broken.id.clone().unwrap_or_else(RawId::null);
        self.answer_error(client, &id, batch, &error);
    }

    /// Whether to ignore a client's messages: a lost client would not read the answer.
    fn is_lost(&self, client: ClientId) -> bool {
        self.clients.get(&client).is_none_or(|c| c.is_lost())
    }

    pub(crate) fn client_too_long(&mut self, client: ClientId, length: u64, glimpses: &[Glimpse]) {
        if self.is_lost(client) {
            return;
        }
        self.report(Fact::TooLong { from: client.to_string().into(), bytes: length });
        let error = self.too_large("message", length);
        let mut told = false;
        for glimpse in glimpses {
            let Some(id) = &glimpse.id else { continue };
            if glimpse.method.is_some() {
                self.answer_error(client, id, None, &error);
                told = true;
            } else if let Some(asked) = RawId::minted(id.as_bytes()) {
                told |= self.refuse_one_asked(client, asked, &error);
            }
        }
        // A method without an id is a notification, which gets no answer.
        let is_notification = glimpses.iter().any(|glimpse| glimpse.method.is_some());
        if !told && !is_notification {
            self.answer_error(client, &RawId::null(), None, &error);
        }
    }

    /// Answers a backend's request in place of its client.
    fn refuse_one_asked(&mut self, client: ClientId, minted: u64, error: &ErrorAnswer) -> bool {
        // Only the client that was asked may settle the question.
        if self.questions.get(minted).is_none_or(|asked| self.connection_of(asked.client()) != client) {
            return false;
        }
        let Some(asked) = self.questions.remove(minted) else { return false };
        self.refuse_question(&asked, error);
        true
    }

    fn client_message(
        &mut self,
        client: ClientId,
        message: Message,
        batch: Option<u32>,
        paths: Vec<NamedPath>,
    ) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        let is_proved = c.is_proved(&message);
        let is_at_entrance = c.is_at_entrance(&message);
        let mut is_restricted = c.is_restricted();
        // Before anything is answered, since the answer is written in this dialect.
        if c.learn_dialect(&message) {
            self.share_dialect(client);
        }
        let message = match is_proved {
            true => message,
            false => match self.prove(client, message, batch) {
                Some(message) => {
                    is_restricted = self.clients.get(&client).is_some_and(|c| c.is_restricted());
                    message
                }
                None => return,
            },
        };
        match message.kind() {
            Kind::Request if is_at_entrance => {
                if let Some((message, paths)) = self.enter(client, message, batch, paths) {
                    self.entered_request(client, message, batch, paths);
                }
            }
            Kind::Request if is_restricted => self.restricted_request(client, message, batch, paths),
            Kind::Request => self.client_request(client, message, batch, paths),
            Kind::Notification => {
                self.client_notification(client, message);
                self.no_answer(client, batch);
            }
            Kind::Response { failed } => {
                self.client_response(client, &message, failed);
                self.no_answer(client, batch);
            }
        }
    }

    /// Handles a request of a client whose era is decided.
    pub(crate) fn entered_request(
        &mut self,
        client: ClientId,
        message: Message,
        batch: Option<u32>,
        paths: Vec<NamedPath>,
    ) {
        match self.clients.get(&client).is_some_and(|c| c.is_restricted()) {
            true => self.restricted_request(client, message, batch, paths),
            false => self.client_request(client, message, batch, paths),
        }
    }

    /// Answers requests that concern Switchboard itself rather than a server.
    fn answers_itself(
        &mut self,
        client: ClientId,
        id: &RawId,
        batch: Option<u32>,
        message: &Message,
    ) -> bool {
        match message.method() {
            // An attachment checks whether the daemon lives, not whether its server does.
            Method::Alive if self.lives_on() => {
                let minted = self.accept(client, NOWHERE, id.clone(), batch, message.clone());
                self.conclude_empty(minted);
            }
            Method::Servers if self.has_aggregate(client) => {
                let minted = self.accept(client, NOWHERE, id.clone(), batch, message.clone());
                let result = self.servers_of_client(client).to_string();
                self.conclude_with(minted, &result);
            }
            // Claude sends this first, and some servers crash on it. A modern client would take this for an answer.
            Method::Discover if self.is_legacy(client) && !self.is_turned_away_now(client, message) => {
                let error = self.not_offered("server/discover");
                self.refuse(client, id, batch, message, &error);
            }
            Method::Shutdown => self.say_farewell(client, id.clone(), batch),
            _ => return false,
        }
        true
    }

    /// Whether a modern request gets another error than one about its era.
    fn is_turned_away_now(&self, client: ClientId, message: &Message) -> bool {
        message.has(Part::MetaVersion) && self.why_not(client).is_some()
    }

    /// Whether a client is served by servers of the legacy era, and not by another Switchboard.
    fn is_legacy(&self, client: ClientId) -> bool {
        self.clients.get(&client).is_some_and(|c| !c.speaks_modern() && !c.settings().relays)
    }

    pub(crate) fn client_request(
        &mut self,
        client: ClientId,
        mut message: Message,
        batch: Option<u32>,
        paths: Vec<NamedPath>,
    ) {
        let Some(id) = message.id() else { return };
        // Without a usable config every request gets the same error; pings show that we live.
        if let Some(error) = self.refusal().cloned()
            && !matches!(message.method(), Method::Ping | Method::Shutdown)
        {
            return self.refuse(client, &id, batch, &message, &error);
        }
        if self.answers_itself(client, &id, batch, &message) {
            return;
        }
        if let Some(error) = self.why_not(client).or_else(|| self.why_not_kept(client, &message)) {
            return self.refuse(client, &id, batch, &message, &error);
        }
        if self.has_aggregate(client) {
            return self.aggregate_request(client, id, batch, message, paths);
        }
        // What cannot be read cannot be checked.
        if message.method() == Method::Listen
            && message.has(Part::MetaVersion)
            && Wishes::of(&message).is_none()
        {
            let error = self.unreadable_wishes();
            return self.refuse(client, &id, batch, &message, &error);
        }
        // Names are checked before routing: a hidden name must not even start a server.
        let screened = self.screen(client, &mut message);
        if let Screened::Refused(error) = &screened {
            return self.refuse(client, &id, batch, &message, error);
        }
        let Some(message) = self.translated_request(client, &id, batch, message) else { return };
        let route = match message.method() {
            Method::Initialize => self.route_handshake(client, &message, paths.as_slice()),
            _ => self.route(client, &message, &paths),
        };
        let backend = match route {
            Route::To(backend) => backend,
            Route::Wait if message.method() == Method::Initialize => {
                return self.greet_alone(client, &id, batch, message);
            }
            Route::Wait => {
                let permit = match self.begin_call(client, &message) {
                    Ok(permit) => permit,
                    Err(error) => return self.refuse(client, &id, batch, &message, &error),
                };
                let minted = self.accept(client, NOWHERE, id, batch, message);
                self.give_permit(minted, permit);
                if let (Screened::Undecided, Some(pending)) = (screened, self.pending.get_mut(minted)) {
                    pending.set_undecided(true);
                }
                return self.park(client, minted, paths);
            }
            // A ping only checks that we are here, so it needs no workspace.
            Route::Refused(_) if message.method() == Method::Ping => {
                let minted = self.accept(client, NOWHERE, id, batch, message);
                return self.conclude_empty(minted);
            }
            Route::Refused(error) => return self.refuse(client, &id, batch, &message, &error),
        };
        if message.method() == Method::Initialize {
            if self.greet_from_store(client, backend, &id, batch, &message) {
                return;
            }
            return self.greet(client, backend, id, batch, message);
        }
        if self.list_from_store(client, &id, batch, &message) {
            return;
        }
        if self.is_ping_for_us(client, backend, &message)
            || self.is_unsubscribed_for(client, backend, &message)
        {
            let minted = self.accept(client, backend, id, batch, message);
            return self.conclude_empty(minted);
        }
        // Everything that can refuse the request comes before `accept`: an accepted request is owed one answer.
        if let Some(error) = self.why_not_now(client, backend, &message) {
            return self.refuse(client, &id, batch, &message, &error);
        }
        // Last, since an admitted call counts.
        let permit = match self.begin_call(client, &message) {
            Ok(permit) => permit,
            Err(error) => return self.refuse(client, &id, batch, &message, &error),
        };
        let minted = self.accept(client, backend, id, batch, message);
        self.give_permit(minted, permit);
        match screened {
            Screened::Undecided => self.hold_undecided(minted, backend, paths),
            Screened::Passes | Screened::Refused(_) => self.hand_to(minted, backend),
        }
    }

    /// Whether an unsubscribe can be answered by us: others are still subscribed, so the server need not know.
    pub(crate) fn is_unsubscribed_for(
        &mut self,
        client: ClientId,
        backend: BackendId,
        message: &Message,
    ) -> bool {
        let Some(uri) = message.part(Part::Uri).filter(|_| message.method() == Method::Unsubscribe) else {
            return false;
        };
        let uri = same_spelling(uri);
        let is_wanted = self.is_wanted_by_others(backend, client, &uri);
        if is_wanted {
            self.unsubscribed(backend, client, &uri);
        }
        is_wanted
    }

    pub(crate) fn conclude_empty(&mut self, minted: u64) {
        self.conclude_with(minted, "{}");
    }

    /// Whether we answer a ping ourselves: the client was greeted from the store, or its backend rests.
    fn is_ping_for_us(&self, client: ClientId, backend: BackendId, message: &Message) -> bool {
        let is_away = || {
            self.is_resting(backend)
                || self.backends.get(&backend).is_none_or(|b| !b.handshake().has_welcome())
        };
        message.method() == Method::Ping
            && self.clients.get(&client).is_some_and(|c| c.is_greeted() && !c.speaks_modern())
            && is_away()
    }

    /// Answers a request in place of the server.
    pub(crate) fn conclude_with(&mut self, minted: u64, result: &str) {
        let Some(pending) = self.close(minted) else { return };
        let Asker::Client { client, id, batch } = pending.asker() else { return };
        let dialect = self.clients.get(client).map_or(Dialect::Standard, |c| c.dialect());
        self.answer(*client, id, *batch, own_result(id, dialect, result));
        self.conclude(&pending, Outcome::Ok);
    }

    /// Reason why no request of this client can be accepted now.
    pub(crate) fn why_not(&self, client: ClientId) -> Option<ErrorAnswer> {
        let c = self.clients.get(&self.connection_of(client))?;
        if c.has_said_farewell() {
            return Some(self.shutting_down());
        }
        if !self.is_running() {
            return Some(self.turned_away(c.refusal_mark()));
        }
        let unanswered = c.unanswered();
        (unanswered >= self.settings.limits.pending_per_client)
            .then(|| self.overloaded(None, Overload::OpenRequests(unanswered)))
    }

    /// Reason why a backend cannot take a request now.
    pub(crate) fn why_not_now(
        &self,
        client: ClientId,
        backend: BackendId,
        message: &Message,
    ) -> Option<ErrorAnswer> {
        let of = Some(backend);
        let b = self.backends.get(&backend)?;
        if let Some(cause) = self.barred(b.server()) {
            return Some(self.cause(of, &cause));
        }
        match b.state() {
            BackendState::Failed { until, why } if self.clock.now() < *until => {
                let wait = until.since(self.clock.now());
                Some(self.cause(of, &Cause::BreakerOpen { why: why.clone(), wait }))
            }
            BackendState::Ready { .. } if !self.has_room(backend, message.bytes().len()) => {
                Some(self.overloaded(of, Overload::ServerUnread))
            }
            BackendState::Ready { .. } if self.may_go(backend, message.method()) => None,
            BackendState::Ready { .. } if !self.may_wait(Some(client), backend, message.bytes().len()) => {
                let at_work = b.queue().at_work();
                Some(self.overloaded(of, Overload::Turns { at_work }))
            }
            BackendState::Ready { .. } => None,
            _ if !self.may_wait(Some(client), backend, message.bytes().len()) => {
                Some(self.overloaded(of, Overload::Start))
            }
            _ => None,
        }
    }

    pub(crate) fn refuse(
        &mut self,
        client: ClientId,
        id: &RawId,
        batch: Option<u32>,
        message: &Message,
        error: &ErrorAnswer,
    ) {
        self.report(Fact::Answered {
            client: self.connection_of(client),
            backend: None,
            method: name_of(message),
            id: id.clone(),
            took: Default::default(),
            outcome: Outcome::Refused(error.kind),
        });
        self.report_refused_call(client, id, message, error);
        self.answer_error(client, id, batch, error);
    }

    /// Records a request as pending.
    pub(crate) fn accept(
        &mut self,
        client: ClientId,
        backend: BackendId,
        id: RawId,
        batch: Option<u32>,
        message: Message,
    ) -> u64 {
        let connection = self.connection_of(client);
        let minted = self.pending.mint();
        let mut is_audited = false;
        if let Some(c) = self.clients.get_mut(&connection) {
            c.request_accepted();
            if message.method() == Method::Initialize {
                c.begin_handshake(minted);
            }
            is_audited = self.settings.audit.covers(c.proved_identity(), c.front());
        }
        let server = self.clients.get(&client).map(|c| c.settings().clone()).unwrap_or_default();
        let latest = server.hard_timeout.map(|hard| self.clock.now() + hard);
        let start = match self.backends.get(&backend).map(|b| b.state()) {
            // At most a wait for its turn.
            Some(BackendState::Ready { .. }) => self.clock.now() + server.timeout,
            // Until it is sent: time for a start, and for a second one with the other framing.
            Some(_) | None => self.clock.now() + server.start_timeout * 2,
        };
        let asker = Asker::Client { client, id, batch };
        let recorded = if is_audited { self.begin_record(&message) } else { None };
        let mut pending = Pending::of_client(asker, backend, message, self.clock.now(), (start, latest));
        pending.record(recorded);
        let deadline = pending.deadline();
        self.pending.insert(minted, pending);
        self.clock.wake_at(deadline);
        minted
    }

    fn say_farewell(&mut self, client: ClientId, id: RawId, batch: Option<u32>) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        if c.has_said_farewell() {
            let error = self.shutting_down();
            return self.answer_error(client, &id, batch, &error);
        }
        if self.settings.linger.is_some() {
            // Other clients continue.
            let answer = own_result(&id, c.dialect(), "null");
            c.say_farewell(Farewell::new(id.clone(), batch).answered());
            self.answer(client, &id, batch, answer);
            return;
        }
        c.say_farewell(Farewell::new(id, batch));
        self.drain_and_stay("the client asked for it");
        self.answer_farewells();
    }
}

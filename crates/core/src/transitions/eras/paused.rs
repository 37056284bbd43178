//! Paused calls: a legacy server has asked a question while it works on a call of a modern client. The client gets
//! `input_required` as the answer and makes the call again with its answers. Meanwhile the call stays open at the server.
//! Must not know how messages are translated.

use crate::core::Core;
use crate::fact::Outcome;
use crate::ids::{BackendId, ClientId, Launch, Principal};
use crate::messages::{own_message, own_result};
use crate::moment::Moment;
use crate::pending::{AskedBy, Asker, CallState, PausedCall, PausedEnd, Pending, Question, name_of};
use crate::transitions::CallEnd;
use crate::translation::for_modern::{InputRequest, Need, digest, input_required, may_be_continued};
use serde_json::json;
use switchboard_protocol::{Dialect, ErrorAnswer, ErrorKind, Message, Method, RawId};

/// Limit on paused calls of one principal.
const MAX_PAUSED_CALLS: usize = 16;

impl Core {
    /// Handles a legacy server's request to a modern client.
    pub(crate) fn ask_modern(&mut self, launch: Launch, client: ClientId, id: RawId, message: &Message) {
        if message.method() == Method::Ping {
            return self.answer_backend(launch, &id);
        }
        let need = Need::of(message);
        let is_declared = |need| self.clients.get(&client).is_some_and(|c| c.declares(need));
        if !need.as_ref().is_some_and(is_declared) {
            let error = self.not_declared(launch.backend, &message.method_name(), need.as_ref());
            return self.refuse_backend(launch, &id, &error);
        }
        let call = match self.call_asked_about(launch.backend, client) {
            Ok(call) => call,
            Err(error) => return self.refuse_backend(launch, &id, &error),
        };
        let principal = self.clients.get(&client).map_or(Principal::OWNER, |c| c.principal());
        if !self.may_store_question(principal, call, message) {
            let error = self.too_much_paused(launch.backend);
            return self.refuse_backend(launch, &id, &error);
        }
        if !self.ask_in_call(call, launch, client, &id, message) {
            let error = self.not_declared(launch.backend, &message.method_name(), need.as_ref());
            self.refuse_backend(launch, &id, &error);
        }
    }

    /// Adds a request of a legacy server to the answer of a call. Returns whether it can be shown to the client.
    pub(super) fn ask_in_call(
        &mut self,
        call: u64,
        launch: Launch,
        client: ClientId,
        id: &RawId,
        message: &Message,
    ) -> bool {
        // The capabilities of the call count, not those that its client declared before or since.
        let words = self.pending.get(call).and_then(Pending::words);
        if !words.zip(Need::of(message)).is_some_and(|(words, need)| need.is_declared_by(words)) {
            return false;
        }
        let question = self.questions.mint();
        let shown = own_message(self.for_client(client, message).to_vec().into());
        let Some(request) = shown.and_then(|shown| InputRequest::of(&shown, question.to_string())) else {
            return false;
        };
        let by = AskedBy::Backend { launch, id: id.clone() };
        // The question has the deadline and the client of its call, which may be older than the latest declaration of the
        // client.
        let paused = self.paused.get_mut(call).map(|paused| paused.client);
        let client = paused.or_else(|| self.pending.get(call)?.client()).unwrap_or(client);
        self.questions.insert(question, Question::new(client, by, name_of(message), self.clock.now(), None));
        match self.paused.get_mut(call) {
            Some(paused) => paused.questions.push((question, request)),
            None => self.pause(call, vec![(question, request)], None),
        }
        true
    }

    /// Finds the call to which a question for a modern client belongs.
    fn call_asked_about(&mut self, backend: BackendId, client: ClientId) -> Result<u64, ErrorAnswer> {
        self.forget_failed_pauses();
        let Some(c) = self.clients.get(&client) else { return Err(self.client_gone()) };
        let (principal, is_shared) = (c.principal(), self.has_no_session(client));
        let (open, paused) = self.calls_at(backend, client, principal);
        if self.may_mean_another_program(backend, client) {
            // The next calls get a process that has nothing left to ask about.
            self.separate(backend, None, "it may ask about a call that has ended");
            return Err(self.ended_call_may_be_meant(backend));
        }
        let is_ended_meant = self.may_ask_about_ended(backend) && open.len() + paused.len() > 0;
        if is_ended_meant || (is_shared && open.len() + paused.len() > 1) {
            // The server is now known to ask, so it gets one call at a time from here on.
            return Err(self.whose_call(backend));
        }
        let Some(&call) = open.last() else {
            return paused.last().copied().ok_or_else(|| self.no_call(backend));
        };
        match self.may_pause(principal) {
            true => Ok(call),
            false => Err(self.too_many_paused(backend, MAX_PAUSED_CALLS)),
        }
    }

    /// Removes paused calls that failed with their process, which no client can continue.
    pub(super) fn forget_failed_pauses(&mut self) {
        let pending = &self.pending;
        self.paused.keep_open(|minted| pending.get(minted).is_some());
    }

    /// Whether a principal may have one more paused call.
    pub(super) fn may_pause(&self, principal: Principal) -> bool {
        self.paused.iter().filter(|(_, it)| it.principal == principal).count() < MAX_PAUSED_CALLS
    }

    /// The calls of a modern client at a backend to which a question may belong: open ones, and paused ones.
    pub(super) fn calls_at(
        &self,
        backend: BackendId,
        client: ClientId,
        principal: Principal,
    ) -> (Vec<u64>, Vec<u64>) {
        let is_shared = self.has_no_session(client);
        // Clients without a session that have the same principal count as one party.
        let is_its = |other: ClientId| {
            let is_same = self.clients.get(&other).is_some_and(|c| c.principal() == principal);
            other == client || (is_shared && is_same && self.has_no_session(other))
        };
        let is_open = |p: &Pending| {
            let is_asked = p.was_sent_to(backend) && p.is_wanted() && p.words().is_some();
            is_asked && may_be_continued(p.method()) && p.client().is_some_and(is_its)
        };
        let is_here = |minted: u64| self.pending.get(minted).is_some_and(|p| p.backend() == backend);
        let paused = self.paused.iter().filter(|(minted, it)| is_its(it.client) && is_here(*minted));
        (self.pending.ids(is_open), paused.map(|it| it.0).collect())
    }

    /// Answers a call `input_required`, and lets it wait for its client, until this time or for as long as clients may
    /// take.
    pub(super) fn pause(&mut self, minted: u64, questions: Vec<(u64, InputRequest)>, until: Option<Moment>) {
        // Its turn and its permit remain: the server is still at work on it.
        let Some(mut pending) = self.pending.take(minted) else { return };
        let known = pending.client().and_then(|client| self.clients.get(&client));
        let (Some(c), Some(digest)) = (known, pending.words().map(digest)) else {
            return self.pending.insert(minted, pending);
        };
        let (client, principal, server, dialect) = (c.id(), c.principal(), c.server(), c.dialect());
        let since = self.clock.now();
        let expires = until.unwrap_or(since + c.settings().input_timeout);
        let requests: Vec<InputRequest> = questions.iter().map(|(_, request)| request.clone()).collect();
        let call =
            PausedCall { client, principal, server, digest, since, expires, round: 0, questions, end: None };
        let state = self.paused.insert(minted, call);
        let is_told = self.answer_with_input(&pending, dialect, &input_required(&requests, &state));
        // The continuation gets its own audit record.
        drop(pending.take_recorded());
        if !is_told {
            // Without the state, no client can continue the call.
            let backend = pending.backend();
            self.pending.insert(minted, pending);
            drop(self.close(minted));
            return self.end_paused(minted, backend, "its client does not read");
        }
        if pending.user().is_none() {
            pending.set_user(self.connection_of(client));
        }
        pending.pause(expires);
        self.pending.insert(minted, pending);
        self.clock.wake_at(expires);
    }

    /// Sends `input_required` to the client. Returns whether the answer fits into the client's queue.
    fn answer_with_input(&mut self, pending: &Pending, dialect: Dialect, result: &str) -> bool {
        let Asker::Client { client, id, batch } = pending.asker() else { return false };
        let answer = own_result(id, dialect, result);
        let answer_bytes = answer.len();
        let is_told = self.answer(*client, id, *batch, answer);
        let outcome = if is_told { Outcome::Ok } else { Outcome::Refused(ErrorKind::ClientTooSlow) };
        self.conclude(pending, outcome);
        self.report_call(pending, CallEnd { outcome, answer_bytes, is_tool_error: false });
        is_told
    }

    /// Answers a refused call with `input_required`; it is sent again after the user has opened the URLs.
    pub(crate) fn ask_to_repeat(&mut self, pending: &Pending, requests: &[InputRequest]) -> bool {
        let (Some(client), Some(words)) = (pending.client(), pending.words()) else { return false };
        let Some(c) = self.clients.get(&client).filter(|c| c.declares(&Need::Url)) else { return false };
        let (dialect, expires) = (c.dialect(), self.clock.now() + c.settings().input_timeout);
        let (principal, server, digest) = (c.principal(), c.server(), digest(words));
        let state = CallState { paused: None, round: 0, principal, server, digest, expires };
        let wanted = requests.iter().map(|request| request.key.clone()).collect();
        let (round, state) = self.paused.insert_refused(state, wanted, self.clock.now());
        if !self.answer_with_input(pending, dialect, &input_required(requests, &state)) {
            self.paused.take_refused(round);
        }
        true
    }

    /// Keeps the answer to a paused call for its continuation.
    pub(crate) fn paused_answered(
        &mut self,
        launch: Launch,
        minted: u64,
        pending: Pending,
        answer: Message,
        failed: bool,
    ) {
        let Some(principal) = self.paused.get_mut(minted).map(|call| call.principal) else { return };
        let fits = self.may_store_answer(principal, &pending, &answer);
        let answer = fits.then_some((answer, failed));
        let Some(call) = self.paused.get_mut(minted) else { return };
        let expires = call.expires;
        call.end = Some(PausedEnd { launch, pending, answer });
        self.clock.wake_at(expires);
    }

    /// Drops the answers to paused calls that were not continued in time.
    pub(crate) fn tick_paused(&mut self) {
        for minted in self.paused.expired_ends(self.clock.now()) {
            let Some(call) = self.paused.remove(minted) else { continue };
            self.end_questions(call.questions);
        }
    }

    /// Ends a paused call that is not continued: answers its questions and cancels it at its server. The request is already
    /// closed.
    pub(crate) fn end_paused(&mut self, minted: u64, backend: BackendId, why: &'static str) {
        let Some(call) = self.paused.remove(minted) else { return };
        self.end_questions(call.questions);
        self.cancel_at_backend(backend, minted, why);
        // The server may react to the answers before it reads the cancellation.
        self.ended_unanswered(minted, backend, true);
    }

    /// Answers questions that no client will answer.
    pub(super) fn end_questions(&mut self, questions: Vec<(u64, InputRequest)>) {
        for (question, _) in questions {
            let Some(asked) = self.questions.remove(question) else { continue };
            match (Method::from_name(asked.name()), asked.by()) {
                (Method::Elicit, AskedBy::Backend { launch, id }) => {
                    let (launch, id) = (*launch, id.clone());
                    self.report_asked(&asked, Outcome::Cancelled);
                    let answer =
                        own_result(&id, Dialect::Standard, &json!({ "action": "cancel" }).to_string());
                    self.send_to_backend(launch, answer);
                }
                _ => {
                    let error = self.client_silent();
                    self.refuse_question(&asked, &error);
                }
            }
        }
    }

    /// Whether a client has no session, so that its requests may come from several programs.
    pub(super) fn has_no_session(&self, client: ClientId) -> bool {
        self.clients.get(&self.connection_of(client)).is_some_and(|c| c.goes_by_request())
    }

    /// Whether a question waits for the continuation of a call, which may come over another connection.
    pub(crate) fn waits_for_continuation(&self, question: u64) -> bool {
        let holds = |call: &PausedCall| call.questions.iter().any(|(own, _)| *own == question);
        self.paused.iter().any(|(_, call)| self.has_no_session(call.client) && holds(call))
    }

    /// Whether another client may still continue a call of a departed client.
    pub(crate) fn is_expected_back(&self, client: ClientId) -> bool {
        let connection = self.connection_of(client);
        let is_its = |p: &Pending| p.is_paused() && p.user() == Some(connection);
        self.has_no_session(client) && self.pending.iter().any(|(_, pending)| is_its(pending))
    }

    /// Replaces a departed client as a user of processes by the clients that continued its calls. Clients without a session
    /// are one party.
    pub(crate) fn hand_over_calls(&mut self, departed: ClientId) {
        for minted in self.pending.ids(|p| p.user() == Some(departed)) {
            let Some(pending) = self.pending.get_mut(minted) else { continue };
            let Some(client) = pending.client() else { continue };
            let heir = self.clients.connection_of(client);
            if !self.clients.contains_key(&heir) {
                continue;
            }
            pending.set_user(heir);
            if let Some(b) = self.backends.get_mut(&pending.backend()) {
                b.users_mut().replace(departed, heir);
            }
        }
    }

    /// Ends the paused calls of a client that is gone.
    pub(crate) fn end_paused_of(&mut self, client: ClientId) {
        // Requests without a session may be continued over another connection.
        if self.has_no_session(client) {
            return;
        }
        let own: Vec<u64> =
            self.paused.iter().filter(|(_, call)| call.client == client).map(|it| it.0).collect();
        for minted in own {
            match self.close(minted) {
                Some(pending) => self.end_paused(minted, pending.backend(), "the client has disconnected"),
                None => {
                    let call = self.paused.remove(minted);
                    self.end_questions(call.map(|call| call.questions).unwrap_or_default());
                }
            }
        }
    }

    /// Whether a call must wait for another one. A server that asks questions gets one call of modern clients at a time, so
    /// that each question clearly belongs to a call.
    pub(crate) fn waits_for_other_call(&self, minted: u64) -> bool {
        let Some(pending) = self.pending.get(minted).filter(|p| may_be_continued(p.method())) else {
            return false;
        };
        let is_translated = |client| self.clients.get(&client).is_some_and(|c| c.is_translated());
        if !pending.client().is_some_and(is_translated) {
            return false;
        }
        let backend = pending.backend();
        let asks = |b: &crate::backends::Backend| {
            let server = self.servers.get(b.server());
            server.is_some_and(|server| b.settings().asks_questions(server.record()))
        };
        if !self.backends.get(&backend).is_some_and(asks) {
            return false;
        }
        let is_open = |p: &Pending| {
            p.was_sent_to(backend)
                && may_be_continued(p.method())
                && (p.is_paused() || (p.is_wanted() && p.client().is_some_and(is_translated)))
        };
        self.may_ask_about_ended(backend)
            || self.pending.iter().any(|(other, p)| other != minted && is_open(p))
    }
}

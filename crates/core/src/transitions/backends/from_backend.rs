//! Messages of a backend: answers go to their pending request, requests to a client under a minted id, and
//! notifications follow the request they belong to.

use crate::answers::Overload;
use crate::core::{Core, Followup};
use crate::event::About;
use crate::fact::{Fact, Outcome};
use crate::ids::{BackendId, ClientId, Launch};
use crate::messages::is_not_offered;
use crate::pending::{AskedBy, Asker, MergeSource, Pending, Question, name_of};
use crate::record::FramingChoice;
use crate::servers::LastStart;
use crate::transitions::{Addressee, CallEnd, as_modern_list};
use crate::translation::for_modern::Need;
use serde::Deserialize;
use switchboard_protocol::dialect;
use switchboard_protocol::{ErrorAnswer, Kind, Message, Method, Outgoing, Part, Patch, RawId};

/// Limit on bytes of an undeliverable log message in our log.
const MAX_UNHEARD_BYTES: usize = 500;

/// JSON-RPC code for a message that could not be parsed, and so has no id.
const PARSE_ERROR: i64 = -32700;

impl Core {
    pub(crate) fn backend_sent(&mut self, launch: Launch, message: Message) {
        // A late message of an earlier process: its ids may belong to the next one by now.
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        if !b.is_current(launch) {
            return;
        }
        if !b.hear(&message) {
            return self.backend_noise(launch, &message.bytes().clone(), Vec::new());
        }
        let answers = matches!(message.kind(), Kind::Response { .. });
        let is_ours = answers && message.part(Part::Id).and_then(RawId::minted).is_some();
        self.backend_spoke(launch, is_ours);
        match self.backends.get(&launch.backend).is_some_and(|b| b.is_translated()) {
            true => self.translate_from_backend(launch, message),
            false => {
                if let Some(message) = self.ask_for_modern(launch, message) {
                    self.backend_says(launch, message);
                }
            }
        }
    }

    /// Handles a message of a backend, in the era of its clients.
    pub(crate) fn backend_says(&mut self, launch: Launch, message: Message) {
        match message.kind() {
            Kind::Response { failed } => self.backend_response(launch, message, failed),
            Kind::Request => self.backend_request(launch, &message, None),
            Kind::Notification => self.backend_notification(launch, &message),
        }
    }

    /// Records a sign of life; an answer to one of our requests also proves that the server understands our
    /// framing. Anything else proves nothing: a server that expects lines complains, in lines, when it gets headers.
    pub(crate) fn backend_spoke(&mut self, launch: Launch, answers: bool) {
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        if let Some(framing) = b.record_word(answers) {
            if let Some(origin) = self.origin(launch.backend) {
                origin.learn_framing(framing);
            }
            self.learn(launch.backend, |record| record.framing = FramingChoice::Fixed(framing));
            self.report(Fact::FramingLearnt { backend: launch.backend, framing });
        }
    }

    pub(crate) fn backend_response(&mut self, launch: Launch, message: Message, failed: bool) {
        let minted = message.part(Part::Id).and_then(RawId::minted);
        if let Some(minted) = minted {
            self.ended_call_answered(launch, minted);
        }
        // A backend may only answer requests that were sent to it: an id of another backend's request does not count.
        let known = minted.filter(|&id| self.pending.get(id).is_some_and(|p| p.was_sent_to(launch.backend)));
        let is_without_id = message.part(Part::Id) == Some(RawId::NULL);
        let is_unparsed = || failed && error_code(&message) == Some(PARSE_ERROR);
        // An error without an id can be attributed only if a single request is open.
        let meant = || is_without_id.then(|| self.only_open(launch, is_unparsed())).flatten();
        let Some(minted) = known.or_else(meant) else {
            if let Some(minted) = minted {
                self.no_log_follows(launch.backend, minted);
            }
            return self.late_answer(launch);
        };
        self.record_answered(launch, minted);
        if known.is_none() && !failed {
            let error = self.bad_answer(launch.backend, "a result without an id");
            return self.fail_open(launch, minted, &error);
        }
        // Before the request is closed: it goes to the next daemon under the same id.
        if failed && self.is_turned_away(launch, minted, &message) {
            return self.keep_for_next(launch, minted);
        }
        let Some(pending) = self.close_answered(minted) else { return };
        match *pending.asker() {
            Asker::Client { .. } => self.deliver(launch, pending, message, failed),
            Asker::Replay => self.replayed(launch, &message, failed),
            Asker::Catalogue { list, round } => self.page_came(launch, list, round, &message, failed),
            Asker::Era => self.era_answered(launch, failed),
            // The message itself was the sign of life.
            Asker::Probe => {}
            Asker::Restore => self.subscription_answered(&pending, failed),
            Asker::Listen => {
                let is_unknown = failed && is_not_offered(&message);
                self.own_listen_over(launch.backend, minted, is_unknown);
            }
            Asker::Paused => self.paused_answered(launch, minted, pending, message, failed),
        }
    }

    pub(crate) fn late_answer(&mut self, launch: Launch) {
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        let total = b.counters_mut().count_late_answer();
        self.report(Fact::LateAnswer { backend: launch.backend, total });
    }

    /// Delivers an answer to the waiting client, with its own id restored.
    pub(crate) fn deliver(&mut self, launch: Launch, pending: Pending, message: Message, failed: bool) {
        let &Asker::Client { client, ref id, batch } = pending.asker() else { return };
        // As the request was: its client may speak another era by now.
        let is_translated = pending.is_translated();
        if let Some(b) = self.backends.get_mut(&launch.backend) {
            b.record_answer(failed);
            // Pings alone must not keep an unused backend running.
            if pending.method() != Method::Ping {
                b.touch(self.clock.now());
            }
        }
        let mut compared = Ok(());
        if pending.method() == Method::Initialize {
            // A refusal may be the client's own fault, and says nothing about the start.
            if !failed {
                self.record_start(launch.backend, LastStart::Well);
            }
            self.greeted(launch, client, &pending, &message, failed);
        } else if !failed {
            self.learn_offer(launch.backend, pending.method(), &message);
            if pending.method() == Method::ToolsList {
                compared = self.compare_page(launch.backend, &message);
            }
            self.record_effect(launch, client, &pending, &message);
        } else {
            self.not_subscribed(&pending);
        }
        if pending.method() == Method::SetLevel {
            self.level_answered(launch.backend, client, failed);
        }
        // A cancelled member of a batch was closed already; its array no longer has room for an answer.
        let cancelled = pending.is_cancelled();
        if cancelled && batch.is_some() {
            return self.late_answer(launch);
        }
        if failed && self.denies_url(launch.backend, client, &message) {
            let error = self.url_denied(launch.backend);
            return self.refuse_answer(&pending, &error);
        }
        if let Some(error) = self.denies_input(launch.backend, client, &message) {
            return self.refuse_answer(&pending, &error);
        }
        let withheld = if failed { None } else { self.withholds_task(launch.backend, client, &pending) };
        if let Some(error) = withheld {
            return self.refuse_answer(&pending, &error);
        }
        if is_translated && failed && !pending.is_cancelled() && self.wants_url_first(&pending, &message) {
            return self.check_drained();
        }
        let message = if is_translated { as_modern_list(message, pending.method()) } else { message };
        let Some(c) = self.clients.get(&client) else { return };
        let mut out = Outgoing::of(&message);
        out.replace(message.span(Part::Id), Patch::Id(id.clone()));
        if is_translated {
            self.put_modern_members(client, (&message, pending.method()), failed, &mut out);
        }
        if message.has(Part::ResultSubscriptionId) && pending.method() == Method::Listen {
            out.replace(message.span(Part::ResultSubscriptionId), Patch::Id(id.clone()));
        }
        if pending.method() == Method::TasksList && !failed {
            self.own_tasks_only(launch.backend, client, &message, &mut out);
        }
        if c.is_delegate() && !failed {
            self.tell_apart(client, &pending, &message, &mut out);
        } else if !failed
            && let Err(error) = compared.and_then(|()| self.screen_answer(c, &pending, &message, &mut out))
        {
            return self.refuse_answer(&pending, &error);
        }
        dialect::translate(&message, c.dialect(), &mut out);
        let answer_bytes = out.len();
        let passed = self.answer(client, id, batch, out);
        // A cancelled request was concluded when it was cancelled.
        if !cancelled {
            let outcome = match (passed, failed) {
                (true, false) => Outcome::Ok,
                (true, true) => Outcome::ServerError,
                (false, _) => Outcome::Refused(switchboard_protocol::ErrorKind::ClientTooSlow),
            };
            self.conclude(&pending, outcome);
            let is_tool_error =
                pending.method() == Method::ToolsCall && message.part(Part::ResultIsError) == Some(b"true");
            self.report_call(&pending, CallEnd { outcome, answer_bytes, is_tool_error });
        }
        // After the answer: a question about roots must not reach the client before it.
        if pending.method() == Method::Initialize {
            self.after_greeting(launch.backend, client);
        }
        self.check_drained();
    }

    /// Answers a request with an error in place of its server's answer.
    fn refuse_answer(&mut self, pending: &Pending, error: &ErrorAnswer) {
        match pending.is_cancelled() {
            true => self.no_answer_follows(pending),
            false => self.fail(pending, error),
        }
        self.check_drained();
    }

    /// Closes the accounts of a request: one summary fact, one fewer unanswered.
    pub(crate) fn conclude(&mut self, pending: &Pending, outcome: Outcome) {
        let Asker::Client { client, id, .. } = pending.asker() else { return };
        if let Some(b) = self.backends.get_mut(&pending.backend()) {
            b.counters_mut().count_request(outcome != Outcome::Ok);
        }
        let client = self.one_fewer(*client);
        let fact = Fact::Answered {
            client,
            backend: Some(pending.backend()),
            method: pending.name().clone(),
            id: id.clone(),
            took: self.clock.now().since(pending.accepted()),
            outcome,
        };
        self.report(fact);
    }

    /// Ends a request with an error of ours, unless its client has cancelled it.
    pub(crate) fn fail(&mut self, pending: &Pending, error: &ErrorAnswer) {
        if pending.is_cancelled() {
            return;
        }
        let Asker::Client { client, id, batch } = pending.asker() else { return };
        self.not_subscribed(pending);
        if pending.method() == Method::Initialize
            && let Some(c) = self.clients.get_mut(client)
        {
            let early = c.confirmed_early().cloned();
            c.fail_handshake();
            self.forget_early(pending.backend(), *client, early);
        }
        self.answer_error(*client, id, *batch, error);
        self.conclude(pending, Outcome::Refused(error.kind));
        self.report_failed_call(pending, error);
        if pending.method() == Method::Initialize {
            let (backend, client) = (pending.backend(), *client);
            self.followups.push(Followup::GreetNext { backend, client });
        }
    }

    /// Handles a request of a backend. `about`: the client's request that it belongs to, where that is known.
    pub(crate) fn backend_request(&mut self, launch: Launch, message: &Message, about: Option<u64>) {
        let Some(id) = message.id() else { return };
        let backend = launch.backend;
        if self.is_modern(backend) {
            let error = self.no_server_requests(&message.method_name());
            return self.refuse_backend(launch, &id, &error);
        }
        // Before anything is learnt from it: a server that may not ask needs no client of its own.
        if self.denies_ask(launch, &id, message) {
            return;
        }
        let relays = self.settings_of(backend).relays;
        // Determined before the question is recorded, which may separate the clients.
        let addressee = match about {
            Some(minted) => self.asker_of(minted),
            None => self.addressee(launch, message),
        };
        let are_told = message.method() == Method::RootsList
            && match (about, &addressee) {
                (None, _) => !relays && self.backend_asks_roots(launch, &id, message),
                (Some(_), Addressee::Client(client)) => self.call_asks_roots(launch, &id, *client),
                (Some(_), _) => false,
            };
        if are_told {
            self.record_asking(backend);
            return;
        }
        let is_question =
            !relays && about.is_none() && !matches!(message.method(), Method::Ping | Method::RootsList);
        if is_question {
            self.record_question(backend, &addressee);
        }
        let client = match addressee {
            Addressee::Client(client) => client,
            // A ping only asks whether a client is there.
            Addressee::Several if message.method() == Method::Ping => {
                return self.answer_backend(launch, &id);
            }
            Addressee::Several => {
                let error = self.whose_question(backend);
                return self.refuse_backend(launch, &id, &error);
            }
            Addressee::Absent => {
                let error = self.client_gone();
                return self.refuse_backend(launch, &id, &error);
            }
        };
        if about.is_some()
            && let Some(error) = self.lacks_capability(backend, client, message)
        {
            return self.refuse_backend(launch, &id, &error);
        }
        if let Some(error) = self.foreign_task(backend, client, message) {
            return self.refuse_backend(launch, &id, &error);
        }
        let open = self.questions.iter().filter(|(_, asked)| asked.is_of(backend)).count();
        if open >= self.settings.limits.asked_per_backend {
            let error = self.overloaded(Some(backend), Overload::Questions);
            return self.refuse_backend(launch, &id, &error);
        }
        self.backend_is_active(launch.backend);
        if self.clients.get(&client).is_some_and(|c| c.speaks_modern()) {
            return self.ask_modern(launch, client, id, message);
        }
        let minted = self.questions.mint();
        // The SDKs use the request's id as the progress token, so both get the minted id.
        let ours = RawId::from_number(minted);
        let token = message.part(Part::MetaProgressToken).map(RawId::from_bytes);
        let mut out = self.for_client(client, message);
        out.replace(message.span(Part::Id), Patch::Id(ours.clone()));
        if token.is_some() {
            out.replace(message.span(Part::MetaProgressToken), Patch::Id(ours));
        }
        let about = self.at_hand(client, backend);
        // A question that the client never got must not be recorded: nobody would answer it.
        if !self.tell_client_about(client, out, about) {
            let error = self.overloaded(Some(backend), Overload::ClientUnread);
            return self.refuse_backend(launch, &id, &error);
        }
        let deadline = self.settings_of(backend).hard_timeout.map(|hard| self.clock.now() + hard);
        if let Some(token) = &token {
            self.questions.remember_token(minted, client, launch, token);
        }
        let by = AskedBy::Backend { launch, id };
        let question = Question::new(client, by, name_of(message), self.clock.now(), deadline);
        self.questions.insert(minted, question);
        if let Some(deadline) = deadline {
            self.clock.wake_at(deadline);
        }
    }

    /// The client that a question about this request is for. Nobody, if the request is Switchboard's own, or is cancelled.
    fn asker_of(&self, minted: u64) -> Addressee {
        let pending = self.pending.get(minted).filter(|pending| !pending.is_cancelled());
        pending.and_then(Pending::client).map_or(Addressee::Absent, |client| self.if_here(client))
    }

    /// The error for a question of a modern server that its client has not declared to answer. Servers of the legacy era
    /// get the client's own refusal.
    fn lacks_capability(
        &self,
        backend: BackendId,
        client: ClientId,
        message: &Message,
    ) -> Option<ErrorAnswer> {
        let need = Need::of(message)?;
        // A client that has become modern since its call takes no requests.
        let is_declared = self.clients.get(&client).is_some_and(|c| !c.speaks_modern() && c.declares(&need));
        (!is_declared).then(|| self.lacks(backend, &need))
    }

    pub(crate) fn for_client(&self, client: ClientId, message: &Message) -> Outgoing {
        let mut out = Outgoing::of(message);
        let Some(c) = self.clients.get(&client) else { return out };
        if c.is_delegate() {
            self.name_server(c, message, &mut out);
        }
        dialect::translate(message, c.dialect(), &mut out);
        out
    }

    fn backend_notification(&mut self, launch: Launch, message: &Message) {
        if self.denies_notification(launch.backend, message) {
            return;
        }
        match message.method() {
            Method::Progress => self.backend_progress(launch, message),
            Method::Cancelled if self.is_modern(launch.backend) => self.server_ends_listen(launch, message),
            Method::Cancelled => self.backend_cancels(launch, message),
            _ if self.is_modern(launch.backend) => self.modern_notification(launch, message),
            // A daemon speaks the era of the client, which only it knows.
            _ if self.settings_of(launch.backend).relays && message.has(Part::MetaSubscriptionId) => {
                self.modern_notification(launch, message);
            }
            method => {
                if method == Method::TaskStatus {
                    self.task_status(launch.backend, message);
                }
                if method.is_list_change() {
                    self.offer_changed(launch, method);
                }
                if self.goes_on_now(MergeSource::Backend(launch.backend), message) {
                    self.spread_notification(launch.backend, message);
                }
            }
        }
    }

    /// Sends a notification to all clients concerned.
    pub(crate) fn spread_notification(&mut self, backend: BackendId, message: &Message) {
        let audience = self.audience(backend, message);
        if audience.is_empty() && self.is_unheard(backend, message) {
            let params = message.part(Part::Params).unwrap_or_default();
            // Only log messages go to our log; other bodies may contain anything.
            let is_log = message.method() == Method::LogMessage;
            let redacted = || self.settings.secrets.redact_cut(params, MAX_UNHEARD_BYTES);
            let text = if is_log { redacted() } else { String::new() };
            self.report(Fact::Unheard { backend, method: name_of(message), text });
        }
        for client in audience {
            if self.clients.get(&client).is_some_and(|c| c.speaks_modern()) && !self.is_modern(backend) {
                self.tell_modern(client, backend, message);
                continue;
            }
            let out = self.for_client(client, message);
            let about = match message.method() {
                // About the server's current work. Anything else is news for everyone.
                Method::LogMessage => self.at_hand(client, backend),
                _ => About::Nothing,
            };
            self.tell_client_about(client, out, about);
        }
    }

    fn backend_cancels(&mut self, launch: Launch, message: &Message) {
        let Some(wanted) = message.part(Part::RequestId) else { return };
        let ids = self.questions.ids(|question| question.is_asked_as(launch, wanted));
        // The newest one, in case the server has reused the id.
        let Some(&minted) = ids.last() else { return };
        // The server no longer waits, and the client will not answer a cancelled request.
        let Some(asked) = self.questions.remove(minted) else { return };
        self.report_asked(&asked, Outcome::Cancelled);
        // A modern client was asked by an answer, which is no longer open.
        if self.clients.get(&asked.client()).is_some_and(|c| c.is_translated()) {
            return;
        }
        let mut out = self.for_client(asked.client(), message);
        out.replace(message.span(Part::RequestId), Patch::Id(RawId::from_number(minted)));
        self.tell_client(asked.client(), out);
    }

    /// Answers a server's request with an error, in place of its client.
    pub(crate) fn refuse_question(&mut self, question: &Question, error: &ErrorAnswer) {
        self.report_asked(question, Outcome::Refused(error.kind));
        match question.by() {
            AskedBy::Backend { launch, id } => self.refuse_backend(*launch, id, error),
            AskedBy::Ourselves => self.roots_unknown(question.client()),
        }
    }

    pub(crate) fn report_asked(&mut self, asked: &Question, outcome: Outcome) {
        let fact = Fact::Asked {
            client: self.connection_of(asked.client()),
            backend: asked.launch().map(|launch| launch.backend),
            method: asked.name().clone(),
            took: self.clock.now().since(asked.accepted()),
            outcome,
        };
        self.report(fact);
    }

    /// Restarts the timeouts of a backend's requests: a server that talks with its client about its work is working.
    pub(crate) fn backend_is_active(&mut self, backend: BackendId) {
        let (now, timeout) = (self.clock.now(), self.settings_of(backend).timeout);
        for pending in self.pending.values_mut() {
            if pending.backend() == backend && !pending.method().is_short() {
                pending.go_on_until(now + timeout);
            }
        }
    }

    /// Restarts the timeout of one request.
    pub(crate) fn request_goes_on(&mut self, backend: BackendId, minted: u64) {
        let (now, timeout) = (self.clock.now(), self.settings_of(backend).timeout);
        if let Some(pending) = self.pending.get_mut(minted).filter(|it| it.backend() == backend) {
            pending.go_on_until(now + timeout);
        }
    }
}

fn error_code(message: &Message) -> Option<i64> {
    #[derive(Deserialize)]
    struct Failed {
        error: Code,
    }
    #[derive(Deserialize)]
    struct Code {
        code: i64,
    }
    serde_json::from_slice::<Failed>(message.bytes()).ok().map(|failed| failed.error.code)
}

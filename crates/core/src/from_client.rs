//! What a client sends: requests go to its backend under a minted id, answers go back to the backend that
//! asked, notifications follow the request they speak of.

use crate::answers::Cause;
use crate::backend::{State, Waiting};
use crate::client::{Farewell, Presence};
use crate::event::{Action, BackendId, ClientId, Launch};
use crate::exchange::Core;
use crate::fact::{Fact, Outcome};
use crate::moment::Moment;
use crate::pending::{Asker, Pending, Progress, name_of};
use crate::settings::{LIST_TIMEOUT, ServerSettings};
use std::time::Duration;
use switchboard_protocol::hunt::Glimpse;
use switchboard_protocol::{
    Broken, Dialect, ErrorAnswer, Kind, Message, Method, Outgoing, Parsed, Part, Patch, RawId, dialect,
};

impl Core {
    pub(crate) fn client_sent(&mut self, client: ClientId, frame: Result<Parsed, Broken>) {
        if self.is_lost(client) {
            return;
        }
        match frame {
            Ok(Parsed::One(message)) => self.client_message(client, message, None),
            Ok(Parsed::Batch(members)) => {
                let Some(c) = self.clients.get_mut(&client) else { return };
                let batch = Some(c.batches.open(members.len()));
                for member in members {
                    match member {
                        Ok(message) => self.client_message(client, message, batch),
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
        // A broken answer: whoever waits for it is a backend.
        if broken.is_answer
            && let Some(asked) = broken.id.as_ref().and_then(|id| RawId::minted(id.as_bytes()))
            && self.settle_asked(client, asked, &error)
        {
            return self.no_answer(client, batch);
        }
        let id = broken.id.clone().unwrap_or_else(RawId::null);
        self.answer_error(client, &id, batch, &error);
    }

    /// What a client had sent before it was gone concerns nobody: no answer would be read.
    fn is_lost(&self, client: ClientId) -> bool {
        self.clients.get(&client).is_none_or(|c| c.presence == Presence::Lost)
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
                told |= self.settle_asked(client, asked, &error);
            }
        }
        let is_notification = glimpses.iter().any(|glimpse| glimpse.method.is_some());
        if !told && !is_notification {
            self.answer_error(client, &RawId::null(), None, &error);
        }
    }

    /// Answers a backend's request in place of its client.
    fn settle_asked(&mut self, client: ClientId, minted: u64, error: &ErrorAnswer) -> bool {
        if self.asked.get(minted).is_none_or(|asked| asked.client != client) {
            return false;
        }
        let Some(asked) = self.asked.remove(minted) else { return false };
        self.report_asked(&asked, Outcome::Refused(error.kind));
        self.refuse_backend(asked.launch(), &asked.id, error);
        true
    }

    fn client_message(&mut self, client: ClientId, message: Message, batch: Option<u32>) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.ear.hear(&message);
        match message.kind() {
            Kind::Request => self.client_request(client, message, batch),
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

    fn client_request(&mut self, client: ClientId, message: Message, batch: Option<u32>) {
        let Some(id) = message.id() else { return };
        match message.method() {
            // Claude asks this first, and some servers die of it.
            Method::Discover => {
                let error = self.not_offered("server/discover");
                return self.refuse(client, &id, batch, &message, &error);
            }
            Method::Shutdown => return self.say_farewell(client, id, batch),
            _ => {}
        }
        let Some(c) = self.clients.get(&client) else { return };
        let backend = c.backend;
        if let Some(error) = self.why_not(c.unanswered, c.farewell.is_some(), backend, &message) {
            return self.refuse(client, &id, batch, &message, &error);
        }
        self.accept(client, backend, id, batch, message);
    }

    /// The reason for which a request cannot be accepted now.
    fn why_not(
        &self,
        unanswered: usize,
        leaving: bool,
        backend: BackendId,
        message: &Message,
    ) -> Option<ErrorAnswer> {
        if leaving || !self.is_running() {
            return Some(self.shutting_down());
        }
        if unanswered >= self.settings.limits.pending_per_client {
            return Some(self.overloaded(&format!("{unanswered} requests wait for their answers")));
        }
        let b = self.backends.get(&backend)?;
        match &b.state {
            State::Failed { until, why } if self.now < *until => {
                Some(self.cause(&Cause::BreakerOpen { why: why.clone(), wait: until.since(self.now) }))
            }
            State::Ready { .. } if !self.has_room(backend, message.bytes().len()) => {
                Some(self.overloaded("the server does not read what it is sent"))
            }
            State::Ready { .. } if self.may_go(backend, message.method()) => None,
            State::Ready { .. } if !self.may_wait(backend, message.bytes().len()) => {
                let at_work = b.at_work;
                Some(self.overloaded(&format!(
                    "the server works on as many requests as it may ({at_work}), and too many wait"
                )))
            }
            State::Ready { .. } => None,
            _ if !self.may_wait(backend, message.bytes().len()) => {
                Some(self.overloaded("too many messages wait for the server to be ready"))
            }
            _ => None,
        }
    }

    /// Whether one more message of this size may wait for the backend to be ready.
    fn may_wait(&self, backend: BackendId, bytes: usize) -> bool {
        let Some(b) = self.backends.get(&backend) else { return false };
        if b.waiting.len() >= self.settings.server.max_queue {
            return false;
        }
        let length = |waiting: &Waiting| match waiting {
            Waiting::Request(minted) => {
                self.pending.get(*minted).map_or(0, |pending| match &pending.progress {
                    Progress::Waiting(message) => message.bytes().len(),
                    Progress::Sent(_) | Progress::Cancelled => 0,
                })
            }
            Waiting::Notification(out) => out.len(),
        };
        // All of it is written at once in the end, so it has the limit of the outbox.
        let waits: usize = b.waiting.iter().map(length).sum();
        waits == 0 || waits + bytes <= self.settings.limits.backend_bytes
    }

    fn refuse(
        &mut self,
        client: ClientId,
        id: &RawId,
        batch: Option<u32>,
        message: &Message,
        error: &ErrorAnswer,
    ) {
        self.report(Fact::Answered {
            client,
            backend: None,
            method: name_of(message),
            id: id.clone(),
            took: Default::default(),
            outcome: Outcome::Refused(error.kind),
        });
        self.answer_error(client, id, batch, error);
    }

    fn accept(
        &mut self,
        client: ClientId,
        backend: BackendId,
        id: RawId,
        batch: Option<u32>,
        message: Message,
    ) {
        if let Some(c) = self.clients.get_mut(&client) {
            c.unanswered += 1;
            if message.method() == Method::Initialize {
                c.handshake.ask();
            }
        }
        let server = &self.settings.server;
        let latest = server.hard_timeout.map(|hard| self.now + hard);
        let is_ready = self.backends.get(&backend).is_some_and(|b| matches!(b.state, State::Ready { .. }));
        let start = match is_ready {
            // It waits its turn at most.
            true => self.now + server.timeout,
            // Until it is sent: time for a start, and for a second one in the other framing.
            false => self.now + server.start_timeout * 2,
        };
        let deadline = latest.map_or(start, |latest| start.min(latest));
        let minted = self.pending.mint();
        let method = message.method();
        let pending = Pending {
            asker: Asker::Client { client, id, batch },
            backend,
            method: message.method(),
            name: name_of(&message),
            token: message.part(Part::MetaProgressToken).map(RawId::from_bytes),
            is_task: message.has(Part::Task),
            progress: Progress::Waiting(message),
            retried: false,
            has_turn: false,
            accepted: self.now,
            deadline,
            latest,
        };
        self.pending.insert(minted, pending);
        self.wake_at(deadline);
        if self.may_go(backend, method) {
            return self.send(minted);
        }
        if let Some(b) = self.backends.get_mut(&backend) {
            b.waiting.push_back(Waiting::Request(minted));
        }
        if !is_ready {
            self.ensure_started(backend);
        }
    }

    /// Writes a waiting request to its backend, under its minted id and token.
    pub(crate) fn send(&mut self, minted: u64) {
        self.take_turn(minted);
        let Some(pending) = self.pending.get_mut(minted) else { return };
        let deadline = deadline_of(&self.settings.server, self.now, pending);
        let Some(launch) = self.backends.get(&pending.backend).and_then(|b| b.launch()) else { return };
        let Progress::Waiting(message) = std::mem::replace(&mut pending.progress, Progress::Sent(None))
        else {
            return;
        };
        let ours = RawId::from_number(minted);
        let mut out = Outgoing::of(&message);
        out.replace(message.span(Part::Id), Patch::Id(ours.clone()));
        if pending.token.is_some() {
            out.replace(message.span(Part::MetaProgressToken), Patch::Id(ours));
        }
        dialect::translate(&message, Dialect::Standard, &mut out);
        pending.deadline = deadline;
        if let Asker::Client { client, id, .. } = &pending.asker
            && self.settings.report_routes
        {
            let (client, method, id) = (*client, pending.name.clone(), id.clone());
            let backend = pending.backend;
            self.actions.push(Action::Report(Fact::Routed { client, backend, method, id, minted }));
        }
        if pending.method.is_repeatable() || pending.method == Method::Initialize {
            pending.progress = Progress::Sent(Some(message));
        }
        self.wake_at(deadline);
        self.send_to_backend(launch, out);
    }

    fn say_farewell(&mut self, client: ClientId, id: RawId, batch: Option<u32>) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        if c.farewell.is_some() {
            let error = self.shutting_down();
            return self.answer_error(client, &id, batch, &error);
        }
        c.farewell = Some(Farewell { id, batch, answered: false });
        self.begin_drain("the client asked for it", false);
        self.answer_farewells();
    }

    fn client_notification(&mut self, client: ClientId, message: Message) {
        match message.method() {
            Method::Exit => return self.leave_now(),
            Method::Cancelled => return self.client_cancels(client, &message),
            Method::Progress => return self.client_progress(client, &message),
            Method::Initialized => {
                let Some(c) = self.clients.get_mut(&client) else { return };
                c.handshake.confirm(message.clone());
                let is_ready =
                    self.backends.get(&c.backend).is_some_and(|b| matches!(b.state, State::Ready { .. }));
                if c.handshake.is_answered() && !is_ready {
                    // The new process hears it with the replayed handshake.
                    return;
                }
            }
            _ => {}
        }
        let mut out = Outgoing::of(&message);
        dialect::translate(&message, Dialect::Standard, &mut out);
        self.notify_backend(client, out);
    }

    fn notify_backend(&mut self, client: ClientId, out: Outgoing) {
        let Some(backend) = self.clients.get(&client).map(|c| c.backend) else { return };
        let may_wait = self.may_wait(backend, out.len());
        let Some(b) = self.backends.get_mut(&backend) else { return };
        match b.state {
            State::Ready { number, .. } => self.tell_backend(Launch { backend, number }, out),
            // In order with the requests around it.
            State::Starting { .. } | State::Stopping { .. } | State::Backoff { .. } if may_wait => {
                b.waiting.push_back(Waiting::Notification(out));
            }
            // A process that is not there has nothing to be told: it learns what it needs by the handshake.
            State::Stopped
            | State::Failed { .. }
            | State::Starting { .. }
            | State::Stopping { .. }
            | State::Backoff { .. } => b.dropped += 1,
        }
    }

    fn client_cancels(&mut self, client: ClientId, message: &Message) {
        let Some(wanted) = message.part(Part::RequestId) else { return };
        let is_meant = |pending: &Pending| match &pending.asker {
            Asker::Client { client: owner, id, .. } => *owner == client && id.as_bytes() == wanted,
            Asker::Replay | Asker::Probe => false,
        };
        // The newest: a client may have used the id before. `initialize` cannot be taken back.
        let ids = self.pending.ids(|pending| is_meant(pending) && pending.method != Method::Initialize);
        let Some(&minted) = ids.last() else { return };
        let Some(pending) = self.pending.get_mut(minted) else { return };
        match std::mem::replace(&mut pending.progress, Progress::Cancelled) {
            Progress::Waiting(_) => {
                let backend = pending.backend;
                if let Some(b) = self.backends.get_mut(&backend) {
                    b.waiting.retain(|waiting| !matches!(waiting, Waiting::Request(id) if *id == minted));
                }
                self.conclude_cancelled(minted);
                self.close(minted);
            }
            Progress::Sent(_) => {
                let mut out = Outgoing::of(message);
                out.replace(message.span(Part::RequestId), Patch::Id(RawId::from_number(minted)));
                dialect::translate(message, Dialect::Standard, &mut out);
                self.conclude_cancelled(minted);
                self.notify_backend(client, out);
                self.give_up_turn(minted);
            }
            Progress::Cancelled => {}
        }
        self.check_drained();
    }

    /// The client no longer waits; the entry stays for an answer that may come all the same.
    fn conclude_cancelled(&mut self, minted: u64) {
        let Some(pending) = self.pending.get(minted) else { return };
        let Asker::Client { client, id, batch } = pending.asker.clone() else { return };
        let fact = Fact::Answered {
            client,
            backend: Some(pending.backend),
            method: pending.name.clone(),
            id,
            took: self.now.since(pending.accepted),
            outcome: Outcome::Cancelled,
        };
        self.report(fact);
        if let Some(c) = self.clients.get_mut(&client) {
            c.unanswered -= 1;
        }
        self.no_answer(client, batch);
    }

    fn client_progress(&mut self, client: ClientId, message: &Message) {
        let minted = message.part(Part::ProgressToken).and_then(RawId::minted);
        let Some(asked) = minted.and_then(|minted| self.asked.get_mut(minted)) else { return };
        let (Some(token), true) = (asked.token.clone(), asked.client == client) else { return };
        let launch = asked.launch();
        let mut out = Outgoing::of(message);
        out.replace(message.span(Part::ProgressToken), Patch::Id(token));
        dialect::translate(message, Dialect::Standard, &mut out);
        self.tell_backend(launch, out);
    }

    fn client_response(&mut self, client: ClientId, message: &Message, failed: bool) {
        let minted = message.part(Part::Id).and_then(RawId::minted);
        let known =
            minted.filter(|&minted| self.asked.get(minted).is_some_and(|asked| asked.client == client));
        let Some(asked) = known.and_then(|minted| self.asked.remove(minted)) else {
            let what = "an answer to a request that nobody made, or that is over".to_owned();
            return self.report(Fact::BadMessage { from: client.to_string().into(), what });
        };
        self.report_asked(&asked, if failed { Outcome::ServerError } else { Outcome::Ok });
        self.backend_is_active(asked.backend);
        let launch = asked.launch();
        if !self.has_room(asked.backend, message.bytes().len()) {
            let error = self.overloaded("the server does not read what it is sent");
            return self.refuse_backend(launch, &asked.id, &error);
        }
        let mut out = Outgoing::of(message);
        out.replace(message.span(Part::Id), Patch::Id(asked.id));
        dialect::translate(message, Dialect::Standard, &mut out);
        self.send_to_backend(launch, out);
    }
}

/// When a request must be answered, if it is sent now.
fn deadline_of(server: &ServerSettings, now: Moment, pending: &Pending) -> Moment {
    let within = match pending.method {
        Method::Initialize => server.start_timeout,
        // Waits for the end of a task, which has no time limit of its own.
        Method::TaskResult => server.hard_timeout.unwrap_or(Duration::MAX),
        method if method.is_short() => server.timeout.min(LIST_TIMEOUT),
        _ => server.timeout,
    };
    let deadline = now + within;
    pending.latest.map_or(deadline, |latest| deadline.min(latest))
}

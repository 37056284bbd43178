//! Messages of clients without an answer: notifications follow the request they belong to, and answers go to
//! the backend that asked.

use crate::answers::Overload;
use crate::backends::BackendState;
use crate::clients::Client;
use crate::core::Core;
use crate::fact::{Fact, Outcome};
use crate::ids::{BackendId, ClientId, Launch};
use crate::pending::{AskedBy, Asker, MergeSource, Pending, Question, RequestState};
use crate::transitions::clients::calls::is_limited_method;
use crate::transitions::{CallEnd, names_task};
use crate::translation::for_modern::as_legacy;
use switchboard_protocol::{Dialect, Message, Method, Outgoing, Part, Patch, RawId, dialect};

impl Core {
    pub(crate) fn client_notification(&mut self, client: ClientId, message: Message) {
        match message.method() {
            // A daemon has other clients; otherwise the program was started for this one.
            Method::Exit if self.lives_on() => return self.part_with(client),
            Method::Exit => return self.leave_now(),
            Method::Cancelled => return self.client_cancels(client, &message),
            Method::Progress => return self.client_progress(client, &message),
            Method::TaskStatus => return self.held_task_status(client, &message),
            Method::Initialized if self.has_aggregate(client) => {
                return self.aggregate_initialized(client, &message);
            }
            Method::Initialized => return self.client_initialized(client, &message),
            _ => {}
        }
        if self.is_request_without_id(client, &message) {
            let what = format!("`{}` without an id is not passed on", message.method_name());
            return self.report(Fact::BadMessage { from: client.to_string().into(), what });
        }
        if self.goes_on_now(MergeSource::Client(client), &message) {
            self.pass_notification(client, &message);
        }
    }

    /// Whether a notification would have a server do what only a request may: some servers do it without an id,
    /// too. Rights, limits, filters and the audit judge requests.
    fn is_request_without_id(&self, client: ClientId, message: &Message) -> bool {
        let is_narrowed = |c: &Client| c.is_restricted() || !c.naming().is_open();
        match self.clients.get(&client).is_some_and(is_narrowed) {
            true => !message.method_name().starts_with("notifications/"),
            false => is_limited_method(message),
        }
    }

    pub(crate) fn pass_notification(&mut self, client: ClientId, message: &Message) {
        match message.method() {
            _ if self.has_aggregate(client) => self.pass_to_delegates(client, message),
            Method::RootsChanged => self.roots_changed(client, message),
            _ => self.notify_home(client, message),
        }
    }

    /// Forwards a notification to the client's home.
    pub(crate) fn notify_home(&mut self, client: ClientId, message: &Message) {
        let mut out = Outgoing::of(message);
        dialect::translate(message, Dialect::Standard, &mut out);
        if let Some(home) = self.clients.get(&client).and_then(|c| c.home()) {
            self.notify_backend(home, out);
        }
    }

    pub(crate) fn notify_backend(&mut self, backend: BackendId, out: Outgoing) {
        let may_wait = self.may_wait(None, backend, out.len());
        let is_in_line = self.backends.waits_for_room(backend);
        let Some(b) = self.backends.get_mut(&backend) else { return };
        match b.state() {
            &BackendState::Ready { number, .. } => self.tell_backend(Launch { backend, number }, out),
            // In order with the requests around it.
            BackendState::Starting { .. } | BackendState::Stopping { .. } | BackendState::Backoff { .. }
                if may_wait =>
            {
                b.queue_mut().push_notification(out);
            }
            BackendState::Stopped if may_wait && is_in_line => b.queue_mut().push_notification(out),
            // Without a process there is nothing to notify: the next one learns what it needs from the handshake.
            BackendState::Stopped
            | BackendState::Failed { .. }
            | BackendState::Starting { .. }
            | BackendState::Stopping { .. }
            | BackendState::Backoff { .. } => {
                b.counters_mut().count_dropped();
            }
        }
    }

    fn client_cancels(&mut self, client: ClientId, message: &Message) {
        let Some(wanted) = message.part(Part::RequestId) else { return };
        let is_meant = |pending: &Pending| match pending.asker() {
            Asker::Client { client: owner, id, .. } => {
                id.as_bytes() == wanted && self.connection_of(*owner) == client
            }
            Asker::Replay
            | Asker::Probe
            | Asker::Restore
            | Asker::Catalogue { .. }
            | Asker::Era
            | Asker::Listen
            | Asker::Paused => false,
        };
        // The newest one, since a client may have reused the id. `initialize` cannot be cancelled.
        let ids = self.pending.ids(|pending| is_meant(pending) && pending.method() != Method::Initialize);
        let Some(&minted) = ids.last() else { return };
        let Some(pending) = self.pending.get_mut(minted) else { return };
        match pending.cancel() {
            RequestState::Waiting(_) => {
                let backend = pending.backend();
                self.unqueue(backend, minted);
                self.conclude_cancelled(minted);
                self.close_unsent(minted);
            }
            RequestState::Sent(_) => {
                let message = match pending.is_translated() {
                    true => as_legacy(message.clone()),
                    false => message.clone(),
                };
                let mut out = Outgoing::of(&message);
                out.replace(message.span(Part::RequestId), Patch::Id(RawId::from_number(minted)));
                dialect::translate(&message, Dialect::Standard, &mut out);
                let (backend, method, owner) = (pending.backend(), pending.method(), pending.client());
                let may_ask = pending.words().is_some();
                self.conclude_cancelled(minted);
                self.notify_backend(backend, out);
                self.ended_unanswered(minted, backend, may_ask);
                // The server may ignore the cancellation, but that must not block others.
                self.give_up_turn(minted);
                if method == Method::Listen {
                    self.listen_over(minted);
                }
                self.forget_cancelled(client);
                if method == Method::SetLevel {
                    self.keep_level(backend, owner);
                }
            }
            RequestState::Cancelled => {}
        }
        self.check_drained();
    }

    /// Concludes a cancelled request; the entry stays, since an answer may still come.
    fn conclude_cancelled(&mut self, minted: u64) {
        let Some(pending) = self.pending.get(minted) else { return };
        let Asker::Client { client, id, batch } = pending.asker().clone() else { return };
        let fact = Fact::Answered {
            client: self.connection_of(client),
            backend: Some(pending.backend()),
            method: pending.name().clone(),
            id,
            took: self.clock.now().since(pending.accepted()),
            outcome: Outcome::Cancelled,
        };
        self.report(fact);
        self.report_open_call(minted, CallEnd::cancelled());
        self.one_fewer(client);
        self.no_answer(client, batch);
    }

    pub(crate) fn client_response(&mut self, client: ClientId, message: &Message, failed: bool) {
        let minted = message.part(Part::Id).and_then(RawId::minted);
        let known = minted.filter(|&minted| {
            // A paused call is answered by its continuation only.
            let is_its = |asked: &Question| self.connection_of(asked.client()) == client;
            self.questions.get(minted).is_some_and(is_its) && !self.paused.has_question(minted)
        });
        let Some(asked) = known.and_then(|minted| self.questions.remove(minted)) else {
            let what = "an answer to an unknown or finished request".to_owned();
            return self.report(Fact::BadMessage { from: client.to_string().into(), what });
        };
        self.report_asked(&asked, if failed { Outcome::ServerError } else { Outcome::Ok });
        let (asked_client, method) = (asked.client(), Method::from_name(asked.name()));
        let (launch, id) = match asked.into_by() {
            AskedBy::Backend { launch, id } => (launch, id),
            AskedBy::Ourselves => return self.roots_answered(asked_client, message, failed),
        };
        self.backend_is_active(launch.backend);
        if !self.has_room(launch.backend, message.bytes().len()) {
            let error = self.overloaded(Some(launch.backend), Overload::ServerUnread);
            return self.refuse_backend(launch, &id, &error);
        }
        let mut out = Outgoing::of(message);
        out.replace(message.span(Part::Id), Patch::Id(id.clone()));
        match method {
            Method::TasksList => self.held_tasks_only(launch.backend, asked_client, message, &mut out),
            // The ids in these answers are the client's own.
            method if names_task(method) => self.record_held_end(launch.backend, message),
            _ if failed => {}
            _ => {
                self.own_related_task(asked_client, message, &mut out);
                if let Err(error) = self.record_held_task(launch.backend, asked_client, message) {
                    return self.refuse_backend(launch, &id, &error);
                }
            }
        }
        dialect::translate(message, Dialect::Standard, &mut out);
        self.send_to_backend(launch, out);
    }

    /// Passes the status of a task that a client runs to the server that wants it.
    fn held_task_status(&mut self, client: ClientId, message: &Message) {
        let held = self.backends_of_held_task(client, message);
        // The status of another client's task is not this client's to tell.
        if held.is_empty() && !self.has_aggregate(client) && !self.is_anothers_held_task(client, message) {
            return self.notify_home(client, message);
        }
        for backend in held {
            self.record_held_end(backend, message);
            let mut out = Outgoing::of(message);
            dialect::translate(message, Dialect::Standard, &mut out);
            self.notify_backend(backend, out);
        }
    }
}

//! The only exit for messages, with the byte credits of the outboxes. A request or an answer that does not
//! fit becomes a small error; a notification is counted and dropped. Must not know why a message is sent.

use crate::clients::Client;
use crate::core::Core;
use crate::event::{About, Action};
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId, Launch, Peer};
use crate::messages::own_result;
use crate::pending::{Asker, Pending};
use serde_json::{Value, json};
use switchboard_protocol::{Dialect, Era, ErrorAnswer, Method, Outgoing, RawId, dialect};

impl Core {
    /// Sends an answer to a client, alone or as part of its batch. It must fit.
    fn put_answer(&mut self, client: ClientId, id: &RawId, batch: Option<u32>, out: Outgoing) {
        let client = self.connection_of(client);
        let Some(c) = self.clients.get_mut(&client) else { return };
        if c.is_lost() {
            return;
        }
        if let Some(out) = c.charge_answer(id, batch, out) {
            self.actions.push(Action::ToClient { client, out, about: About::Nothing });
        }
    }

    /// Closes a batch member that gets no answer.
    pub(crate) fn no_answer(&mut self, client: ClientId, batch: Option<u32>) {
        let Some(batch) = batch else { return };
        let client = self.connection_of(client);
        let Some(c) = self.clients.get_mut(&client) else { return };
        if let Some(out) = c.charge_no_answer(batch) {
            self.actions.push(Action::ToClient { client, out, about: About::Nothing });
        }
    }

    /// Reports that no answer to a cancelled request follows.
    pub(crate) fn no_answer_follows(&mut self, pending: &Pending) {
        let Asker::Client { client, id, .. } = pending.asker() else { return };
        let client = self.connection_of(*client);
        let is_there = |c: &&Client| c.goes_by_request() && !c.is_lost();
        if self.clients.get(&client).filter(is_there).is_some() {
            self.actions.push(Action::NoAnswer { client, id: id.clone() });
        }
    }

    /// Forwards a server's answer, or an error if the client is too slow for it. Returns whether it was forwarded.
    pub(crate) fn answer(&mut self, client: ClientId, id: &RawId, batch: Option<u32>, out: Outgoing) -> bool {
        let limit = self.settings.limits.client_bytes;
        let Some(c) = self.clients.get(&self.connection_of(client)) else { return false };
        if !c.has_room_for_answer(out.len(), limit) {
            let error = self.client_too_slow(out.len());
            self.answer_error(client, id, batch, &error);
            return false;
        }
        self.put_answer(client, id, batch, out);
        true
    }

    /// Sends an error. Errors are small and always sent: every accepted request is answered.
    pub(crate) fn answer_error(
        &mut self,
        client: ClientId,
        id: &RawId,
        batch: Option<u32>,
        error: &ErrorAnswer,
    ) {
        let Some(c) = self.clients.get(&client) else { return };
        let error = self.disclosed(c, error);
        let out = match c.era_of_errors() {
            Era::Legacy => error.to_outgoing(id, c.dialect()),
            Era::Modern => error.into_owned().in_era(Era::Modern).to_outgoing(id, c.dialect()),
        };
        self.put_answer(client, id, batch, out);
    }

    /// Sends a server's notification or request to its client; `false` without room or client.
    pub(crate) fn tell_client(&mut self, client: ClientId, out: Outgoing) -> bool {
        self.tell_client_about(client, out, About::Nothing)
    }

    /// Same as [`tell_client`](Self::tell_client), for a message that belongs to one of the client's requests.
    pub(crate) fn tell_client_about(&mut self, client: ClientId, out: Outgoing, about: About) -> bool {
        // Half of the room is reserved for answers.
        let limit = self.settings.limits.client_bytes / 2;
        let client = self.connection_of(client);
        let Some(c) = self.clients.get_mut(&client) else { return false };
        // A stand-in has no connection.
        if c.is_lost() || c.is_stand_in() {
            return false;
        }
        if !c.has_room(out.len(), limit) {
            self.dropped_for(client);
            return false;
        }
        c.charge(out.len());
        self.actions.push(Action::ToClient { client, out, about });
        true
    }

    /// Counts a notification or request that a client did not get.
    pub(crate) fn dropped_for(&mut self, client: ClientId) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        let total = c.count_dropped();
        self.report_dropped(client.to_string(), total);
    }

    /// The latest request of a client that a backend works on.
    pub(crate) fn at_hand(&self, client: ClientId, backend: BackendId) -> About {
        if !self.clients.get(&self.connection_of(client)).is_some_and(|c| c.goes_by_request()) {
            return About::Nothing;
        }
        let is_open = |pending: &Pending| pending.was_sent_to(backend) && pending.is_wanted();
        let own = self.pending.iter().filter(|(_, pending)| pending.is_of(client) && is_open(pending));
        match own.max_by_key(|(minted, _)| *minted).map(|(_, pending)| pending.asker()) {
            Some(Asker::Client { id, .. }) => About::Request(id.clone()),
            Some(_) | None => About::Nothing,
        }
    }

    /// Sends a client a notification of our own, in its dialect.
    pub(crate) fn notify_client(&mut self, client: ClientId, mut notice: Value) -> bool {
        if self.clients.get(&client).is_none_or(|c| c.dialect() == Dialect::Standard) {
            notice["jsonrpc"] = json!("2.0");
        }
        let method = notice["method"].as_str().map_or(Method::Other, Method::from_name);
        let connection = self.connection_of(client);
        if self.clients.get(&connection).is_some_and(|c| c.speaks_modern()) {
            // A modern client hears only of what it has asked for.
            self.tell_listens_of_change(client, method);
            return true;
        }
        self.tell_client(client, Outgoing::notification(method, notice.to_string().into()))
    }

    /// Whether a request of this size may still be accepted for the backend.
    pub(crate) fn has_room(&self, backend: BackendId, bytes: usize) -> bool {
        let limit = self.settings.limits.backend_bytes;
        self.backends.get(&backend).is_some_and(|b| b.outbox().has_room(bytes, limit))
    }

    pub(crate) fn send_to_backend(&mut self, launch: Launch, out: Outgoing) {
        if out.method() == Method::Initialize {
            self.choose_translator(launch);
        }
        match self.backends.get(&launch.backend) {
            Some(b) if b.is_translated() => self.translate_to_backend(launch, &out),
            Some(_) => self.write_to_backend(launch, out),
            None => {}
        }
    }

    /// Puts a message into a backend's outbox as it is.
    pub(crate) fn write_to_backend(&mut self, launch: Launch, mut out: Outgoing) {
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        // Meant for a process that is gone: the next one must not get it.
        if !b.is_current(launch) {
            return;
        }
        if b.settings().dialect == Dialect::Bare {
            dialect::make_bare(&mut out);
        }
        b.outbox_mut().charge(out.len());
        self.actions.push(Action::ToBackend { launch, out });
    }

    /// Sends a notification, which some servers wrongly answer.
    pub(crate) fn send_notice(&mut self, launch: Launch, out: Outgoing) {
        let next = self.pending.next_id();
        if let Some(b) = self.backends.get_mut(&launch.backend).filter(|b| b.is_current(launch)) {
            b.outbox_mut().record_notice(next);
        }
        self.send_to_backend(launch, out);
    }

    /// Sends a notification to a backend; counted and dropped if the backend does not read.
    pub(crate) fn tell_backend(&mut self, launch: Launch, out: Outgoing) {
        // A translator hears of each: it must know of a cancelled call, whether or not its server does.
        if self.is_translated(launch.backend) || self.admits_notice(launch.backend, &out) {
            self.send_notice(launch, out);
        }
    }

    /// Whether a notification may be written to a backend. If the backend does not read, it is counted as dropped.
    pub(crate) fn admits_notice(&mut self, backend: BackendId, out: &Outgoing) -> bool {
        // Half of the room is reserved for requests.
        if self.has_room(backend, 2 * out.len()) {
            return true;
        }
        let Some(b) = self.backends.get_mut(&backend) else { return false };
        let total = b.counters_mut().count_dropped();
        self.report_dropped(self.server_name(backend).to_owned(), total);
        false
    }

    /// Answers a backend's own request with an error.
    pub(crate) fn refuse_backend(&mut self, launch: Launch, id: &RawId, error: &ErrorAnswer) {
        self.send_to_backend(launch, Outgoing::error(id.clone(), error.to_bytes(id, Dialect::Standard)));
    }

    /// Answers a server's ping in place of its clients.
    pub(crate) fn answer_backend(&mut self, launch: Launch, id: &RawId) {
        self.send_to_backend(launch, own_result(id, Dialect::Standard, "{}"));
    }

    /// Reports the first dropped notification, and then each doubling of their number: a flood must not flood
    /// the log too.
    fn report_dropped(&mut self, to: String, total: u64) {
        if total.is_power_of_two() {
            self.report(Fact::DroppedNotification { to: to.into(), total });
        }
    }

    pub(crate) fn flushed(&mut self, peer: Peer, bytes: usize) {
        match peer {
            Peer::Client(client) => {
                if let Some(c) = self.clients.get_mut(&client) {
                    c.discharge(bytes);
                }
            }
            Peer::Backend(launch) => {
                // The bytes of an earlier process were written off when this one started.
                if let Some(b) = self.backends.get_mut(&launch.backend)
                    && b.is_current(launch)
                {
                    b.outbox_mut().flushed(bytes);
                }
            }
        }
    }
}

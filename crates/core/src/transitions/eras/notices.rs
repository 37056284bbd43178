//! Notifications of modern servers. Each belongs to a request: by its subscription, by its progress token, or, for log
//! messages, by being the only request that wants them.

use crate::clients::{Level, rank_in};
use crate::core::Core;
use crate::event::About;
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId, Launch};
use crate::messages::same_spelling;
use crate::pending::{Asker, Pending, name_of};
use switchboard_protocol::{Era, Message, Method, Part, Patch, RawId};

impl Core {
    /// Handles a notification of a modern server, other than progress.
    pub(crate) fn modern_notification(&mut self, launch: Launch, message: &Message) {
        let backend = launch.backend;
        if message.method().is_list_change() {
            self.offer_changed(launch, message.method());
        }
        if message.method() == Method::TaskNotice {
            self.task_status(backend, message);
        }
        match message.part(Part::MetaSubscriptionId).and_then(RawId::minted) {
            Some(minted) => self.listen_told(backend, minted, message),
            None if message.method() == Method::LogMessage => self.modern_log(backend, message),
            // A modern server sends nothing that no one asked for.
            None => self.report_unheard(backend, message),
        }
    }

    /// Passes a notification to the client of its subscription; of our own subscription, to those that asked us.
    fn listen_told(&mut self, backend: BackendId, minted: u64, message: &Message) {
        let Some(pending) = self.pending.get(minted).filter(|pending| pending.was_sent_to(backend)) else {
            return self.report_unheard(backend, message);
        };
        match pending.asker().clone() {
            Asker::Client { client, id, .. } if pending.is_wanted() => {
                if !self.may_hear_of(client, backend, message)
                    || self.tells_of_anothers_task(backend, client, message)
                {
                    return;
                }
                if let Some(pending) = self.pending.get_mut(minted)
                    && message.method() == Method::Acknowledged
                {
                    pending.acknowledge();
                }
                self.tell_listener(client, id, message);
            }
            Asker::Listen => self.own_listen_told(backend, minted, message),
            _ => {}
        }
    }

    /// Passes a change of a resource to the aggregate clients that have subscribed to it.
    pub(super) fn resource_updated(&mut self, backend: BackendId, message: &Message) {
        let uri = same_spelling(message.part(Part::Uri).unwrap_or_default()).into_owned();
        let subscribers = self.backends.get(&backend).and_then(|b| b.subscriptions().subscribers(&uri));
        for delegate in subscribers.unwrap_or_default().to_vec() {
            if !self.may_hear_of(delegate, backend, message) {
                continue;
            }
            let Some(client) = self.clients.get(&delegate).map(|c| c.connection()) else { continue };
            let public = self.public_uri(client, delegate, &uri);
            for listen in self.listens(client).into_iter().filter(|it| it.includes_resource(&public)) {
                self.tell_listener(delegate, listen.id, message);
            }
        }
    }

    /// Passes a notification on a client's subscription, under the client's id.
    pub(super) fn tell_listener(&mut self, client: ClientId, listen: RawId, message: &Message) {
        let mut out = self.for_client(client, message);
        out.replace(message.span(Part::MetaSubscriptionId), Patch::Id(listen.clone()));
        self.tell_client_about(client, out, About::Request(listen));
    }

    /// Passes a log message to the request that it came with.
    pub(crate) fn log_of_request(&mut self, launch: Launch, about: u64, message: &Message) {
        let Some(b) = self.backends.get(&launch.backend).filter(|b| b.is_current(launch)) else { return };
        let (backend, is_translated) = (b.id(), b.is_translated());
        self.backend_spoke(launch, false);
        if is_translated {
            return self.log_for_legacy(launch, about, message);
        }
        let is_its = |p: &&Pending| p.was_sent_to(backend) && p.is_wanted() && p.wants_log();
        match self.pending.get(about).filter(is_its).map(|pending| pending.asker().clone()) {
            Some(Asker::Client { client, id, .. }) => {
                let out = self.for_client(client, message);
                self.tell_client_about(client, out, About::Request(id));
            }
            Some(_) | None => self.report_unheard(backend, message),
        }
    }

    /// Passes a log message of a translated request to its client.
    fn log_for_legacy(&mut self, launch: Launch, about: u64, message: &Message) {
        let backend = launch.backend;
        let minted = self.translated_id(launch, about);
        let asker = self.pending.get(minted).filter(|p| p.was_sent_to(backend) && p.is_wanted());
        let Some(client) = asker.and_then(Pending::client) else {
            return self.report_unheard(backend, message);
        };
        let rank = rank_in(message);
        let wants = |level: &Level| rank.is_none_or(|rank| level.admits(rank));
        if self.clients.get(&client).and_then(|c| c.level()).is_some_and(wants) {
            let out = self.for_client(client, message);
            let about = self.at_hand(client, backend);
            self.tell_client_about(client, out, about);
        }
    }

    /// Passes a log message, which names no request, if it can only belong to one client.
    fn modern_log(&mut self, backend: BackendId, message: &Message) {
        let Some(b) = self.backends.get(&backend) else { return };
        // Also cancelled ones: their server may ignore the cancellation, or not have read it.
        let may_be_meant = |p: &Pending| p.was_sent_to(backend) && may_be_logged(p);
        let mut meant: Vec<(u64, ClientId, Option<RawId>)> = self
            .pending
            .iter()
            .filter(|(_, pending)| may_be_meant(pending))
            .filter_map(|(minted, pending)| match pending.asker() {
                Asker::Client { client, id, .. } => {
                    Some((minted, *client, pending.is_wanted().then(|| id.clone())))
                }
                _ => None,
            })
            .collect();
        meant.sort_unstable_by_key(|(minted, ..)| *minted);
        let latest = meant.iter().rev().find_map(|(_, client, id)| Some((*client, id.clone()?)));
        let Some((client, id)) = latest else { return self.report_unheard(backend, message) };
        let connection = self.connection_of(client);
        // On a connection that carries the requests of several parties, only a single request is certain.
        let is_certain = match self.has_no_session(client) {
            true => meant.len() == 1 && !b.late_logs().is_any(),
            false => {
                meant.iter().all(|(_, other, _)| self.connection_of(*other) == connection)
                    && !b.late_logs().is_any_of_others(connection)
            }
        };
        if !is_certain {
            return self.report_unheard(backend, message);
        }
        let out = self.for_client(client, message);
        self.tell_client_about(client, out, About::Request(id));
    }

    /// Records that a request is closed without its answer: a modern process may still send log messages about it.
    pub(crate) fn may_be_logged_later(&mut self, minted: u64, pending: &Pending) {
        let Some(client) = pending.client().filter(|_| pending.waiting().is_none() && may_be_logged(pending))
        else {
            return;
        };
        let connection = self.connection_of(client);
        let b = self.backends.get_mut(&pending.backend());
        if let Some(b) = b.filter(|b| b.handshake().era() == Era::Modern) {
            b.late_logs_mut().insert(minted, connection);
        }
    }

    /// Records that a process has answered a request after its end.
    pub(crate) fn no_log_follows(&mut self, backend: BackendId, minted: u64) {
        if let Some(b) = self.backends.get_mut(&backend) {
            b.late_logs_mut().answered(minted);
        }
    }

    pub(super) fn report_unheard(&mut self, backend: BackendId, message: &Message) {
        if !message.method().is_list_change() {
            self.report(Fact::Unheard { backend, method: name_of(message), text: String::new() });
        }
    }
}

/// Whether a modern process may send log messages about a request.
fn may_be_logged(pending: &Pending) -> bool {
    pending.wants_log() && pending.method() != Method::Listen
}

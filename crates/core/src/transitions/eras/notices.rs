//! Notifications of modern servers. Each belongs to a request: by its subscription, by its progress token, or, for log
//! messages, by being the only request that wants them.

use crate::core::Core;
use crate::event::About;
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId, Launch};
use crate::messages::same_spelling;
use crate::pending::{Asker, Pending, name_of};
use switchboard_protocol::{Message, Method, Part, Patch, RawId};

impl Core {
    /// Handles a notification of a modern server, other than progress.
    pub(crate) fn modern_notification(&mut self, launch: Launch, message: &Message) {
        let backend = launch.backend;
        if message.method().is_list_change() {
            self.offer_changed(launch, message.method());
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
            Asker::Listen if message.method() == Method::ResourceUpdated => {
                self.resource_updated(backend, message)
            }
            Asker::Listen if message.method() == Method::TaskNotice => self.task_told(backend, message),
            _ => {}
        }
    }

    /// Passes a change of a resource to the aggregate clients that have subscribed to it.
    fn resource_updated(&mut self, backend: BackendId, message: &Message) {
        let uri = same_spelling(message.part(Part::Uri).unwrap_or_default()).into_owned();
        let subscribers = self.backends.get(&backend).and_then(|b| b.subscriptions().subscribers(&uri));
        for delegate in subscribers.unwrap_or_default().to_vec() {
            if !self.may_hear_of(delegate, backend, message) {
                continue;
            }
            let Some(client) = self.clients.get(&delegate).map(|c| c.connection()) else { continue };
            let public = self.public_uri(client, delegate, &uri);
            for listen in self.listens(client).into_iter().filter(|it| it.wishes.includes_resource(&public)) {
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
        let backend = b.id();
        self.backend_spoke(launch, false);
        let is_its = |p: &&Pending| p.was_sent_to(backend) && p.is_wanted() && p.wants_log();
        match self.pending.get(about).filter(is_its).map(|pending| pending.asker().clone()) {
            Some(Asker::Client { client, id, .. }) => {
                let out = self.for_client(client, message);
                self.tell_client_about(client, out, About::Request(id));
            }
            Some(_) | None => self.report_unheard(backend, message),
        }
    }

    /// Passes a log message, which names no request, if it can only belong to one client.
    fn modern_log(&mut self, backend: BackendId, message: &Message) {
        let is_open = |p: &Pending| {
            p.was_sent_to(backend) && p.is_wanted() && p.wants_log() && p.method() != Method::Listen
        };
        let mut open: Vec<(u64, ClientId, RawId)> = self
            .pending
            .iter()
            .filter(|(_, pending)| is_open(pending))
            .filter_map(|(minted, pending)| match pending.asker() {
                Asker::Client { client, id, .. } => Some((minted, *client, id.clone())),
                _ => None,
            })
            .collect();
        open.sort_unstable_by_key(|(minted, ..)| *minted);
        let Some((_, client, id)) = open.last().cloned() else {
            return self.report_unheard(backend, message);
        };
        let connection = self.connection_of(client);
        let is_alone = open.iter().all(|(_, other, _)| self.connection_of(*other) == connection);
        // On a connection that carries the requests of several parties, only a single request is certain.
        let is_certain = match self.clients.get(&connection).is_some_and(|c| c.goes_by_request()) {
            true => open.len() == 1,
            false => is_alone,
        };
        if !is_certain {
            return self.report_unheard(backend, message);
        }
        let out = self.for_client(client, message);
        self.tell_client_about(client, out, About::Request(id));
    }

    fn report_unheard(&mut self, backend: BackendId, message: &Message) {
        if !message.method().is_list_change() {
            self.report(Fact::Unheard { backend, method: name_of(message), text: String::new() });
        }
    }
}

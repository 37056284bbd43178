//! State that clients set in a server (log level, subscriptions): recorded when the server agrees, and
//! replayed to a new process.

use crate::backends::Backend;
use crate::clients::{Level, rank};
use crate::core::Core;
use crate::ids::{BackendId, ClientId, Launch};
use crate::messages::{names_uri, own_message, same_spelling};
use crate::pending::{Asker, Pending};
use crate::settings::LIST_TIMEOUT;
use switchboard_protocol::setup::subscription_request;
use switchboard_protocol::{Dialect, Message, Method, Outgoing, Part, Patch, RawId, dialect};

impl Core {
    /// Records the effects of a client's successful request on the server.
    pub(crate) fn record_effect(
        &mut self,
        launch: Launch,
        client: ClientId,
        pending: &Pending,
        answer: &Message,
    ) {
        let backend = launch.backend;
        match pending.method() {
            // The client is gone, so the subscription has no recipient.
            Method::Subscribe if self.clients.get(&client).is_none_or(|c| c.is_lost()) => {}
            Method::Subscribe => {
                let uri = pending.sent().and_then(|request| request.part(Part::Uri));
                if let Some(uri) = uri.map(|uri| same_spelling(uri).into_owned()) {
                    self.subscribed(backend, client, uri.clone());
                    self.subscription_agreed(backend, &uri);
                    if pending.is_hidden() {
                        self.drop_subscription(backend, client, uri);
                    }
                }
            }
            Method::Unsubscribe => {
                if let Some(uri) = pending.sent().and_then(|request| request.part(Part::Uri)) {
                    self.unsubscribed(backend, client, &same_spelling(uri));
                }
            }
            Method::SetLevel => {
                if let (Some(request), Some(c)) = (pending.sent().cloned(), self.clients.get_mut(&client)) {
                    c.set_level(Level::accepted(request));
                }
                self.spread_level(client, backend);
            }
            _ => {}
        }
        self.record_task(backend, client, pending, answer);
    }

    fn subscribed(&mut self, backend: BackendId, client: ClientId, uri: Vec<u8>) {
        let Some(b) = self.backends.get_mut(&backend) else { return };
        b.subscriptions_mut().add(uri, client);
    }

    /// Forgets the alias of a failed subscription, unless it is still needed.
    pub(crate) fn not_subscribed(&mut self, pending: &Pending) {
        let request = pending.sent().or(pending.waiting()).filter(|_| pending.method() == Method::Subscribe);
        let uri = request.and_then(|request| request.part(Part::Uri));
        if let (Some(client), Some(uri)) = (pending.client(), uri.map(same_spelling)) {
            self.forget_unused_alias(client, &uri);
        }
    }

    /// Forgets the name under which a client wanted to subscribe to a resource, unless it has done so before.
    pub(crate) fn forget_unused_alias(&mut self, client: ClientId, uri: &[u8]) {
        let is_known = self.backends.values().any(|b| b.subscriptions().is_subscribed(uri, client));
        if !is_known && !self.is_subscribing(client, uri) {
            self.forget_alias(client, uri);
        }
    }

    fn is_subscribing(&self, client: ClientId, uri: &[u8]) -> bool {
        let is_it = |p: &Pending| {
            let request = p.waiting().or(p.sent());
            p.is_of(client)
                && p.method() == Method::Subscribe
                && request.is_some_and(|request| names_uri(request, uri))
        };
        self.pending.iter().any(|(_, pending)| is_it(pending))
    }

    pub(crate) fn unsubscribed(&mut self, backend: BackendId, client: ClientId, uri: &[u8]) {
        // A client that is subscribing again has just set the name.
        if !self.is_subscribing(client, uri) {
            self.forget_alias(client, uri);
        }
        let Some(b) = self.backends.get_mut(&backend) else { return };
        b.subscriptions_mut().remove(uri, client);
    }

    /// Whether other clients are subscribed, or about to be, so that the server must not be unsubscribed.
    pub(crate) fn is_wanted_by_others(&self, backend: BackendId, client: ClientId, uri: &[u8]) -> bool {
        let is_about_to = |p: &Pending| {
            let request = p.waiting().or(p.sent());
            p.backend() == backend
                && p.method() == Method::Subscribe
                && p.is_wanted()
                && !p.is_of(client)
                && request.is_some_and(|request| names_uri(request, uri))
        };
        if self.pending.iter().any(|(_, pending)| is_about_to(pending)) {
            return true;
        }
        self.backends.get(&backend).is_some_and(|b| b.subscriptions().is_wanted_by_others(uri, client))
    }

    /// Unsubscribes from resources that no client is subscribed to any more.
    pub(crate) fn unsubscribe(&mut self, launch: Launch, client: ClientId, uris: Vec<Vec<u8>>) {
        if self.is_modern(launch.backend) {
            return self.listen_ourselves(launch);
        }
        for uri in uris {
            if self.is_wanted_by_others(launch.backend, client, &uri) {
                continue;
            }
            self.send_subscription(launch, Method::Unsubscribe, &uri);
        }
    }

    fn send_subscription(&mut self, launch: Launch, method: Method, uri: &[u8]) {
        let minted = self.pending.mint();
        let request = subscription_request(method, minted, uri, Dialect::Standard);
        self.ask_ourselves(launch.backend, minted, Asker::Restore, method, LIST_TIMEOUT);
        if let (Some(pending), Some(message)) = (
            self.pending.get_mut(minted),
            own_message(request.clone()).filter(|_| method == Method::Subscribe),
        ) {
            // Its answer says whether the server agrees.
            pending.keep_sent(message);
        }
        self.send_to_backend(launch, Outgoing::request(method, RawId::from_number(minted), request));
    }

    /// Applies a client's log level to its other backends.
    pub(crate) fn spread_level(&mut self, client: ClientId, except: BackendId) {
        let Some(c) = self.clients.get(&client) else { return };
        for backend in c.leases().filter(|&leased| leased != except).collect::<Vec<BackendId>>() {
            if let Some(launch) = self.backends.get(&backend).and_then(Backend::initialized_launch) {
                self.restore_level(launch);
            }
        }
    }

    /// Replays to a new process what the previous one was told.
    pub(crate) fn restore(&mut self, launch: Launch) {
        if self.is_modern(launch.backend) {
            self.listen_ourselves(launch);
            return self.fetch_offer(launch);
        }
        self.restore_level(launch);
        let Some(b) = self.backends.get(&launch.backend) else { return };
        let wanted = b.subscriptions().iter().map(|(uri, clients)| (uri.to_vec(), clients.to_vec()));
        for (uri, clients) in wanted.collect::<Vec<_>>() {
            if self.cannot_agree(launch.backend, &uri) {
                self.subscription_refused(launch.backend, &uri);
                continue;
            }
            self.send_subscription(launch, Method::Subscribe, &uri);
            for client in clients {
                // A subscription is use: notifications about it belong to these clients.
                self.record_user(launch.backend, client, Method::Subscribe);
            }
        }
        self.fetch_offer(launch);
    }

    /// Subscribes a client at another backend. A process that is not ready yet is told later.
    pub(crate) fn subscribe_for(&mut self, client: ClientId, backend: BackendId, uri: Vec<u8>) {
        // The server has agreed to it before, unless a subscription still waits for that.
        let is_agreed = !self.listen_waits.names(client, &uri);
        self.record_wish(client, backend, uri.clone());
        if is_agreed {
            self.subscription_agreed(backend, &uri);
        }
        let launch = self.backends.get(&backend).and_then(|b| b.initialized_launch());
        if let Some(launch) = launch.filter(|_| self.is_modern(backend)) {
            self.listen_ourselves(launch);
        }
    }

    /// The same; a modern server hears of it when we listen anew.
    pub(crate) fn record_wish(&mut self, client: ClientId, backend: BackendId, uri: Vec<u8>) {
        let Some(b) = self.backends.get(&backend) else { return };
        let is_known = b.subscriptions().contains(&uri);
        let launch = b.initialized_launch();
        if let Some(launch) = launch {
            if !is_known && !self.is_modern(backend) {
                self.send_subscription(launch, Method::Subscribe, &uri);
            }
            self.record_user(backend, client, Method::Subscribe);
        }
        self.subscribed(backend, client, uri);
    }

    pub(crate) fn level_answered(&mut self, backend: BackendId, client: ClientId, failed: bool) {
        if let (true, Some(b)) = (failed, self.backends.get_mut(&backend)) {
            // The level in effect is unknown, so the next comparison must find a difference.
            b.set_level(None);
        }
        self.keep_level(backend, Some(client).filter(|_| failed));
    }

    /// Makes sure that one client's level does not suppress messages that others want. Also after a failed
    /// request for a level: the server may have applied it nevertheless.
    pub(crate) fn keep_level(&mut self, backend: BackendId, except: Option<ClientId>) {
        let Some(b) = self.backends.get(&backend) else { return };
        // The modern era has no level for all requests.
        let Some(launch) = b.initialized_launch().filter(|_| !self.is_modern(backend)) else { return };
        let told = b.level().and_then(rank);
        let others = self.lessees(backend).filter(|&client| Some(client) != except);
        let wanted = others.filter_map(|client| self.clients.get(&client)?.level()).map(Level::rank);
        // An unknown level counts as too high.
        if wanted.min().is_some_and(|wanted| told.is_none_or(|told| told > wanted)) {
            self.restore_level(launch);
        }
    }

    /// Sets the lowest level that one of its clients requested.
    fn restore_level(&mut self, launch: Launch) {
        let levels = self.lessees(launch.backend).filter_map(|client| self.clients.get(&client)?.level());
        let Some(level) = levels.min_by_key(|level| level.rank()) else { return };
        let request = level.request().clone();
        let wanted = request.part(Part::Level).map(<[u8]>::to_vec);
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        if b.level() == wanted.as_deref() {
            return;
        }
        // Before the answer: a second client must not cause a second request.
        b.set_level(wanted);
        let minted = self.pending.mint();
        let mut out = Outgoing::of(&request);
        out.replace(request.span(Part::Id), Patch::Id(RawId::from_number(minted)));
        if request.has(Part::MetaProgressToken) {
            out.replace(request.span(Part::MetaProgressToken), Patch::Id(RawId::from_number(minted)));
        }
        dialect::translate(&request, Dialect::Standard, &mut out);
        self.ask_ourselves(launch.backend, minted, Asker::Restore, Method::SetLevel, LIST_TIMEOUT);
        self.send_to_backend(launch, out);
    }
}

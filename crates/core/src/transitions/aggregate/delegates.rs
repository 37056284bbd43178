//! Delegates of an aggregate client, one per server: creation, renewal and end. They share the client's
//! connection, dialect and roots. Must not know each other.

use crate::aggregate::{Aggregate, Delegate, OfferState};
use crate::clients::{Client, ClientOrigin, ClientRoot, Greeting, RootsStage};
use crate::core::{Core, Followup};
use crate::environment::Environment;
use crate::event::Surroundings;
use crate::ids::{ClientId, ServerId};
use crate::messages::{initialized_notice, own_message};
use crate::transitions::Route;
use switchboard_protocol::modern::Declaration;
use switchboard_protocol::{Message, Method};

impl Core {
    pub(crate) fn connection_of(&self, client: ClientId) -> ClientId {
        self.clients.connection_of(client)
    }

    pub(crate) fn has_aggregate(&self, client: ClientId) -> bool {
        self.clients.get(&client).is_some_and(|c| c.aggregate().is_some())
    }

    pub(super) fn aggregate(&self, client: ClientId) -> Option<&Aggregate> {
        self.clients.get(&client)?.aggregate()
    }

    pub(super) fn aggregate_mut(&mut self, client: ClientId) -> Option<&mut Aggregate> {
        self.clients.get_mut(&client)?.aggregate_mut()
    }

    pub(crate) fn delegates(&self, client: ClientId) -> Vec<ClientId> {
        let aggregate = self.clients.get(&client).and_then(Client::aggregate);
        aggregate
            .map(|aggregate| aggregate.delegates().map(|(_, delegate)| delegate.client()).collect())
            .unwrap_or_default()
    }

    /// All connected aggregate clients.
    pub(super) fn aggregates(&self) -> Vec<ClientId> {
        let is_there = |c: &&Client| c.aggregate().is_some() && !c.is_lost();
        self.clients.values().filter(is_there).map(|c| c.id()).collect()
    }

    /// Records the end of a client's request; returns the client with the connection.
    pub(crate) fn one_fewer(&mut self, client: ClientId) -> ClientId {
        let connection = self.connection_of(client);
        if let Some(c) = self.clients.get_mut(&connection) {
            c.request_over();
        }
        connection
    }

    pub(crate) fn aggregate_connected(
        &mut self,
        id: ClientId,
        surroundings: Surroundings,
        environments: Vec<(ServerId, Environment)>,
    ) {
        let aggregate = Aggregate::new(environments);
        // Each of its delegates has its own environment.
        let origin = ClientOrigin { environment: Environment::default(), ..self.origin_of(surroundings) };
        let new = self.newcomer(id, ServerId::EVERY, self.no_server());
        self.clients.insert(id, Client::of_many(new, origin, aggregate));
        self.report_connected(id);
    }

    /// The servers that an aggregate client sees.
    pub(crate) fn servers_of(&self, client: ClientId) -> Vec<ServerId> {
        let Some(c) = self.clients.get(&client) else { return Vec::new() };
        let listed = self.servers.iter().filter(|(_, it)| !it.is_removed() && it.settings().is_listed);
        listed.filter(|(_, it)| c.identity().allows_server(it.name())).map(|(server, _)| server).collect()
    }

    /// Creates all delegates afresh: a new handshake starts from nothing.
    pub(super) fn make_delegates(&mut self, client: ClientId, initialize: &Message) {
        for delegate in self.delegates(client) {
            // Replaced, not reused: a new handshake may declare other capabilities.
            self.retire_delegate(delegate);
        }
        if let Some(aggregate) = self.aggregate_mut(client) {
            aggregate.begin_anew();
        }
        // A single copy for all delegates, without the read buffer.
        let initialize = initialize.detached();
        for server in self.servers_of(client) {
            self.make_delegate(client, server, &initialize);
        }
    }

    /// Ends a delegate whose client is still connected; its open requests are still answered.
    fn retire_delegate(&mut self, delegate: ClientId) {
        self.end_paused_of(delegate);
        let Some(c) = self.clients.get_mut(&delegate) else { return };
        // First: a lost client holds no lease any more, and `leave` then drops its tasks too.
        c.mark_lost();
        self.followups.push(Followup::ForgetLost);
        self.refuse_asked(delegate);
        self.leave_all(delegate);
    }

    /// Creates the delegate at one server. The server gets `initialized` at once, so that all lists are
    /// fetched in parallel, while the client waits for the slowest server.
    fn make_delegate(&mut self, client: ClientId, server: ServerId, initialize: &Message) {
        let Some(settings) = self.servers.get(server).map(|server| server.settings().clone()) else {
            return;
        };
        let Some(c) = self.clients.get(&client) else { return };
        // A modern client at a legacy server is greeted as a legacy one, and its messages are translated.
        let declaration = Declaration::of(initialize).ok().filter(|_| self.is_translated_at(server));
        let translated = declaration.and_then(|it| own_message(it.legacy_initialize(0).into()));
        let greeting = match translated {
            Some(legacy) => Greeting::translation(legacy, initialized_notice(), initialize.clone()),
            None => Greeting::new(initialize.clone(), initialized_notice()),
        };
        let id = self.numbers.new_delegate();
        let mut delegate = c.delegate(self.newcomer(id, server, settings.clone()), greeting);
        // The previous delegate most likely declared the same.
        if let Some(before) = self.clients.get(&ClientId(id.0 - 1)) {
            delegate.share_profile(before);
        }
        delegate.set_naming(self.naming_for(&delegate));
        self.clients.insert(id, delegate);
        if let Some(aggregate) = self.aggregate_mut(client) {
            aggregate.add_delegate(server, id);
        }
        // Stored lists suffice for a lazy server, which starts with its first use.
        if !settings.lazy || self.offer_for(id).is_none() {
            self.rouse(id);
        }
    }

    /// Starts a delegate's server, unless its lists are known. Clients wait for it at most for their budget.
    pub(super) fn rouse(&mut self, delegate: ClientId) {
        let Some(c) = self.clients.get(&delegate) else { return };
        let server = c.server();
        if !self.may_try(server) {
            return self.set_offer_state(delegate, OfferState::Missed);
        }
        self.start_for_lists(delegate);
    }

    /// Same as [`rouse`](Self::rouse), however recent the last attempt.
    pub(super) fn start_for_lists(&mut self, delegate: ClientId) {
        // During a shutdown, a new process would only have to be stopped again.
        if !self.is_running() {
            return;
        }
        let Some(c) = self.clients.get(&delegate) else { return };
        let comes_later = c.settings().is_split()
            && c.known().pinned.is_none()
            && c.has_roots()
            && c.roots_stage() != RootsStage::Told;
        let (home, server, is_lazy) = (c.home(), c.server(), c.settings().lazy);
        let until = self.waits_until(c.connection(), server);
        // Before anything is started: a start that fails at once sets `Missed`, which must stay.
        self.set_offer_state(delegate, OfferState::Awaited { until });
        self.clock.wake_at(until);
        let route = match home {
            Some(home) => Route::To(home),
            // The roots decide which backend to start.
            None if comes_later => return self.ask_roots_if_wanted(delegate),
            None => self.find_home(delegate),
        };
        match route {
            // The stored lists may depend on the root, which is known only now.
            Route::To(_) if is_lazy && self.offer_for(delegate).is_some() => {
                self.set_offer_state(delegate, OfferState::Unasked);
            }
            Route::To(home) => {
                self.ensure_started(home);
                // The backend may run without a handshake: its client has not made one yet, or was refused.
                if self.backends.get(&home).is_some_and(|b| b.handshake().is_ungreeted()) {
                    self.greet_anew(home);
                }
                let launch = self.backends.get(&home).and_then(|b| b.launch());
                if let Some(launch) = launch {
                    self.fetch_offer(launch);
                }
            }
            // The start follows when the client has named its roots.
            Route::Wait => {}
            Route::Refused(_) => self.set_offer_state(delegate, OfferState::Missed),
        }
    }

    /// Starts a delegate's server if its offer is unknown.
    pub(crate) fn rouse_if_unknown(&mut self, delegate: ClientId) {
        if self.offer_for(delegate).is_none() {
            self.rouse(delegate);
        }
    }

    pub(super) fn set_offer_state(&mut self, delegate: ClientId, offer: OfferState) {
        let Some(c) = self.clients.get(&delegate) else { return };
        let (connection, server) = (c.connection(), c.server());
        if let Some(aggregate) = self.aggregate_mut(connection) {
            aggregate.set_offer_state(server, delegate, offer);
        }
    }

    /// Gives all delegates their client's dialect.
    pub(crate) fn share_dialect(&mut self, client: ClientId) {
        let Some(dialect) = self.clients.get(&client).map(Client::shown_dialect) else { return };
        for delegate in self.delegates(client) {
            if let Some(c) = self.clients.get_mut(&delegate) {
                c.adopt_dialect(dialect);
            }
        }
    }

    pub(crate) fn aggregate_initialized(&mut self, client: ClientId, message: &Message) {
        if let Some(c) = self.clients.get_mut(&client) {
            c.confirm_handshake(&message.detached());
        }
        for delegate in self.delegates(client) {
            self.ask_roots_if_wanted(delegate);
            // A backend that was evicted after its handshake has not been asked for its lists yet.
            let known =
                self.clients.get(&delegate).and_then(|c| self.aggregate(client)?.delegate_at(c.server()));
            if known.is_some_and(|it| it.offer().is_awaited(self.clock.now())) {
                self.rouse_if_unknown(delegate);
            }
        }
    }

    /// Forwards a notification as the config says, or to every running server.
    pub(crate) fn pass_to_delegates(&mut self, client: ClientId, message: &Message) {
        if message.method() == Method::RootsChanged
            && let Some(aggregate) = self.aggregate_mut(client)
        {
            aggregate.note_other_roots();
        }
        let name = message.method_name();
        let rule = self.settings.aggregates.notifications.iter().find(|(method, _)| *method == *name);
        let meant = rule.map(|(_, servers)| servers.clone());
        for delegate in self.delegates(client) {
            let Some(c) = self.clients.get(&delegate) else { continue };
            if meant.as_ref().is_some_and(|meant| !meant.contains(&c.settings().name)) {
                continue;
            }
            match message.method() {
                Method::RootsChanged => self.roots_changed(delegate, message),
                _ => self.notify_home(delegate, message),
            }
        }
    }

    /// Asks for roots on behalf of a delegate. The client is asked once for all of them.
    pub(crate) fn ask_roots_through(&mut self, client: ClientId, delegate: ClientId) {
        let style = self.settings.roots.policy.style;
        if let Some(c) = self.clients.get_mut(&delegate) {
            c.begin_roots_inquiry(style);
        }
        let is_stale = self.aggregate_mut(client).is_some_and(Aggregate::take_other_roots);
        let Some(c) = self.clients.get(&client) else { return };
        match c.roots_stage() {
            RootsStage::Told if !is_stale => {
                let roots = c.told_roots().unwrap_or_default().to_vec();
                self.roots_known(delegate, roots);
            }
            // A single question serves all delegates, and its answer reaches each of them.
            RootsStage::Asked if !is_stale => {}
            RootsStage::Unasked | RootsStage::Asked | RootsStage::Told => self.ask_roots(client),
        }
    }

    /// Passes the client's roots on to the delegates that asked for them.
    pub(crate) fn tell_delegates_roots(&mut self, client: ClientId, roots: &[ClientRoot]) {
        let Some(known) = self.clients.get(&client).map(Client::shared_known) else { return };
        for delegate in self.delegates(client) {
            let Some(c) = self.clients.get_mut(&delegate) else { continue };
            match c.roots_stage() {
                RootsStage::Unasked => c.adopt_roots(&known),
                RootsStage::Asked | RootsStage::Told => self.roots_known(delegate, roots.to_vec()),
            }
        }
    }

    /// Replaces a client's environment for one server; the server's settings decide which variables count.
    pub(crate) fn set_environment(&mut self, client: ClientId, server: ServerId, environment: Environment) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        let delegate = match c.aggregate_mut() {
            Some(aggregate) => {
                aggregate.set_environment_at(server, environment.clone());
                aggregate.delegate_at(server).map(Delegate::client)
            }
            None => Some(client),
        };
        if let Some(c) = delegate.and_then(|delegate| self.clients.get_mut(&delegate)) {
            c.set_environment(environment);
        }
    }

    /// Adapts all delegates to a new config: servers may have been added, removed or changed.
    pub(crate) fn renew_delegates(&mut self) {
        for client in self.aggregates() {
            let all = self.servers_of(client);
            let Some(c) = self.clients.get(&client) else { continue };
            let Some(aggregate) = c.aggregate() else { continue };
            // During a handshake, the delegates depend on the new `initialize`.
            let opening = aggregate.opening().and_then(|minted| self.pending.get(minted)?.waiting().cloned());
            let greeted = || c.greeting().map(|greeting| greeting.initialize().clone());
            let Some(initialize) = opening.or_else(greeted) else { continue };
            let gone = aggregate.delegates().filter(|(server, _)| !all.contains(server));
            let gone: Vec<(ServerId, ClientId)> = gone.map(|(server, it)| (server, it.client())).collect();
            let new = all.iter().filter(|server| !aggregate.has_delegate_at(**server));
            let new: Vec<ServerId> = new.copied().collect();
            for (server, delegate) in gone {
                match self.is_gone(server) {
                    // Its instances end once their work is done.
                    true => self.move_client(delegate),
                    // The client may not use it any more.
                    false => self.refuse_hidden(&[delegate]),
                }
                self.retire_delegate(delegate);
                if let Some(aggregate) = self.aggregate_mut(client) {
                    aggregate.remove_delegate(server);
                }
            }
            for server in new {
                self.make_delegate(client, server, &initialize);
            }
            self.renew_aggregate_soon(client);
        }
    }
}

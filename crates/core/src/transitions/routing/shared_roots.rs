//! Answers to `roots/list`. A process gets one answer for all its clients; clients whose answers differ do
//! not share it.

use crate::backends::{Backend, is_use};
use crate::clients::{RootsStage, key_of_roots};
use crate::core::Core;
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId, Launch};
use crate::pending::Pending;
use crate::settings::Scope;
use crate::transitions::Route;
use std::sync::Arc;
use switchboard_protocol::{Message, Method, RawId};

/// Key of clients that name no roots: a process is told the folder of its workspace.
pub(crate) const NO_ROOTS: &str = "none";

/// Reason for separating clients.
const DIFFERENT_ROOTS: &str = "its clients have different roots";

impl Core {
    /// A client's answer to `roots/list` of a backend, as a key that is equal for equal answers; `None` while unknown.
    pub(crate) fn roots_key(&self, client: ClientId, b: &Backend) -> Option<Arc<str>> {
        let c = self.clients.get(&client)?;
        if let Some(root) = &c.known().pinned {
            return Some(format!("pinned {root}").into());
        }
        if !c.has_roots() {
            return Some(self.key_of_shown(client, b).unwrap_or_else(|| NO_ROOTS.into()));
        }
        let roots = c.told_roots()?;
        let answer =
            self.clients.get(&self.connection_of(client)).and_then(|connection| connection.roots_answer());
        Some(answer.map_or_else(|| key_of_roots(roots), |answer| answer.key().clone()))
    }

    /// Whether a backend's process asks for roots, or its server is known to.
    fn asks_roots(&self, b: &Backend) -> bool {
        let server = self.servers.get(b.server());
        let asks =
            b.roots().matter() || server.is_some_and(|server| b.settings().asks_roots(server.record()));
        asks && !b.settings().relays && !b.settings().is_split()
    }

    /// Whether other clients hold a lease on a backend, have used its process, or have told it their roots: it keeps
    /// those when they leave.
    pub(crate) fn has_company(&self, client: ClientId, b: &Backend) -> bool {
        if b.roots().told_by().is_some_and(|other| other != self.connection_of(client)) {
            return true;
        }
        let mut users = self.present_users(b).into_iter().chain(self.real_lessees(b.id()));
        users.any(|other| other != client)
    }

    /// Whether others have used a backend's process, or are about to.
    pub(crate) fn has_other_users(&self, client: ClientId, b: &Backend) -> bool {
        let connection = self.connection_of(client);
        let is_about_to = |p: &Pending| {
            let other = p.client().map(|other| self.connection_of(other));
            p.backend() == b.id()
                && p.waiting().is_some()
                && is_use(p.method())
                && other.is_some_and(|it| it != connection)
        };
        let mut subscribers = b.subscriptions().iter().flat_map(|(_, clients)| clients);
        b.users().has_others(connection)
            || subscribers.any(|other| self.connection_of(*other) != connection)
            || self.pending.iter().any(|(_, pending)| is_about_to(pending))
    }

    /// Whether a client may join a backend, as far as its roots are concerned. One that has yet to name them
    /// may: it is checked before its first request is sent.
    pub(crate) fn fits_roots(&self, client: ClientId, b: &Backend) -> bool {
        if !self.asks_roots(b) {
            return true;
        }
        match (b.roots().told(), self.roots_key(client, b)) {
            (_, None) => true,
            (Some(told), Some(mine)) => *told == mine,
            (None, Some(_)) => !self.has_other_users(client, b),
        }
    }

    /// The backend for a request whose home may have been told other clients' roots.
    pub(crate) fn route_by_roots(&mut self, client: ClientId, home: BackendId, method: Method) -> Route {
        let Some(b) = self.backends.get(&home) else { return Route::To(home) };
        if !is_use(method) || !self.asks_roots(b) {
            return Route::To(home);
        }
        let mine = self.roots_key(client, b);
        // The usual case, without a look at other clients.
        if mine.is_some() && b.roots().told() == mine.as_ref() {
            self.inherit_roots(client, home);
            return Route::To(home);
        }
        let has_company = self.has_company(client, b);
        let is_greeting = self.clients.get(&client).is_some_and(|c| c.awaits_greeting());
        match mine {
            // The client completes its handshake first, wherever it moves then.
            _ if has_company && is_greeting => Route::Wait,
            // The first user decides; others are checked before they use it.
            Some(mine) if b.roots().told().is_none() && !self.has_other_users(client, b) => {
                let connection = self.connection_of(client);
                if let Some(b) = self.backends.get_mut(&home) {
                    b.roots_mut().bind(Some(mine), connection);
                }
                Route::To(home)
            }
            Some(_) if !has_company => Route::To(home),
            Some(_) => self.leave_other_roots(client, home),
            None if !has_company => Route::To(home),
            None if self.may_be_asked(client) => {
                if self.clients.get(&client).is_some_and(|c| c.roots_stage() == RootsStage::Unasked) {
                    self.ask_roots(client);
                }
                // Another server may have asked before, so that the roots are known at once.
                let b = self.backends.get(&home);
                match b.and_then(|b| self.roots_key(client, b)) {
                    Some(_) => self.route_by_roots(client, home, method),
                    None => Route::Wait,
                }
            }
            // Without a complete handshake it cannot be asked.
            None => Route::To(self.lease_alone(client, home)),
        }
    }

    /// Lets a client take the place of an equal one that has left, so that a later change of its roots reaches the process.
    fn inherit_roots(&mut self, client: ClientId, home: BackendId) {
        let connection = self.connection_of(client);
        let Some(b) = self.backends.get_mut(&home) else { return };
        if b.roots()
            .told_by()
            .is_some_and(|by| by != connection && self.clients.get(&by).is_none_or(|c| c.is_lost()))
        {
            let roots = b.roots().told().cloned();
            b.roots_mut().bind(roots, connection);
        }
    }

    /// Moves a client away from a backend whose clients have other roots.
    pub(crate) fn leave_other_roots(&mut self, client: ClientId, backend: BackendId) -> Route {
        let wanted = self.leave_for_roots(client, backend);
        let route = self.find_home(client);
        if let Route::To(home) = route {
            self.subscribe_at(client, home, wanted);
        }
        self.unpark(client);
        route
    }

    /// Moves a client from its home to a private backend.
    fn lease_alone(&mut self, client: ClientId, home: BackendId) -> BackendId {
        let root = self.backends.get(&home).and_then(|b| b.key().root.clone());
        let wanted = self.leave_for_roots(client, home);
        let backend = self.lease_apart(client, root);
        self.subscribe_at(client, backend, wanted);
        self.unpark(client);
        backend
    }

    /// Removes a client from a backend; returns its subscriptions there.
    fn leave_for_roots(&mut self, client: ClientId, backend: BackendId) -> Vec<Vec<u8>> {
        self.report(Fact::Separated { backend, clients: 1, why: DIFFERENT_ROOTS });
        let wanted =
            self.backends.get(&backend).map(|b| b.subscriptions().of_client(client)).unwrap_or_default();
        self.park_waiting(client, backend, None);
        self.leave(client, backend);
        wanted
    }

    pub(crate) fn subscribe_at(&mut self, client: ClientId, backend: BackendId, uris: Vec<Vec<u8>>) {
        if uris.is_empty() {
            return;
        }
        for uri in uris {
            self.subscribe_for(client, backend, uri);
        }
        self.ensure_started(backend);
    }

    /// Handles a backend's `roots/list`. `false`: forward the request to the client like any other.
    pub(crate) fn backend_asks_roots(&mut self, launch: Launch, id: &RawId, message: &Message) -> bool {
        let backend = launch.backend;
        self.learn(backend, |record| record.asks_roots = true);
        let is_handled = self.find_roots(launch, id, message);
        self.retire_misplaced(backend);
        is_handled
    }

    /// Handles the `roots/list` of a modern server, which belongs to a call of this client: only the client's own roots are
    /// meant. `false`: the client must be asked.
    pub(crate) fn call_asks_roots(&mut self, launch: Launch, id: &RawId, client: ClientId) -> bool {
        let Some(b) = self.backends.get(&launch.backend) else { return true };
        let Some(c) = self.clients.get(&client) else { return false };
        let is_bound = b.settings().is_split() || c.known().pinned.is_some() || c.is_elsewhere();
        let is_known = c.has_roots() && self.roots_key(client, b).is_some();
        if is_bound || is_known {
            self.name_roots(launch, id, client);
        }
        is_bound || is_known
    }

    /// Retires a server that was considered independent of the folder but asks for roots: it runs in the
    /// wrong folder. It ends after it got its answer, on which its open calls may depend.
    fn retire_misplaced(&mut self, backend: BackendId) {
        let is_misplaced = |b: &Backend| b.key().in_home && self.scope_of(b.server()) != Scope::Global;
        let Some(b) = self.backends.get(&backend).filter(|b| is_misplaced(b) && !b.roots().has_questions())
        else {
            return;
        };
        let is_one = |other: &&Backend| {
            other.server() == b.server()
                && is_misplaced(other)
                && !other.roots().has_questions()
                && !other.is_retired()
        };
        let all: Vec<BackendId> = self.backends.values().filter(is_one).map(|other| other.id()).collect();
        for backend in all {
            self.separate(backend, None, "it asks for its clients' roots");
        }
    }

    fn find_roots(&mut self, launch: Launch, id: &RawId, message: &Message) -> bool {
        let backend = launch.backend;
        let Some(b) = self.backends.get(&backend) else { return true };
        if b.settings().is_split() {
            // Any client will do: the root of a split server is in its key.
            let asker = self.lessees(backend).next().unwrap_or(ClientId(0));
            self.name_roots(launch, id, asker);
            return true;
        }
        let clients = self.clients_meant(b);
        let Some(&first) = clients.iter().find(|client| self.has_roots(**client)) else {
            // Folder names of a client on another machine, or without a token, must not reach a server that
            // would use them here. A modern client can be asked only within a call.
            let is_not_asked = |client: &&ClientId| {
                self.clients.get(client).is_some_and(|c| c.is_elsewhere() || c.is_translated())
            };
            let Some(&unasked) = clients.iter().find(is_not_asked) else { return false };
            if !self.asks_for_roots(launch, unasked, id, message) {
                let call = self.only_call(backend, unasked);
                self.tell_roots(launch, id, unasked, call);
            }
            return true;
        };
        let is_unready = self.roots_key(first, b).is_none() && !self.may_be_asked(first);
        if clients.len() == 1 && self.connection_of(first) == first && is_unready {
            // The client cannot be asked yet. Once it has answered, the server is notified that its roots have changed.
            let key = self
                .clients
                .get(&first)
                .map(|c| key_of_roots(&c.named_roots(self.settings.roots.policy.style)));
            if let Some(b) = self.backends.get_mut(&backend) {
                b.roots_mut().bind(key, first);
            }
            self.name_roots(launch, id, first);
            return true;
        }
        if let Some(b) = self.backends.get_mut(&backend) {
            b.roots_mut().ask(id.clone());
        }
        self.answer_roots(launch);
        true
    }

    /// Whether a client names its roots itself, or is pinned to one.
    fn has_roots(&self, client: ClientId) -> bool {
        self.clients.get(&client).is_some_and(|c| c.has_roots() || c.known().pinned.is_some())
    }

    /// The clients whose roots a process may mean: its users, or, before any use, its first client.
    fn clients_meant(&self, b: &Backend) -> Vec<ClientId> {
        let users = self.present_users(b);
        if !b.users().is_empty() {
            return users;
        }
        let lessees: Vec<ClientId> = self.real_lessees(b.id()).collect();
        let with_roots = || lessees.iter().copied().filter(|client| self.has_roots(*client));
        let is_ready = |client: &ClientId| self.may_be_asked(*client);
        let first = with_roots().find(is_ready).or_else(|| with_roots().next());
        first.or_else(|| lessees.first().copied()).into_iter().collect()
    }

    /// Answers a process's `roots/list` once all clients concerned have named their roots.
    pub(crate) fn answer_roots(&mut self, launch: Launch) {
        let backend = launch.backend;
        let Some(b) = self.backends.get(&backend).filter(|b| b.roots().has_questions()) else { return };
        let clients = self.clients_meant(b);
        let keys: Vec<Option<Arc<str>>> = clients.iter().map(|&client| self.roots_key(client, b)).collect();
        // A client that has moved away is not asked on behalf of this process.
        let lessees: Vec<ClientId> = self.real_lessees(backend).collect();
        let has_moved =
            clients.iter().zip(&keys).any(|(client, key)| key.is_none() && !lessees.contains(client));
        if !has_moved && keys.iter().any(Option::is_none) {
            return clients.into_iter().for_each(|client| self.ask_roots_if_wanted(client));
        }
        let waiting = self.backends.get_mut(&backend).map(|b| b.roots_mut().take_questions());
        let waiting = waiting.unwrap_or_default();
        let is_equal = keys.windows(2).all(|pair| pair[0] == pair[1]);
        match (clients.first(), keys.into_iter().next().flatten()) {
            (Some(&client), Some(key)) if is_equal => {
                let connection = self.connection_of(client);
                if let Some(b) = self.backends.get_mut(&backend) {
                    b.roots_mut().bind(Some(key), connection);
                }
                waiting.iter().for_each(|id| self.name_roots(launch, id, client));
                self.check_waiting(backend, &clients);
                lessees.into_iter().for_each(|client| self.ask_roots_if_wanted(client));
            }
            (None, _) => {
                let error = self.client_gone();
                waiting.iter().for_each(|id| self.refuse_backend(launch, id, &error));
            }
            (Some(_), _) => {
                let error = self.whose_question(backend);
                waiting.iter().for_each(|id| self.refuse_backend(launch, id, &error));
                self.separate(backend, None, DIFFERENT_ROOTS);
            }
        }
        self.retire_misplaced(backend);
    }

    /// Routes requests of other clients again, after a process was told one client's roots.
    fn check_waiting(&mut self, backend: BackendId, told: &[ClientId]) {
        let others = self.waiting_at(backend).into_iter().filter(|client| !told.contains(client));
        for client in others.collect::<Vec<ClientId>>() {
            self.park_at(client, backend);
            self.unpark(client);
        }
    }
}

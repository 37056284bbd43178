//! The backend that a client joins, and the variables of a new one. Clients share a backend if it has all variables of each
//! of them.

use crate::backends::{Backend, BackendKey, FramingGuess};
use crate::clients::Client;
use crate::core::Core;
use crate::environment::Environment;
use crate::ids::{BackendId, ClientId, ServerId};
use crate::servers::Server;
use std::cmp::Reverse;

/// Why clients move to another backend.
const HAS_MORE_VARIABLES: &str = "another client has more variables, and now they share one";

const OFFERS_THE_SAME: &str = "another one offers the same, and its clients share that";

/// How a backend's key fits a client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// Clients with other capabilities, which were seen to make no difference.
    Alike,
    Exact,
}

/// How much of a client that has left is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forget {
    /// The values, which only the next process needs.
    Values,
    /// The names as well: the next process will not have them.
    Variables,
}

impl Core {
    /// A backend that this client may share, or that is its own.
    pub(crate) fn find(&self, client: ClientId, key: &BackendKey) -> Option<BackendId> {
        let wanted = self.clients.get(&client)?.environment();
        let candidates = self.joinable(client, key).filter(|(_, b)| b.environment().serves(wanted));
        candidates.max_by_key(|(fit, b)| (*fit, b.environment().size(), Reverse(b.id()))).map(|(_, b)| b.id())
    }

    /// Backends that a client may share as far as everything but its variables goes.
    fn joinable(&self, client: ClientId, key: &BackendKey) -> impl Iterator<Item = (Fit, &Backend)> {
        let c = self.clients.get(&client);
        let own = c.into_iter().flat_map(|c| self.backends.values().filter(|b| b.server() == c.server()));
        let usable = own.filter(move |b| !b.is_retired() && self.fits_roots(client, b));
        usable.filter_map(move |b| Some((self.fit(c?, key, b)?, b)))
    }

    fn fit(&self, c: &Client, key: &BackendKey, b: &Backend) -> Option<Fit> {
        // One that was started before it was known to keep nothing serves its own principal.
        let is_own = key.principal.is_none() && b.key().principal == Some(c.principal());
        let principal = if is_own { Some(c.principal()) } else { key.principal };
        let wanted = BackendKey { principal, ..key.clone() };
        let alike = || self.is_alike(c.server(), b.key(), &wanted).then_some(Fit::Alike);
        (*b.key() == wanted).then_some(Fit::Exact).or_else(alike)
    }

    /// The variables of a new backend: the client's own, and those of clients that will share it.
    pub(crate) fn environment_for(&self, client: ClientId, key: &BackendKey) -> Environment {
        let own = self.clients.get(&client).map(|c| c.environment().clone()).unwrap_or_default();
        if key.owner.is_some() {
            return own;
        }
        let with_clients_of = |all: &Environment, b: &Backend| {
            all.merged(b.environment())?;
            let mut lessees = self.lessees(b.id()).filter_map(|other| self.clients.get(&other));
            lessees.try_fold(all.clone(), |all, other| all.merged(other.environment()))
        };
        let others = self.joinable(client, key).map(|(_, b)| b).filter(|b| !self.keeps_state(b));
        others.fold(own, |all, b| with_clients_of(&all, b).unwrap_or(all))
    }

    /// Clients of backends whose variables this one has as well, and more, move here. A backend that keeps something for its
    /// clients stays.
    pub(crate) fn replace_poorer(&mut self, client: ClientId, backend: BackendId) {
        let Some(b) = self.backends.get(&backend).filter(|b| b.owner().is_none()) else { return };
        let is_poorer = |other: &Backend| {
            // A process with another value, or one that somebody may come back to, is not in the way.
            let is_covered = match self.lessees(other.id()).next() {
                None => b.environment().serves(other.environment()),
                Some(_) => {
                    b.environment().merged(other.environment()).is_some() && self.serves_all(b, other.id())
                }
            };
            other.id() != b.id()
                && !other.environment().serves(b.environment())
                && !self.keeps_state(other)
                && is_covered
        };
        let poorer = self.joinable(client, b.key()).map(|(_, other)| other).filter(|other| is_poorer(other));
        for other in poorer.map(|other| other.id()).collect::<Vec<BackendId>>() {
            self.separate(other, None, HAS_MORE_VARIABLES);
        }
    }

    /// Once it was seen that a server offers the same to clients that can do different things, they share one backend.
    pub(crate) fn unite_alike(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get(&backend) else { return };
        let may_share = |b: &Backend| b.owner().is_none() && !b.is_retired() && b.handshake().has_welcome();
        let is_twin = |other: &&Backend| {
            other.server() == b.server()
                && other.id() != b.id()
                && may_share(other)
                && self.is_alike(b.server(), other.key(), b.key())
                && self.offers_same(other, b)
        };
        let twins: Vec<BackendId> = match may_share(b) {
            true => self.backends.values().filter(is_twin).map(|other| other.id()).collect(),
            false => return,
        };
        for twin in twins {
            let clients = |backend: BackendId| (self.lessees(backend).count(), Reverse(backend));
            let mut pair = [backend, twin];
            pair.sort_by_key(|backend| clients(*backend));
            let [fewer, more] = pair;
            // The one with fewer clients goes, if it can.
            let goes = [(more, fewer), (fewer, more)]
                .into_iter()
                .find(|(stays, goes)| self.can_take_over(*stays, *goes));
            if let Some((_, goes)) = goes {
                self.separate(goes, None, OFFERS_THE_SAME);
            }
        }
    }

    /// Whether all clients of one backend can be served by the other, and lose nothing.
    fn can_take_over(&self, stays: BackendId, goes: BackendId) -> bool {
        let (Some(stays), Some(goes)) = (self.backends.get(&stays), self.backends.get(&goes)) else {
            return false;
        };
        !stays.is_retired()
            && !goes.is_retired()
            && !self.keeps_state(goes)
            && self.serves_all(stays, goes.id())
            && self.lessees(goes.id()).all(|lessee| self.fits_roots(lessee, stays))
    }

    /// Whether a backend has the variables of all clients of another.
    fn serves_all(&self, b: &Backend, other: BackendId) -> bool {
        let has_enough = |c: &Client| b.environment().serves(c.environment());
        self.lessees(other).all(|lessee| self.clients.get(&lessee).is_none_or(has_enough))
    }

    /// The variables that a backend is started with: those of the clients that are there now. Others may be about to move to
    /// one that was never started.
    pub(crate) fn environment_to_start(&mut self, backend: BackendId) -> Environment {
        if self.backends.get(&backend).is_some_and(|b| b.launches() > 1) {
            self.forget_values(backend, Forget::Variables);
        }
        self.backends.get(&backend).map(|b| b.environment().clone()).unwrap_or_default()
    }

    /// Forgets what clients brought that have left, unless nobody else is there.
    pub(crate) fn forget_values(&mut self, backend: BackendId, what: Forget) {
        let present = self.lessees(backend).chain(self.waiting_at(backend));
        let present = present.filter_map(|client| self.clients.get(&client)).map(|c| c.environment().clone());
        let present: Vec<Environment> = present.collect();
        let all = present.iter().cloned().reduce(|all, one| all.merged(&one).unwrap_or(all));
        let (Some(all), Some(b)) = (all, self.backends.get_mut(&backend)) else { return };
        match what {
            Forget::Variables => b.set_environment(all),
            Forget::Values => b.forget_values(all, &present),
        }
    }

    /// One that was started early, for a client that has not said a word to it yet, serves whoever speaks first. That
    /// client finds its own when it speaks, and most likely the same.
    pub(crate) fn take_early(&mut self, client: ClientId, key: &BackendKey) -> Option<BackendId> {
        let server = self.clients.get(&client).filter(|c| !c.is_greeted())?.server();
        let wanted = self.environment_for(client, key);
        let is_unused = |b: &Backend| {
            b.handshake().is_ungreeted()
                && !b.handshake().is_under_way()
                && b.queue().is_empty()
                && !self.pending.is_any_at(b.id())
        };
        let is_mute = |owner: ClientId| self.clients.get(&owner).is_some_and(|c| c.is_new());
        let is_early = |b: &&Backend| {
            // It was made before its client said what it can do.
            let is_same = *b.key() == BackendKey { profile: None, owner: b.owner(), ..key.clone() };
            let is_owners = b.owner().is_some_and(|owner| owner != client && is_mute(owner));
            b.server() == server
                && is_same
                && is_owners
                && b.environment().serves(&wanted)
                && !b.is_retired()
                && is_unused(b)
        };
        // Whoever wants one for himself has one started early for him, too.
        let early = self.backends.values().filter(|_| key.owner.is_none()).find(is_early)?;
        let (id, owner) = (early.id(), early.owner()?);
        if let Some(b) = self.backends.get_mut(&id) {
            b.set_key(key.clone());
        }
        if let Some(c) = self.clients.get_mut(&owner) {
            c.give_back_lease(id);
        }
        Some(id)
    }

    pub(crate) fn create(&mut self, client: ClientId, key: BackendKey) -> BackendId {
        let environment = self.environment_for(client, &key);
        let (server, settings) = self
            .clients
            .get(&client)
            .map_or_else(|| (ServerId(0), Default::default()), |c| (c.server(), c.settings().clone()));
        let framing = self.servers.get(server).map_or(FramingGuess::of(settings.framing), Server::framing);
        let id = self.numbers.new_backend();
        let mut backend = Backend::new(id, server, settings, framing, (key, environment), self.clock.now());
        if let Some(greeting) = self.clients.get(&client).and_then(|c| c.greeting()) {
            backend.handshake_mut().adopt(greeting.clone(), client);
        }
        self.backends.insert(backend);
        id
    }
}

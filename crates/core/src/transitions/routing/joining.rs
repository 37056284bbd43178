//! The backend that a client joins, and the variables of a new one. Clients share a backend if it has all
//! variables of each of them.

use crate::backends::{Backend, BackendKey, FramingGuess};
use crate::clients::Client;
use crate::core::Core;
use crate::environment::Environment;
use crate::ids::{BackendId, ClientId, ServerId};
use crate::servers::Server;
use std::cmp::Reverse;

/// Reasons why clients move to another backend.
const HAS_MORE_VARIABLES: &str = "clients now share an instance with more variables";

const OFFERS_THE_SAME: &str = "clients now share another instance that offers the same";

/// How well a backend's key fits a client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// For clients with other capabilities that are known to make no difference.
    Alike,
    Exact,
}

/// How much of a departed client is forgotten.
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
        // Exact keys first, then the richest environment; of equal ones the oldest, so that the choice is stable.
        candidates.max_by_key(|(fit, b)| (*fit, b.environment().size(), Reverse(b.id()))).map(|(_, b)| b.id())
    }

    /// Backends that a client may share, apart from its variables.
    fn joinable(&self, client: ClientId, key: &BackendKey) -> impl Iterator<Item = (Fit, &Backend)> {
        let c = self.clients.get(&client);
        let own = c.into_iter().flat_map(|c| self.backends.values().filter(|b| b.server() == c.server()));
        let usable = own.filter(move |b| !b.is_retired() && self.fits_roots(client, b));
        usable.filter_map(move |b| Some((self.fit(c?, key, b)?, b)))
    }

    fn fit(&self, c: &Client, key: &BackendKey, b: &Backend) -> Option<Fit> {
        // The processes of a server that speaks both eras serve one each.
        if !b.handshake().is_ungreeted() && b.handshake().era() != c.era() {
            return None;
        }
        // A backend started before its server was known to be stateless serves only its own principal.
        let is_own = key.principal.is_none() && b.key().principal == Some(c.principal());
        let principal = if is_own { Some(c.principal()) } else { key.principal };
        let wanted = BackendKey { principal, ..key.clone() };
        let alike = || self.is_alike(c.server(), b.key(), &wanted).then_some(Fit::Alike);
        (*b.key() == wanted).then_some(Fit::Exact).or_else(alike)
    }

    /// The variables of a new backend: the client's own, and those of clients that will share it.
    pub(crate) fn environment_for(&self, client: ClientId, key: &BackendKey) -> Environment {
        let own = self.clients.get(&client).map(|c| c.environment().clone()).unwrap_or_default();
        // No other client will join a private backend.
        if key.owner.is_some() {
            return own;
        }
        let with_clients_of = |all: &Environment, b: &Backend| {
            // A conflict with the running process keeps its clients elsewhere.
            all.merged(b.environment())?;
            let mut lessees = self.lessees(b.id()).filter_map(|other| self.clients.get(&other));
            lessees.try_fold(all.clone(), |all, other| all.merged(other.environment()))
        };
        let others = self.joinable(client, key).map(|(_, b)| b).filter(|b| !self.keeps_state(b));
        // A backend that conflicts is left out, with its clients.
        others.fold(own, |all, b| with_clients_of(&all, b).unwrap_or(all))
    }

    /// Moves clients of backends with fewer variables here. A backend that keeps state for its clients stays.
    pub(crate) fn replace_poorer(&mut self, client: ClientId, backend: BackendId) {
        let Some(b) = self.backends.get(&backend).filter(|b| b.owner().is_none()) else { return };
        let is_poorer = |other: &Backend| {
            // A process with another value, or one that a client may return to, does not conflict.
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

    /// Unites backends once the server is known to offer the same to clients with different capabilities.
    pub(crate) fn unite_alike(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get(&backend) else { return };
        let may_share = |b: &Backend| b.owner().is_none() && !b.is_retired() && b.handshake().has_welcome();
        let is_twin = |other: &&Backend| {
            other.server() == b.server()
                && other.id() != b.id()
                && may_share(other)
                && other.handshake().era() == b.handshake().era()
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
            // The one with fewer clients goes, if possible.
            let goes = [(more, fewer), (fewer, more)]
                .into_iter()
                .find(|(stays, goes)| self.can_take_over(*stays, *goes));
            if let Some((_, goes)) = goes {
                self.separate(goes, None, OFFERS_THE_SAME);
            }
        }
    }

    /// Whether all clients of one backend can be served by the other without a loss.
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

    /// The variables for the start of a backend: those of its current clients. A backend that was never
    /// started keeps all, since others may be about to join it.
    pub(crate) fn environment_to_start(&mut self, backend: BackendId) -> Environment {
        if self.backends.get(&backend).is_some_and(|b| b.launches() > 1) {
            self.forget_values(backend, Forget::Variables);
        }
        self.backends.get(&backend).map(|b| b.environment().clone()).unwrap_or_default()
    }

    /// Forgets what departed clients brought, unless no other client is there.
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

    /// Gives a backend that was started early for a silent client to the first client that speaks. The silent
    /// client gets its own backend when it speaks, most likely the same.
    pub(crate) fn take_early(&mut self, client: ClientId, key: &BackendKey) -> Option<BackendId> {
        let server = self
            .clients
            .get(&client)
            .filter(|c| !c.is_greeted() || c.is_prefetch() || c.is_greeted_by_us())?
            .server();
        let wanted = self.environment_for(client, key);
        let is_unused = |b: &Backend| {
            b.handshake().is_ungreeted()
                && !b.handshake().is_under_way()
                && b.queue().is_empty()
                && !self.pending.is_any_at(b.id())
        };
        let is_mute = |owner: ClientId| self.clients.get(&owner).is_some_and(|c| c.is_new());
        let is_early = |b: &&Backend| {
            // Its key predates its client's handshake, so it has no capabilities.
            let own = b.key().principal;
            let is_same =
                *b.key() == BackendKey { profile: None, owner: b.owner(), principal: own, ..key.clone() };
            // Nor is it known whether the identities of its server share.
            let is_same =
                is_same && (own == key.principal || own.is_none() && self.acts_for(b) == key.principal);
            let is_owners = b.owner().is_some_and(|owner| owner != client && is_mute(owner));
            b.server() == server
                && is_same
                && is_owners
                && b.environment().serves(&wanted)
                && !b.is_retired()
                && is_unused(b)
        };
        // A client that needs a private backend had its own started early.
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
        // A greeted client brings its handshake along, to be replayed to the first process.
        if let Some(greeting) = self.clients.get(&client).and_then(|c| c.greeting()) {
            backend.handshake_mut().adopt(greeting.clone(), client);
        }
        self.backends.insert(backend);
        id
    }
}

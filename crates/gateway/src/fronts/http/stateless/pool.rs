//! Clients of the core for requests without a session, to be used again. Must not know how one is made.

use super::call::{CallGuard, Outcome};
use super::client::{Opening, StatelessClient};
use super::owner::{Origin, Owner};
use super::params::KnownParams;
use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::Arc;
use std::time::Instant;
use switchboard_core::ClientId;
use switchboard_process::lock::{Lock, LockGuard};
use tokio::sync::oneshot;

#[derive(Default)]
pub(crate) struct Pool {
    hasher: RandomState,
    state: Lock<PoolState>,
}

#[derive(Default)]
struct PoolState {
    /// By the hash of their owners; compared in full before use.
    parties: HashMap<u64, Vec<Party>>,
    /// Clients, and places that are taken for those about to be made.
    count: usize,
}

/// The clients of one owner.
struct Party {
    owner: Owner,
    params: Arc<KnownParams>,
    clients: Vec<Arc<StatelessClient>>,
}

impl PoolState {
    fn party(&self, hash: u64, origin: &Origin<'_>) -> Option<&Party> {
        self.parties.get(&hash)?.iter().find(|party| party.owner.is(origin))
    }

    fn clients(&self) -> impl Iterator<Item = &Arc<StatelessClient>> {
        self.parties.values().flatten().flat_map(|party| &party.clients)
    }
}

impl Pool {
    fn lock(&self) -> LockGuard<'_, PoolState> {
        self.state.lock()
    }

    /// Opens a request at a client of its party in which its id is free.
    pub(super) fn open(
        &self,
        origin: &Origin<'_>,
        opening: &Opening,
    ) -> Option<(CallGuard, oneshot::Receiver<Outcome>)> {
        let hash = origin.hash(&self.hasher);
        let state = self.lock();
        state.party(hash, origin)?.clients.iter().find_map(|client| client.open(opening))
    }

    /// Annotations of tools that other clients of a request's party have seen.
    pub(super) fn params(&self, origin: &Origin<'_>) -> Arc<KnownParams> {
        let hash = origin.hash(&self.hasher);
        let state = self.lock();
        state.party(hash, origin).map(|party| party.params.clone()).unwrap_or_default()
    }

    /// Number of clients.
    pub(crate) fn len(&self) -> usize {
        self.lock().count
    }

    /// Takes a place for a client about to be made.
    pub(super) fn reserve(&self) {
        self.lock().count += 1;
    }

    /// Adds a client whose place was taken before.
    pub(super) fn add(&self, origin: &Origin<'_>, client: Arc<StatelessClient>) {
        let hash = origin.hash(&self.hasher);
        let state = &mut *self.lock();
        let parties = state.parties.entry(hash).or_default();
        match parties.iter_mut().find(|party| party.owner.is(origin)) {
            Some(party) => party.clients.push(client),
            None => {
                let params = client.params.clone();
                parties.push(Party { owner: Owner::new(origin), params, clients: vec![client] });
            }
        }
    }

    /// Removes a client; `false` if it was not there.
    pub(super) fn remove(&self, client: &Arc<StatelessClient>) -> bool {
        let state = &mut *self.lock();
        let is_known = state.clients().any(|other| Arc::ptr_eq(other, client));
        if is_known {
            state.parties.retain(|_, parties| {
                parties
                    .iter_mut()
                    .for_each(|party| party.clients.retain(|other| !Arc::ptr_eq(other, client)));
                parties.retain(|party| !party.clients.is_empty());
                !parties.is_empty()
            });
            state.count -= 1;
        }
        is_known
    }

    pub(crate) fn find(&self, id: ClientId) -> Option<Arc<StatelessClient>> {
        self.lock().clients().find(|client| client.id == id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<StatelessClient>> {
        self.lock().clients().cloned().collect()
    }

    /// The client that has been idle for the longest time, closed to new requests.
    pub(crate) fn longest_idle(&self) -> Option<Arc<StatelessClient>> {
        let mut idle: Vec<(Instant, Arc<StatelessClient>)> =
            self.all().into_iter().filter_map(|client| Some((client.idle_since()?, client))).collect();
        idle.sort_by_key(|(since, _)| *since);
        // Another request may have come in between.
        idle.into_iter().map(|(_, client)| client).find(|client| client.close_if_idle())
    }
}

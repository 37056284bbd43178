//! Clients of the core for requests without a session, to be used again. Must not know how one is made.

use super::call::{CallGuard, Outcome};
use super::client::{Opening, StatelessClient};
use super::owner::Origin;
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
    clients: HashMap<u64, Vec<Arc<StatelessClient>>>,
    /// Includes places that are taken for clients about to be made.
    count: usize,
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
        let own = state.clients.get(&hash)?.iter().filter(|client| client.owner.is(origin));
        own.into_iter().find_map(|client| client.open(opening))
    }

    /// Annotations of tools that other clients of a request's party have seen.
    pub(super) fn params(&self, origin: &Origin<'_>) -> Arc<KnownParams> {
        let hash = origin.hash(&self.hasher);
        let state = self.lock();
        let own = state.clients.get(&hash).into_iter().flatten().find(|client| client.owner.is(origin));
        own.map(|client| client.params.clone()).unwrap_or_default()
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
        self.lock().clients.entry(hash).or_default().push(client);
    }

    /// Removes a client; `false` if it was not there.
    pub(super) fn remove(&self, client: &Arc<StatelessClient>) -> bool {
        let state = &mut *self.lock();
        let is_known = state.clients.values().flatten().any(|other| Arc::ptr_eq(other, client));
        if is_known {
            state.clients.retain(|_, same| {
                same.retain(|other| !Arc::ptr_eq(other, client));
                !same.is_empty()
            });
            state.count -= 1;
        }
        is_known
    }

    pub(crate) fn find(&self, id: ClientId) -> Option<Arc<StatelessClient>> {
        self.lock().clients.values().flatten().find(|client| client.id == id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<StatelessClient>> {
        self.lock().clients.values().flatten().cloned().collect()
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

//! All backends by number, and the queue of those that wait for room in the pool. Must not know why a backend
//! is started.

use crate::backends::Backend;
use crate::ids::{BackendId, ServerId};
use std::collections::VecDeque;
use std::collections::btree_map::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Backends {
    by_id: BTreeMap<BackendId, Backend>,
    start_queue: VecDeque<BackendId>,
}

impl Backends {
    pub(crate) fn get(&self, id: &BackendId) -> Option<&Backend> {
        self.by_id.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &BackendId) -> Option<&mut Backend> {
        self.by_id.get_mut(id)
    }

    pub(crate) fn insert(&mut self, backend: Backend) {
        self.by_id.insert(backend.id(), backend);
    }

    pub(crate) fn remove(&mut self, id: BackendId) {
        self.by_id.remove(&id);
    }

    pub(crate) fn contains(&self, id: BackendId) -> bool {
        self.by_id.contains_key(&id)
    }

    pub(crate) fn ids(&self) -> Vec<BackendId> {
        self.by_id.keys().copied().collect()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Backend> + Clone {
        self.by_id.values()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Backend> {
        self.by_id.values_mut()
    }

    /// The backends of one server.
    pub(crate) fn of_server(&self, server: ServerId) -> impl Iterator<Item = &Backend> + Clone {
        self.values().filter(move |b| b.server() == server)
    }

    /// Backends with a process that exists, is starting, or has not ended yet.
    pub(crate) fn running(&self) -> impl Iterator<Item = &Backend> + Clone {
        self.values().filter(|b| b.has_process())
    }

    pub(crate) fn is_same_server(&self, one: BackendId, other: BackendId) -> bool {
        let server = |id| self.get(&id).map(Backend::server);
        server(one) == server(other)
    }

    /// Returns `false` if the backend is already queued.
    pub(crate) fn queue_for_room(&mut self, id: BackendId) -> bool {
        let is_new = !self.waits_for_room(id);
        if is_new {
            self.start_queue.push_back(id);
        }
        is_new
    }

    pub(crate) fn waits_for_room(&self, id: BackendId) -> bool {
        self.start_queue.contains(&id)
    }

    /// Backends that wait for room, longest wait first.
    pub(crate) fn waiting_for_room(&self) -> impl Iterator<Item = BackendId> {
        self.start_queue.iter().copied()
    }

    /// Replaces the queue with its entries that are still wanted.
    pub(crate) fn keep_waiting_for_room(&mut self, wanted: VecDeque<BackendId>) {
        self.start_queue = wanted;
    }

    pub(crate) fn clear_start_queue(&mut self) {
        self.start_queue.clear();
    }

    pub(crate) fn stop_waiting_for_room(&mut self, id: BackendId) {
        self.start_queue.retain(|waiting| *waiting != id);
    }
}

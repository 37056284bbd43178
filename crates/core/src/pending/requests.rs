//! All requests to backends, by minted id, with the tokens of closed ones.

use crate::ids::{BackendId, ClientId};
use crate::pending::Pending;
use crate::pending::table::Table;
use crate::pending::tokens::{ClosedToken, ClosedTokens};

#[derive(Debug)]
pub(crate) struct PendingRequests {
    open: Table<Pending>,
    closed: ClosedTokens,
}

impl PendingRequests {
    pub(crate) fn new() -> Self {
        Self { open: Table::starting_at(1), closed: ClosedTokens::default() }
    }

    pub(crate) fn mint(&mut self) -> u64 {
        self.open.mint()
    }

    /// The id that will be minted next.
    pub(crate) fn next_id(&self) -> u64 {
        self.open.next_id()
    }

    /// Whether an id was ever minted, even if its request is done.
    pub(crate) fn has_minted(&self, id: u64) -> bool {
        self.open.has_minted(id)
    }

    pub(crate) fn insert(&mut self, id: u64, pending: Pending) {
        self.open.insert(id, pending);
    }

    pub(crate) fn get(&self, id: u64) -> Option<&Pending> {
        self.open.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: u64) -> Option<&mut Pending> {
        self.open.get_mut(id)
    }

    /// Removes a request, and stores its progress token: some servers report progress after their answer.
    pub(crate) fn close(&mut self, id: u64) -> Option<Pending> {
        let pending = self.open.remove(id)?;
        self.closed.remember(id, &pending);
        Some(pending)
    }

    /// Removes a request that is put back: its token stays its own.
    pub(crate) fn take(&mut self, id: u64) -> Option<Pending> {
        self.open.remove(id)
    }

    /// The progress token of a recently closed request to this backend.
    pub(crate) fn closed_token(&self, id: u64, backend: BackendId) -> Option<&ClosedToken> {
        self.closed.find(id, backend)
    }

    pub(crate) fn forget_closed_at(&mut self, backend: BackendId) {
        self.closed.forget_backend(backend);
    }

    /// Forgets the tokens of clients that no longer exist.
    pub(crate) fn keep_closed_of(&mut self, is_known: impl Fn(ClientId) -> bool) {
        self.closed.keep_clients(is_known);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Pending)> {
        self.open.iter()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Pending> {
        self.open.values_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// The ids of the requests that `pick` selects, in order of minting.
    pub(crate) fn ids(&self, pick: impl FnMut(&Pending) -> bool) -> Vec<u64> {
        self.open.ids(pick)
    }

    /// Whether any request belongs to this backend.
    pub(crate) fn is_any_at(&self, backend: BackendId) -> bool {
        self.open.iter().any(|(_, pending)| pending.backend() == backend)
    }

    /// Requests at a backend whose answer a client waits for, or will ask for.
    pub(crate) fn wanted_at(&self, backend: BackendId) -> impl Iterator<Item = &Pending> {
        let is_wanted = move |pending: &&Pending| {
            pending.backend() == backend && (pending.is_wanted() || pending.is_paused())
        };
        self.open.iter().map(|(_, pending)| pending).filter(is_wanted)
    }
}

//! A client's leases: the backends it uses, by root, and its home among them. Must not know how a backend is found.

use crate::clients::Client;
use crate::ids::BackendId;
use std::collections::BTreeMap;

/// Limit on leases per client, beyond which it gives up leases on idle backends.
const MAX_LEASES: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Leases {
    /// The backend for messages that name no path: handshakes, lists.
    home: Option<BackendId>,
    by_root: BTreeMap<Option<String>, BackendId>,
}

impl Leases {
    /// A single lease, on the home.
    pub(super) fn at_home(root: Option<String>, home: BackendId) -> Self {
        Self { home: Some(home), by_root: BTreeMap::from([(root, home)]) }
    }
}

impl Client {
    /// The backend for messages that name no path: handshakes, lists.
    pub(crate) fn home(&self) -> Option<BackendId> {
        self.leases.home
    }

    /// Sets the home; returns the previous one.
    pub(crate) fn set_home(&mut self, home: BackendId) -> Option<BackendId> {
        self.leases.home.replace(home)
    }

    pub(crate) fn take_home(&mut self) -> Option<BackendId> {
        self.leases.home.take()
    }

    /// The backends on which the client holds a lease.
    pub(crate) fn leases(&self) -> impl Iterator<Item = BackendId> {
        self.leases.by_root.values().copied()
    }

    pub(crate) fn holds_lease_on(&self, backend: BackendId) -> bool {
        self.leases.by_root.values().any(|&leased| leased == backend)
    }

    pub(crate) fn lease_at(&self, root: &Option<String>) -> Option<BackendId> {
        self.leases.by_root.get(root).copied()
    }

    pub(crate) fn take_lease(&mut self, root: Option<String>, backend: BackendId) {
        self.leases.by_root.insert(root, backend);
    }

    pub(crate) fn has_too_many_leases(&self) -> bool {
        self.leases.by_root.len() > MAX_LEASES
    }

    /// Reduces the leases on idle backends to half of [`MAX_LEASES`]. The home stays.
    pub(crate) fn give_up_idle_leases(&mut self, is_idle: impl Fn(BackendId) -> bool) {
        let home = self.leases.home;
        let mut idle = 0;
        self.leases.by_root.retain(|_, backend| {
            let is_idle = is_idle(*backend) && home != Some(*backend);
            idle += usize::from(is_idle);
            // Down to half, so that the next lease does not cause another round.
            !is_idle || idle <= MAX_LEASES / 2
        });
    }

    /// Returns the lease on a backend, which then is not the home any more.
    pub(crate) fn give_back_lease(&mut self, backend: BackendId) {
        self.leases.by_root.retain(|_, leased| *leased != backend);
        self.leases.home = self.leases.home.filter(|home| *home != backend);
    }

    /// Takes all leases; the home stays.
    pub(crate) fn take_leases(&mut self) -> impl Iterator<Item = BackendId> + use<> {
        std::mem::take(&mut self.leases.by_root).into_values()
    }
}

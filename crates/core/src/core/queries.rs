//! Questions about the state that involve several of its parts: the clients of a backend, the room for another
//! process, the last failure of a server. Must not change anything.

use crate::backends::Backend;
use crate::clients::Client;
use crate::core::Core;
use crate::ids::{BackendId, ClientId, ServerId};
use crate::moment::Moment;
use crate::servers::{LastError, Limit, Retry, Server};

impl Core {
    /// The connected clients that hold a lease on a backend.
    pub(crate) fn lessees(&self, backend: BackendId) -> impl Iterator<Item = ClientId> {
        let holds = move |c: &&Client| !c.is_lost() && c.holds_lease_on(backend);
        self.clients.values().filter(holds).map(|c| c.id())
    }

    /// Clients that hold a lease on a backend, without stand-ins.
    pub(crate) fn real_lessees(&self, backend: BackendId) -> impl Iterator<Item = ClientId> {
        let is_real = |client: &ClientId| self.clients.get(client).is_some_and(|c| !c.is_stand_in());
        self.lessees(backend).filter(is_real)
    }

    /// Number of processes that exist, are starting, or have not ended yet.
    pub(crate) fn running(&self) -> usize {
        self.backends.running().count()
    }

    /// Number of processes of a backend's server.
    fn running_beside(&self, backend: BackendId) -> usize {
        let runs = |b: &&Backend| b.has_process() && self.backends.is_same_server(b.id(), backend);
        self.backends.values().filter(runs).count()
    }

    /// The limit that prevents a backend from being started now.
    pub(crate) fn limit_of(&self, backend: BackendId) -> Option<Limit> {
        let (pool, most) = (self.settings.pool.max_backends, self.max_instances(backend));
        match () {
            () if most < pool && self.is_full_beside(backend) => Some(Limit::Server(most)),
            () if self.running() >= pool => Some(Limit::Pool(pool)),
            () => None,
        }
    }

    /// Whether a backend's server has reached its limit of instances.
    pub(crate) fn is_full_beside(&self, backend: BackendId) -> bool {
        self.running_beside(backend) >= self.max_instances(backend)
    }

    /// Limit on instances of a backend's server. Private servers have as many as clients: one more window
    /// must not wait until another is closed.
    pub(crate) fn max_instances(&self, backend: BackendId) -> usize {
        let Some(b) = self.backends.get(&backend) else { return 0 };
        let pool = self.settings.pool.max_backends;
        let is_private = self.servers.get(b.server()).is_some_and(Server::is_private);
        if is_private { pool } else { b.settings().max_backends.min(pool) }
    }

    /// Reason why a server is missing: its last failure, or a start that was too slow.
    pub(crate) fn last_error(&self, server: ServerId) -> Option<LastError> {
        self.failed_with(server).or_else(|| self.is_late_since(server))
    }

    /// The last failure of a server, if it has not worked since.
    pub(crate) fn failed_with(&self, server: ServerId) -> Option<LastError> {
        let failure = self.servers.get(server)?.failure()?;
        Some(failure.shown(self.clock.now(), self.next_try(server)))
    }

    /// The failure of a server that was not ready in time, perhaps in an earlier run.
    pub(crate) fn is_late_since(&self, server: ServerId) -> Option<LastError> {
        let known = self.servers.get(server)?;
        let retry = known.retry()?;
        let shown = || LastError::not_ready(known.name(), retry, self.clock.now(), self.next_try(server));
        retry.is_slow().then(shown)
    }

    /// The time of a server's next start, or the earliest possible one, if scheduled.
    pub(crate) fn next_try(&self, server: ServerId) -> Option<Moment> {
        let own = self.backends.of_server(server);
        let until = own.filter_map(|b| b.backoff_end().or(b.cooldown_end()));
        let planned = self.servers.get(server).and_then(Server::retry).map(Retry::at);
        until.chain(planned).filter(|until| *until > self.clock.now()).min()
    }
}

//! Clients that may no longer share a process, because it is unknown which of them its server means. Each
//! gets its own process; open requests are still answered by the old one.

use crate::aggregate::Delegate;
use crate::backends::{Backend, is_use};
use crate::clients::Client;
use crate::core::{Core, Followup};
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId, ServerId};
use crate::pending::{Listens, Pending};
use switchboard_protocol::Method;

impl Core {
    /// Records that a request of a client is written to a process.
    pub(crate) fn record_user(&mut self, backend: BackendId, client: ClientId, method: Method) {
        if !is_use(method) {
            return;
        }
        let connection = self.connection_of(client);
        let Some(principal) = self.clients.get(&connection).map(|c| c.principal()) else { return };
        if let Some(b) = self.backends.get_mut(&backend) {
            b.users_mut().record(connection, principal);
        }
    }

    /// The client or delegate for a server behind this connection.
    pub(crate) fn client_at(&self, connection: ClientId, server: ServerId) -> Option<ClientId> {
        let c = self.clients.get(&connection)?;
        match c.aggregate() {
            Some(aggregate) => aggregate.delegate_at(server).map(Delegate::client),
            None => Some(connection).filter(|_| c.server() == server),
        }
    }

    /// The only client that an unsolicited message of a process can concern: its only user, or, before any
    /// use, its only client.
    pub(crate) fn sole_user(&self, backend: BackendId) -> Option<ClientId> {
        let b = self.backends.get(&backend)?;
        if !b.users().is_empty() {
            return self.client_at(b.users().sole()?, b.server());
        }
        let mut lessees = self.real_lessees(backend);
        lessees.next().filter(|_| lessees.next().is_none())
    }

    /// Users of a process that are still connected, in order of first use.
    pub(crate) fn present_users(&self, b: &Backend) -> Vec<ClientId> {
        let is_present = |c: &Client| !c.is_lost();
        let present = |client: &ClientId| self.clients.get(client).is_some_and(is_present);
        b.users()
            .iter()
            .filter_map(|connection| self.client_at(connection, b.server()))
            .filter(present)
            .collect()
    }

    /// Gives the clients of a server separate processes. The longest user of each process keeps it, otherwise
    /// its first client.
    pub(crate) fn separate_server(&mut self, server: ServerId, except: Option<BackendId>, why: &'static str) {
        let is_meant = |b: &&Backend| b.server() == server && !b.is_retired() && Some(b.id()) != except;
        let own = self.backends.values().filter(is_meant);
        for backend in own.map(|b| b.id()).collect::<Vec<BackendId>>() {
            let keeper = self.longest_user(backend);
            // A process that is only asked for its lists serves no client.
            if keeper.is_some() || self.lessees(backend).next().is_none() {
                self.separate(backend, keeper, why);
            }
        }
    }

    fn longest_user(&self, backend: BackendId) -> Option<ClientId> {
        let b = self.backends.get(&backend)?;
        let lessees: Vec<ClientId> = self.real_lessees(backend).collect();
        let users = self.present_users(b);
        users.into_iter().find(|user| lessees.contains(user)).or_else(|| lessees.first().copied())
    }

    /// Makes a process private to its keeper. Without one it accepts no more requests, and ends when all are answered.
    pub(crate) fn separate(&mut self, backend: BackendId, keeper: Option<ClientId>, why: &'static str) {
        // During a shutdown, open requests are finished and no new ones accepted, so nothing needs separating.
        if !self.is_running() {
            return;
        }
        let Some(b) = self.backends.get_mut(&backend).filter(|b| !b.is_retired()) else { return };
        if keeper.is_some() && b.owner() == keeper {
            return;
        }
        match keeper {
            Some(keeper) => b.set_owner(keeper),
            None => {
                self.tell_of_loss(backend, why);
                if let Some(b) = self.backends.get_mut(&backend) {
                    b.retire(why);
                }
                self.end_prefetches(backend);
                self.end_listens(Listens::At(backend));
                self.followups.push(Followup::EndDeserted { backend, why });
            }
        }
        // Including clients that have moved elsewhere, but have requests queued here.
        let mut others: Vec<ClientId> = self.real_lessees(backend).collect();
        others.extend(self.waiting_at(backend));
        others.retain(|&client| Some(client) != keeper);
        others.sort();
        others.dedup();
        if !others.is_empty() {
            self.report(Fact::Separated { backend, clients: others.len(), why });
        }
        self.release_standbys(backend);
        for client in others {
            // At once: a client in a handshake moves later, and nothing of it must be sent here meanwhile.
            self.park_at(client, backend);
            self.followups.push(Followup::Move { client });
        }
    }

    /// Clients with an unsent request at a backend, without duplicates.
    pub(crate) fn waiting_at(&self, backend: BackendId) -> Vec<ClientId> {
        let waits = |p: &Pending| p.client().filter(|_| p.backend() == backend && p.waiting().is_some());
        let mut clients: Vec<ClientId> = self.pending.iter().filter_map(|(_, p)| waits(p)).collect();
        clients.sort();
        clients.dedup();
        clients
    }

    /// Whether a client must leave a backend: it accepts no more requests, or belongs to another client.
    pub(crate) fn must_leave(&self, client: ClientId, b: &Backend) -> bool {
        let is_anothers = b.owner().is_some_and(|owner| owner != client);
        let holds = |c: &Client| c.holds_lease_on(b.id());
        let waits = || self.waiting_at(b.id()).contains(&client);
        b.is_retired() || (is_anothers && (self.clients.get(&client).is_some_and(holds) || waits()))
    }
}

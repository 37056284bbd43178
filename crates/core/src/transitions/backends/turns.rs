//! The limit on requests in progress per backend. Further requests are queued, in order per client and in
//! rotation between identities and their clients, so that no client fills the queue for all, and no identity by
//! many clients. Notifications and answers do not wait: a request in progress may need them.

use crate::backends::{Party, Queued, takes_turn};
use crate::core::{Core, Followup};
use crate::ids::{BackendId, ClientId, Principal};
use crate::pending::Pending;
use std::collections::{BTreeSet, VecDeque};
use switchboard_protocol::Method;

impl Core {
    /// For the simulator: requests in progress per backend, by counter and by counting, and the limit.
    pub fn at_work(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        self.backends.values().map(|b| {
            let counted = self.pending.iter().filter(|(_, p)| p.backend() == b.id() && p.has_turn()).count();
            (b.queue().at_work(), counted, b.settings().max_in_flight)
        })
    }

    /// Whether a request of this kind can be sent now, without queueing.
    pub(crate) fn may_go(&self, backend: BackendId, method: Method) -> bool {
        self.backends.get(&backend).is_some_and(|b| b.can_take(method))
    }

    /// Whether one more message of this size may be queued. There is a common limit; if others have used it
    /// up, each client still has its share.
    pub(crate) fn may_wait(&self, client: Option<ClientId>, backend: BackendId, bytes: usize) -> bool {
        let Some(b) = self.backends.get(&backend) else { return false };
        let (mut all, mut own) = ((0, 0), (0, 0));
        for waiting in b.queue().iter() {
            let length = self.length(waiting);
            all = (all.0 + 1, all.1 + length);
            if client.is_some() && self.asker(waiting) == client {
                own = (own.0 + 1, own.1 + length);
            }
        }
        // The whole queue is written at once in the end, so it has the limit of the outbox.
        let (most, room) = (b.settings().max_queue, self.settings.limits.backend_bytes);
        if all.0 < most && (all.1 == 0 || all.1 + bytes <= room) {
            return true;
        }
        // A client that is alone has no share beyond the common limit.
        let shares = client.map_or(1, |client| self.shares(client, backend));
        client.is_some() && shares > 1 && own.0 < most.div_ceil(shares) && own.1 + bytes <= room / shares
    }

    /// Number of equal shares of a backend's queue, one of which is this client's: identities share the queue, and
    /// the clients of an identity its part.
    fn shares(&self, client: ClientId, backend: BackendId) -> usize {
        let principal = |client: ClientId| self.clients.get(&client).map(|c| c.principal());
        let principals: Vec<Principal> = self.lessees(backend).filter_map(principal).collect();
        let own = principals.iter().filter(|other| Some(**other) == principal(client)).count();
        own.max(1) * principals.iter().collect::<BTreeSet<_>>().len().max(1)
    }

    fn length(&self, waiting: &Queued) -> usize {
        match waiting {
            Queued::Request(minted) => {
                let message = self.pending.get(*minted).and_then(Pending::waiting);
                message.map_or(0, |message| message.bytes().len())
            }
            Queued::Notification(out) => out.len(),
        }
    }

    fn asker(&self, waiting: &Queued) -> Option<ClientId> {
        match waiting {
            Queued::Request(minted) => self.pending.get(*minted).and_then(Pending::client),
            Queued::Notification(_) => None,
        }
    }

    /// Queues a request; while the backend is ready, identities and their clients take turns.
    pub(crate) fn queue(&mut self, minted: u64, backend: BackendId) {
        let client = self.pending.get(minted).and_then(Pending::client);
        let Some(b) = self.backends.get_mut(&backend) else { return };
        // Before the backend is ready nothing competes for turns, and order of arrival is fair.
        match client.filter(|_| b.is_ready()) {
            Some(client) => {
                let (pending, clients) = (&self.pending, &self.clients);
                let party = |client| {
                    let identity = clients.get(&client).map_or(Principal::OWNER, |c| c.principal());
                    Party { identity, client }
                };
                let party_of = |queued: &Queued| pending.get(queued.request()?)?.client().map(party);
                b.queue_mut().push_fairly(minted, party(client), party_of);
            }
            None => b.queue_mut().push_by_arrival(minted),
        }
    }

    /// Records that a request is handed to its backend.
    pub(crate) fn take_turn(&mut self, minted: u64) {
        let Some(pending) = self.pending.get_mut(minted) else { return };
        if !takes_turn(pending.method()) || pending.has_turn() {
            return;
        }
        pending.begin_turn();
        if let Some(b) = self.backends.get_mut(&pending.backend()) {
            b.queue_mut().begin_turn();
        }
    }

    /// Records that a backend is done with a request, or that it is no longer waited for.
    fn turn_over(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get_mut(&backend) else { return };
        if b.queue_mut().end_turn() {
            self.followups.push(Followup::GiveTurn { backend });
        }
    }

    /// Ends the turn of a request that stays open, and its permit: nobody waits for its answer.
    pub(crate) fn give_up_turn(&mut self, minted: u64) {
        let Some(pending) = self.pending.get_mut(minted) else { return };
        let (backend, permit) = (pending.end_turn(), pending.take_permit());
        if let Some(backend) = backend {
            self.turn_over(backend);
        }
        self.end_permit(permit);
    }

    /// Closes a request. If it was sent, its process may still go on with it.
    pub(crate) fn close(&mut self, minted: u64) -> Option<Pending> {
        let pending = self.close_unsent(minted)?;
        self.may_be_logged_later(minted, &pending);
        Some(pending)
    }

    /// Closes a request that no process has got.
    pub(crate) fn close_unsent(&mut self, minted: u64) -> Option<Pending> {
        let pending = self.close_answered(minted)?;
        if pending.is_cancelled() {
            self.no_answer_follows(&pending);
        }
        Some(pending)
    }

    /// Closes a request that its process has answered.
    pub(crate) fn close_answered(&mut self, minted: u64) -> Option<Pending> {
        let mut pending = self.withdraw(minted)?;
        self.end_permit(pending.take_permit());
        Some(pending)
    }

    /// Closes a request that may be put back: it keeps its permit.
    pub(crate) fn withdraw(&mut self, minted: u64) -> Option<Pending> {
        let mut pending = self.pending.close(minted)?;
        if let Some(backend) = pending.end_turn() {
            self.turn_over(backend);
        }
        Some(pending)
    }

    /// Removes a request from the queue, with the notifications around it if no request is left.
    pub(crate) fn unqueue(&mut self, backend: BackendId, minted: u64) {
        if let Some(b) = self.backends.get_mut(&backend) {
            b.queue_mut().remove(minted);
        }
    }

    /// Sends queued messages in order, as far as possible. Messages that take no turn are not blocked by those that do.
    pub(crate) fn let_go(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let Some(launch) = b.ready_launch().filter(|_| !b.queue().is_turned_away()) else { return };
        let mut left = VecDeque::new();
        let mut is_blocked = false;
        for waiting in b.queue_mut().take_all() {
            let minted = match waiting {
                Queued::Request(minted) => minted,
                Queued::Notification(out) => {
                    self.tell_backend(launch, out);
                    continue;
                }
            };
            let is_full = self.backends.get(&backend).is_none_or(|b| !b.has_free_turn());
            let method = self.pending.get(minted).map(|pending| pending.method());
            let is_unchecked =
                |method| self.backends.get(&backend).is_some_and(|b| b.must_check_first(method));
            // Once one request had to stay, later ones must not overtake it.
            let must_wait =
                is_full || is_blocked || self.is_too_early(minted) || method.is_some_and(is_unchecked);
            let must_wait = method.is_some_and(takes_turn) && must_wait;
            if must_wait || self.waits_for_other_call(minted) {
                // A call that only waits for another one blocks nobody else.
                is_blocked |= must_wait;
                left.push_back(Queued::Request(minted));
                continue;
            }
            if method != Some(Method::Ping) {
                self.touch(backend);
            }
            self.send(minted);
        }
        if let Some(b) = self.backends.get_mut(&backend) {
            b.queue_mut().put_back(left);
        }
    }
}

//! Leases of clients on backends. A backend without leases ends after a while, and so does a daemon without
//! clients and backends. A program with one client ends with it.

use crate::backends::Backend;
use crate::clients::Client;
use crate::core::{Core, Followup};
use crate::event::Action;
use crate::ids::{BackendId, ClientId};
use crate::moment::Moment;
use std::time::Duration;

/// Time that a daemon waits for its first client, and for another one after the last has left.
const FIRST_CLIENT_TIMEOUT: Duration = Duration::from_secs(10);

const NEXT_CLIENT_TIMEOUT: Duration = Duration::from_secs(1);

/// Idle time of a backend that was started only for its lists, once they are stored.
const IDLE_TIME_AFTER_LISTS: Duration = Duration::from_secs(30);

impl Core {
    /// Idle time limit of a backend: its own, or the linger time if it has no leases.
    pub(crate) fn time_to_live(&self, b: &Backend) -> Option<Duration> {
        if self.is_standing_by(b.id()) {
            return None;
        }
        let asked = Some(IDLE_TIME_AFTER_LISTS).filter(|_| b.offer().is_some() && self.is_for_lists(b));
        self.time_to_rest(b).into_iter().chain(asked).min()
    }

    fn time_to_rest(&self, b: &Backend) -> Option<Duration> {
        let is_deserted = || self.lessees(b.id()).next().is_none();
        let linger = self.settings.linger.filter(|_| is_deserted());
        match (b.settings().idle_ttl, linger) {
            (Some(ttl), Some(linger)) => Some(ttl.min(linger)),
            (ttl, linger) => ttl.or(linger),
        }
    }

    /// Schedules a check after a client has left: its backends may have no leases any more.
    pub(crate) fn wake_for_linger(&mut self) {
        if let Some(linger) = self.settings.linger {
            self.clock.wake_at(self.clock.now() + linger);
        }
    }

    /// Removes departed clients that nothing refers to any more. The only client stays known to the end; but
    /// its earlier delegates must not accumulate.
    pub(crate) fn forget_lost(&mut self) {
        let lives_on = self.lives_on();
        let (pending, questions) = (&self.pending, &self.questions);
        let is_named = |client: ClientId| {
            pending.iter().any(|(_, pending)| pending.is_of(client))
                || questions.iter().any(|(_, question)| question.client() == client)
                // Another client of its party may continue the call.
                || pending.iter().any(|(_, pending)| pending.is_paused() && pending.user() == Some(client))
        };
        let may_go = |c: &Client| c.is_lost() && (lives_on || !c.is_connected());
        let mut forgotten = Vec::new();
        self.clients.retain(|&client, c| {
            let stays = !may_go(c) || is_named(client);
            if !stays {
                forgotten.push(client);
            }
            stays
        });
        for &client in &forgotten {
            self.hand_over_calls(client);
        }
        for b in self.backends.values_mut() {
            // The users of a process remember the principal, so a removed client still counts.
            forgotten.iter().for_each(|&client| b.users_mut().forget(client));
        }
        self.pending.keep_closed_of(|client| self.clients.contains_key(&client));
        // Open requests still name them; the next event tries again.
        if self.clients.values().any(may_go) {
            self.followups.push(Followup::ForgetLost);
        }
    }

    /// For the simulator: the number of known clients, and of delegates.
    pub fn known_clients(&self) -> (usize, usize) {
        let delegates = self.clients.values().filter(|c| c.is_delegate()).count();
        (self.clients.len() - delegates, delegates)
    }

    /// Closes a client's connection.
    pub(crate) fn part_with(&mut self, client: ClientId) {
        self.actions.push(Action::Disconnect { client });
        self.client_lost(client);
    }

    /// Disconnects clients without open requests during a shutdown, so that they find another daemon.
    pub(crate) fn let_clients_go(&mut self) {
        if !self.lives_on() || self.is_running() {
            return;
        }
        let is_done = |c: &&Client| !c.is_lost() && c.unanswered() == 0 && c.is_connected();
        let done: Vec<ClientId> = self.clients.values().filter(is_done).map(|c| c.id()).collect();
        for client in done {
            self.part_with(client);
        }
    }

    /// Time at which we end, if no client comes.
    pub(crate) fn unused_at(&self) -> Option<Moment> {
        if !self.lives_on() || !self.is_running() || self.settings.stays {
            return None;
        }
        let timeout =
            if self.numbers.is_before_first_backend() { FIRST_CLIENT_TIMEOUT } else { NEXT_CLIENT_TIMEOUT };
        self.unused_since().map(|since| since + timeout)
    }

    /// Records whether anyone needs us.
    pub(crate) fn note_use(&mut self) {
        if !self.lives_on() {
            return;
        }
        let is_unused = self.clients.values().all(|c| c.is_lost()) && self.running() == 0;
        if self.set_unused(is_unused)
            && let Some(moment) = self.unused_at()
        {
            self.clock.wake_at(moment);
        }
    }

    pub(crate) fn tick_unused(&mut self) {
        if self.unused_at().is_some_and(|moment| moment <= self.clock.now()) {
            self.drain("no client is left");
        }
    }

    /// Whether a backend has no leases and no queued requests.
    pub(crate) fn is_nobodys(&self, backend: BackendId) -> bool {
        self.lessees(backend).next().is_none()
            && self.backends.get(&backend).is_some_and(|b| b.queue().is_empty())
    }
}

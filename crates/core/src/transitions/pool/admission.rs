//! Room for backends: a start waits in a queue until the limits allow it. Unneeded backends are stopped to
//! make room, least recently used first.

use crate::backends::Backend;
use crate::core::{Core, Followup};
use crate::event::StopHow;
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId, Launch, ServerId};
use crate::moment::Moment;
use crate::pending::Pending;
use crate::servers::Server;
use crate::settings;
use std::time::Duration;
use switchboard_protocol::Method;

/// Time for which a start counts as keeping the machine busy.
const BUSY_START_TIME: Duration = Duration::from_secs(3);

impl Core {
    /// Starts a process if there is room; otherwise queues the backend.
    pub(crate) fn admit(&mut self, backend: BackendId) {
        if let Some(cause) = self.backends.get(&backend).and_then(|b| self.barred(b.server())) {
            if let Some(b) = self.backends.get_mut(&backend) {
                b.mark_stopped();
            }
            return self.fail_all(backend, &cause);
        }
        // Backends of one server start in order; a new one must not overtake those that wait.
        let is_first =
            !self.backends.waiting_for_room().any(|waiting| self.backends.is_same_server(waiting, backend));
        if self.has_room_for(backend) && is_first {
            return self.start(backend);
        }
        let Some(b) = self.backends.get_mut(&backend) else { return };
        // A backend whose backoff is over waits in line like any other.
        b.mark_stopped();
        if self.backends.queue_for_room(backend) {
            if let Some(moment) = self.next_in_line() {
                self.clock.wake_at(moment);
            }
            self.report(Fact::NoRoom { backend, running: self.running(), limit: self.limit_of(backend) });
        }
    }

    /// Time at which the next start may proceed, although earlier ones have not answered.
    pub(crate) fn next_in_line(&self) -> Option<Moment> {
        self.backends.waiting_for_room().next()?;
        let calm_at = |b: &Backend| b.last_launch() + BUSY_START_TIME;
        let started = self.backends.running();
        started.map(calm_at).filter(|moment| *moment > self.clock.now()).min()
    }

    fn has_room_for(&self, backend: BackendId) -> bool {
        self.has_place_for(backend) && !self.is_list_start_too_many(backend)
    }

    /// Whether the number of processes allows a start.
    fn has_place_for(&self, backend: BackendId) -> bool {
        self.limit_of(backend).is_none()
    }

    /// Whether a backend was started only for its lists, and no client has used it.
    pub(crate) fn is_for_lists(&self, b: &Backend) -> bool {
        let is_client = |client: ClientId| self.clients.get(&client).is_some_and(|c| c.is_plain());
        !b.is_used() && b.settings().lazy && b.queue().is_empty() && !self.lessees(b.id()).any(is_client)
    }

    /// Whether too many servers are being started only for their lists. One that does not answer soon is
    /// waiting for something other than the CPU, and does not count.
    fn is_list_start_too_many(&self, backend: BackendId) -> bool {
        if !self.backends.get(&backend).is_some_and(|b| self.is_for_lists(b)) {
            return false;
        }
        let is_busy = |b: &&Backend| {
            b.has_process()
                && b.offer().is_none()
                && self.clock.now().since(b.last_launch()) < BUSY_START_TIME
                && self.is_for_lists(b)
        };
        self.backends.values().filter(is_busy).count() >= self.settings.pool.max_list_starts
    }

    /// Starts queued backends as far as there is room, and makes more room.
    pub(crate) fn serve_line(&mut self) {
        if self.backends.waiting_for_room().next().is_none() {
            return;
        }
        let is_wanted = |id: &BackendId| {
            let is_waited_for = |b: &Backend| !b.queue().is_empty() || self.is_awaited(*id);
            self.backends.get(id).is_some_and(|b| b.is_stopped() && is_waited_for(b))
        };
        let wanted = self.backends.waiting_for_room().filter(is_wanted).collect();
        self.backends.keep_waiting_for_room(wanted);
        loop {
            let next = self.backends.waiting_for_room().find(|waiting| self.has_room_for(*waiting));
            let Some(next) = next else { break };
            self.backends.stop_waiting_for_room(next);
            self.start(next);
            self.give_time_to_start(next);
        }
        if let Some(moment) = self.next_in_line() {
            self.clock.wake_at(moment);
        }
        let mut leaving: Vec<BackendId> =
            self.backends.values().filter(|b| b.is_going_to_rest()).map(|b| b.id()).collect();
        for waiting in self.backends.waiting_for_room().collect::<Vec<BackendId>>() {
            // This backend waits for other starts to answer, not for room.
            let Some(limit) = self.limit_of(waiting) else { continue };
            // If its own server has reached its limit, one of that server's must go; otherwise any.
            let is_full = self.is_full_beside(waiting);
            let helps = |id: &BackendId| !is_full || self.backends.is_same_server(*id, waiting);
            // A process that is already being stopped will make the room.
            if let Some(at) = leaving.iter().position(helps) {
                // Each ending process makes room for a single backend.
                leaving.swap_remove(at);
                continue;
            }
            if let Some(victim) = self.least_recently_used(helps) {
                self.record_eviction(victim, limit);
                self.put_to_rest(victim, "to make room for another workspace");
            }
        }
    }

    /// Gives requests that waited for room the time of a start as well.
    fn give_time_to_start(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get(&backend) else { return };
        let (now, start) = (self.clock.now(), b.settings().start_timeout * 2);
        for minted in b.queue().requests() {
            let Some(pending) = self.pending.get_mut(minted) else { continue };
            let latest = pending.accepted() + b.settings().timeout + start;
            pending.go_on_until((now + start).min(latest));
        }
    }

    /// The unneeded backend that was used least recently.
    pub(crate) fn least_recently_used(&self, helps: impl Fn(&BackendId) -> bool) -> Option<BackendId> {
        let may_go = |b: &&Backend| {
            let is_free = b.is_ready() && !self.is_in_use(b) && !self.keeps_state(b);
            is_free && helps(&b.id()) && !self.is_standing_by(b.id())
        };
        self.backends.values().filter(may_go).min_by_key(|b| b.last_used()).map(|b| b.id())
    }

    /// Whether a client waits for a backend, or for what it is being asked, or is subscribed there.
    pub(crate) fn is_in_use(&self, b: &Backend) -> bool {
        !b.queue().is_empty()
            || !b.subscriptions().is_empty()
            || b.tasks().is_any_running(self.clock.now())
            || b.handshake().is_under_way()
            || b.lists().is_being_fetched()
            || self.pending.wanted_at(b.id()).any(|pending| pending.method() != Method::Ping)
            || self.questions.iter().any(|(_, asked)| asked.is_of(b.id()))
    }

    /// Whether a backend keeps state that its clients would lose.
    pub(crate) fn keeps_state(&self, b: &Backend) -> bool {
        match self.state_policy(b.server()) {
            settings::StatePolicy::None | settings::StatePolicy::Auto => false,
            settings::StatePolicy::Client | settings::StatePolicy::Backend => {
                self.lessees(b.id()).next().is_some()
            }
        }
    }

    /// Stops a process that is not needed now. The next request starts another.
    pub(crate) fn put_to_rest(&mut self, backend: BackendId, why: &'static str) {
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let Some(launch) = b.begin_rest() else { return };
        self.answer_pings(backend);
        self.end_process(launch, why);
    }

    /// Answers open pings in place of a backend that is stopped but can be started at any time.
    fn answer_pings(&mut self, backend: BackendId) {
        let is_ping = |p: &Pending| p.backend() == backend && p.method() == Method::Ping && p.is_wanted();
        for minted in self.pending.ids(is_ping) {
            self.conclude_empty(minted);
        }
    }

    /// Whether there is no process, or soon none, because none is needed.
    pub(crate) fn is_resting(&self, backend: BackendId) -> bool {
        self.backends.get(&backend).is_some_and(Backend::is_at_rest)
    }

    /// Stops backends that their clients have left, once their work is done.
    pub(crate) fn end_deserted(&mut self) {
        self.run_present(|it| matches!(it, Followup::EndDeserted { .. }));
    }

    pub(crate) fn end_if_deserted(&mut self, backend: BackendId, why: &'static str) {
        if self.lessees(backend).next().is_some() {
            return;
        }
        let Some(b) = self.backends.get(&backend) else { return };
        let Some(launch) = b.wanted_launch() else {
            // A request may still be queued at a backend that is useless to others.
            if b.is_retired() && !b.queue().is_empty() {
                self.followups.push(Followup::EndDeserted { backend, why });
            }
            return;
        };
        let task_ends = b.tasks().last_end(self.clock.now());
        if let Some(moment) = task_ends {
            self.clock.wake_at(moment);
        }
        if task_ends.is_some() || self.pending.wanted_at(backend).next().is_some() {
            self.followups.push(Followup::EndDeserted { backend, why });
            return;
        }
        if let Some(b) = self.backends.get_mut(&backend) {
            b.stop_for_good();
        }
        self.end_process(launch, why);
    }

    /// Asks a process to end; the state already has the next step.
    pub(crate) fn end_process(&mut self, launch: Launch, why: &'static str) {
        self.report(Fact::Stopping { backend: launch.backend, why });
        let grace = self.settings_of(launch.backend).shutdown_grace;
        self.stop(launch, StopHow::Gently { grace });
    }

    /// Time at which a backend has been idle for long enough.
    pub(crate) fn idle_at(&self, b: &Backend) -> Option<Moment> {
        if !b.is_ready() || !self.is_running() {
            return None;
        }
        self.time_to_live(b).map(|ttl| b.last_used() + ttl)
    }

    /// Stops a backend that has been idle for long enough.
    pub(crate) fn tick_idle(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get(&backend) else { return };
        if self.idle_at(b).is_none_or(|idle_at| idle_at > self.clock.now()) {
            return;
        }
        if self.is_in_use(b) || self.keeps_state(b) {
            // Still in use although nothing was sent lately: restart the idle time.
            return self.touch(backend);
        }
        self.put_to_rest(backend, "it was idle for too long");
    }

    /// Records that a backend is in use.
    pub(crate) fn touch(&mut self, backend: BackendId) {
        if let Some(b) = self.backends.get_mut(&backend) {
            b.touch(self.clock.now());
        }
    }

    /// Removes backends without leases and without anything to remember.
    pub(crate) fn forget_unused(&mut self) {
        let is_over =
            |b: &Backend| b.is_stopped() && b.queue().is_empty() && self.lessees(b.id()).next().is_none();
        let over: Vec<BackendId> = self.backends.values().filter(|b| is_over(b)).map(|b| b.id()).collect();
        for backend in over {
            // A cancelled request may still refer to it.
            if !self.pending.is_any_at(backend) {
                self.backends.remove(backend);
            }
        }
    }

    /// For the simulator: the number of processes, and the limit.
    pub fn crowd(&self) -> (usize, usize) {
        let pool = self.settings.pool.max_backends;
        let most = |(id, server): (ServerId, &Server)| match self.is_private(id) {
            true => pool,
            false => server.settings().max_backends,
        };
        (self.running(), self.servers.iter().map(most).sum::<usize>().min(pool))
    }
}

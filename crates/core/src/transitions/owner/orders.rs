//! Orders of the owner: restart, stop or start a server, or forget what was learnt about it.

use crate::answers::Cause;
use crate::backends::AfterStop;
use crate::core::Core;
use crate::event::Action;
use crate::ids::{BackendId, ServerId};
use crate::moment::Moment;
use crate::servers::Bar;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Restart,
    /// Stops all instances; none is started until the next [`Order::Start`].
    Stop,
    Start,
    /// Forgets what was learnt and stored about the server.
    Forget,
}

/// Result of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Number of affected instances.
    pub instances: usize,
    /// Whether the server had been stopped and is enabled again.
    pub is_enabled_again: bool,
}

impl Core {
    /// Carries out an order for the instances of a server, all of them or those at one root.
    pub fn order(
        &mut self,
        now: Moment,
        server: ServerId,
        root: Option<&str>,
        order: Order,
        actions: &mut Vec<Action>,
    ) -> Done {
        self.transition(now, actions, |core| core.carry_out(server, root, order))
    }

    fn carry_out(&mut self, server: ServerId, root: Option<&str>, order: Order) -> Done {
        let own = self.backends.of_server(server).filter(|b| root.is_none() || b.root() == root);
        let own: Vec<BackendId> = own.map(|b| b.id()).collect();
        let mut is_enabled_again = false;
        // An order for one root leaves the server itself as it is.
        if let Some(server) = self.servers.get_mut(server)
            && root.is_none()
        {
            match order {
                Order::Stop => server.hold(),
                Order::Start | Order::Restart => is_enabled_again = server.release(),
                Order::Forget => {}
            }
        }
        if is_enabled_again {
            // Retries that fell due while the server was stopped are made now.
            self.clock.wake_at(self.clock.now());
        }
        if order == Order::Forget {
            self.forget_server(server);
        }
        if order == Order::Stop {
            self.end_standbys(server, root);
        }
        let done = own.into_iter().filter(|&backend| match order {
            Order::Restart => self.restart_by_order(backend) || self.start_by_order(backend),
            Order::Stop => self.stop_by_order(backend),
            Order::Start => self.start_by_order(backend),
            Order::Forget => true,
        });
        // Counting drives the lazy filter, which carries out the order.
        let instances = done.count();
        Done { instances, is_enabled_again }
    }

    /// Reason why nothing of a server may be started.
    pub(crate) fn barred(&self, server: ServerId) -> Option<Cause> {
        match self.servers.get(server)?.bar()? {
            Bar::Removed => Some(Cause::Removed),
            Bar::Held => Some(Cause::Held),
        }
    }

    /// Restarts a backend. Open requests get an error, or go to the next process if they may be repeated.
    fn restart_by_order(&mut self, backend: BackendId) -> bool {
        const RESTART_REASON: &str = "its owner restarts it";
        let Some(b) = self.backends.get_mut(&backend) else { return false };
        let Some(launch) = b.wanted_launch() else { return false };
        b.forgive();
        b.begin_stop(AfterStop::Restart);
        self.tell_of_loss(backend, RESTART_REASON);
        self.conclude_sent(backend, &Cause::Restarted { why: RESTART_REASON });
        self.end_process(launch, RESTART_REASON);
        true
    }

    /// Stops a backend. Queued requests get an error.
    fn stop_by_order(&mut self, backend: BackendId) -> bool {
        const STOP_REASON: &str = "its owner stops it";
        let Some(b) = self.backends.get_mut(&backend) else { return false };
        b.forgive();
        let runs = b.wanted_launch();
        if runs.is_none() {
            b.stop_for_good();
        }
        if runs.is_some() {
            self.tell_of_loss(backend, STOP_REASON);
        }
        self.fail_all(backend, &Cause::Held);
        if let (Some(launch), Some(b)) = (runs, self.backends.get_mut(&backend)) {
            b.stop_for_good();
            self.end_process(launch, STOP_REASON);
        }
        runs.is_some()
    }

    /// Starts a backend for its clients, regardless of the breaker.
    fn start_by_order(&mut self, backend: BackendId) -> bool {
        let is_down = self.backends.get(&backend).is_some_and(|b| !b.has_process() && !b.is_retired());
        if !is_down || !self.is_serving() {
            return false;
        }
        if let Some(b) = self.backends.get_mut(&backend) {
            b.forgive();
            // Ends a backoff, or closes the breaker.
            b.mark_stopped();
        }
        if self.lessees(backend).next().is_none() {
            // The next client starts it.
            return false;
        }
        // Its last use may be long ago: the idle time counts from the order.
        self.touch(backend);
        self.ensure_started(backend);
        true
    }
}

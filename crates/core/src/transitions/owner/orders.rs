//! What the owner says: restart, stop or start a server, or forget what was learnt about it.

use crate::answers::Cause;
use crate::backends::{AfterStop, BackendState};
use crate::core::Core;
use crate::event::Action;
use crate::ids::{BackendId, ServerId};
use crate::moment::Moment;
use crate::servers::Bar;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Restart,
    /// Its instances go, and none is started until the next [`Order::Start`].
    Stop,
    Start,
    /// What was learnt and stored about it does not count any more.
    Forget,
}

/// What came of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// How many instances it concerned.
    pub instances: usize,
    /// The server was stopped before, and no longer is.
    pub is_enabled_again: bool,
}

impl Core {
    /// Does what the owner says to the instances of a server, all of them or those at one root.
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
        if let Some(server) = self.servers.get_mut(server)
            && root.is_none()
        {
            match order {
                Order::Stop => server.hold(),
                Order::Start => is_enabled_again = server.release(),
                Order::Restart => drop(server.release()),
                Order::Forget => {}
            }
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
        let instances = done.count();
        Done { instances, is_enabled_again }
    }

    /// Why nothing of a server may be started.
    pub(crate) fn barred(&self, server: ServerId) -> Option<Cause> {
        match self.servers.get(server)?.bar()? {
            Bar::Removed => Some(Cause::Removed),
            Bar::Held => Some(Cause::Held),
        }
    }

    /// What is open there gets an error, or goes to the next process where it may.
    fn restart_by_order(&mut self, backend: BackendId) -> bool {
        const WHY: &str = "its owner restarts it";
        let Some(b) = self.backends.get_mut(&backend) else { return false };
        let (BackendState::Ready { number, .. } | BackendState::Starting { number, .. }) = b.state else {
            return false;
        };
        b.forgive();
        b.state = BackendState::Stopping { number, then: AfterStop::Restart };
        self.tell_of_loss(backend, WHY);
        self.settle_sent(backend, &Cause::Restarted { why: WHY });
        self.end_process(backend, number, WHY);
        true
    }

    /// Nobody waits for it any more: it will not come.
    fn stop_by_order(&mut self, backend: BackendId) -> bool {
        const WHY: &str = "its owner stops it";
        let Some(b) = self.backends.get_mut(&backend) else { return false };
        b.forgive();
        let runs = match b.state {
            BackendState::Ready { number, .. } | BackendState::Starting { number, .. } => Some(number),
            BackendState::Stopping { number, .. } => {
                b.state = BackendState::Stopping { number, then: AfterStop::Rest };
                None
            }
            BackendState::Stopped | BackendState::Backoff { .. } | BackendState::Failed { .. } => {
                b.state = BackendState::Stopped;
                None
            }
        };
        if runs.is_some() {
            self.tell_of_loss(backend, WHY);
        }
        self.fail_all(backend, &Cause::Held);
        if let (Some(number), Some(b)) = (runs, self.backends.get_mut(&backend)) {
            b.state = BackendState::Stopping { number, then: AfterStop::Rest };
            self.end_process(backend, number, WHY);
        }
        runs.is_some()
    }

    /// For those who use it; whatever the breaker says.
    fn start_by_order(&mut self, backend: BackendId) -> bool {
        let is_down = self.backends.get(&backend).is_some_and(|b| b.number().is_none() && !b.is_retired());
        if !is_down || self.lessees(backend).next().is_none() {
            return false;
        }
        if let Some(b) = self.backends.get_mut(&backend) {
            b.forgive();
            b.state = BackendState::Stopped;
        }
        self.ensure_started(backend);
        true
    }
}

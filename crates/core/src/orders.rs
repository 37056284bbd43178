//! What the owner says: restart, stop, start a server, or change its settings.

use crate::backend::{Manner, State, Then};
use crate::event::{Action, BackendId, ServerId};
use crate::exchange::{Core, Server};
use crate::moment::Moment;
use crate::settings::ServerSettings;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Restart,
    /// Its instances go, and none is started until the next [`Order::Start`].
    Stop,
    Start,
}

/// What came of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// How many instances it concerned.
    pub instances: usize,
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
        self.now = self.now.max(now);
        std::mem::swap(&mut self.actions, actions);
        let is_meant = |at: &Option<String>| root.is_none() || at.as_deref() == root;
        let own = self.backends.values().filter(|b| b.server == server && is_meant(&b.key.root));
        let own: Vec<BackendId> = own.map(|b| b.id).collect();
        if let Some(server) = self.servers.get_mut(server.0 as usize)
            && root.is_none()
        {
            server.is_held = match order {
                Order::Stop => true,
                Order::Start | Order::Restart => false,
            };
        }
        let mut instances = 0;
        for backend in own {
            instances += usize::from(match order {
                Order::Restart => self.replace(backend, Then::Restart, "its owner restarts it"),
                Order::Stop => self.replace(backend, Then::Rest, "its owner stops it"),
                Order::Start => self.start_by_order(backend),
            });
        }
        self.settle();
        std::mem::swap(&mut self.actions, actions);
        Done { instances }
    }

    /// Ends a process by order. What is open there gets an error, or goes to the next process where it may.
    fn replace(&mut self, backend: BackendId, then: Then, why: &'static str) -> bool {
        let Some(b) = self.backends.get_mut(&backend) else { return false };
        b.crashes.clear();
        b.opened = 0;
        match b.state {
            State::Ready { number, .. } | State::Starting { number, .. } => {
                b.state = State::Stopping { number, then };
                self.tell_of_loss(backend, why);
                self.settle_sent(backend, &crate::answers::Cause::Restarted { why });
                self.end_process(backend, number, why);
                true
            }
            // The next request tries anew, whatever the breaker says.
            State::Backoff { .. } | State::Failed { .. } => {
                b.state = State::Stopped;
                if then == Then::Restart && !self.is_nobodys(backend) {
                    self.ensure_started(backend);
                }
                true
            }
            State::Stopped | State::Stopping { .. } => false,
        }
    }

    fn start_by_order(&mut self, backend: BackendId) -> bool {
        let is_down = self.backends.get(&backend).is_some_and(|b| b.number().is_none());
        let is_down = is_down && self.lessees(backend).next().is_some();
        if is_down {
            self.replace(backend, Then::Rest, "its owner starts it");
            self.ensure_started(backend);
        }
        is_down
    }

    /// Takes over a new config. Servers are told by their names: one whose settings (and number, which the gateway
    /// gives anew to a launch that changed) are the same goes on as it is.
    pub fn reconfigure(&mut self, now: Moment, servers: Vec<(ServerId, Option<ServerSettings>)>, actions: &mut Vec<Action>) {
        self.now = self.now.max(now);
        std::mem::swap(&mut self.actions, actions);
        for (id, settings) in servers {
            let at = id.0 as usize;
            match (settings, self.servers.get_mut(at)) {
                (Some(settings), Some(server)) => {
                    server.is_gone = false;
                    server.settings = Arc::new(settings);
                    server.manner = Manner::of(server.settings.framing);
                    self.move_clients(id);
                }
                (Some(settings), None) => self.servers.push(Server::new(settings)),
                (None, Some(server)) => {
                    server.is_gone = true;
                    self.move_clients(id);
                }
                (None, None) => {}
            }
        }
        self.settle();
        std::mem::swap(&mut self.actions, actions);
    }

    /// The clients of a server that is another now get other instances with their next request; the old ones finish
    /// what they are at.
    fn move_clients(&mut self, server: ServerId) {
        let Some(settings) = self.servers.get(server.0 as usize).map(|server| server.settings.clone()) else { return };
        let clients: Vec<_> = self.clients.values().filter(|c| c.server == server).map(|c| c.id).collect();
        for client in clients {
            self.leave_all(client);
            if let Some(c) = self.clients.get_mut(&client) {
                c.settings = settings.clone();
            }
        }
        let old: Vec<BackendId> = self.backends.values().filter(|b| b.server == server).map(|b| b.id).collect();
        for backend in old {
            // Nobody may join it any more.
            if let Some(b) = self.backends.get_mut(&backend) {
                b.is_retired = true;
            }
            self.left.push((backend, "its settings have changed"));
        }
    }
}

//! What the owner does: other settings, servers that come and go, orders; and another run of the program.

use super::client::Presence;
use super::ledger::Check;
use super::menu::{Server, naming};
use super::plan::{SERVERS, server};
use super::world::{Turn, World, server_id};
use crate::variables::environment;
use std::collections::BTreeSet;
use std::sync::Arc;
use switchboard_core::{Capabilities, Change, ClientId, Core, Order, ServerSettings};

impl World {
    pub(super) fn add_server(&mut self, settings: ServerSettings) {
        let at = self.servers.len();
        let menus = [self.new_menu(at), self.new_menu(at)];
        let differs =
            self.plan.classes > 1 && settings.capabilities != Capabilities::Shared && self.rng.percent(50);
        self.servers.push(Server {
            namings: vec![settings.naming.clone()],
            settings,
            is_gone: false,
            is_held: false,
            differs,
            menus,
            told: BTreeSet::new(),
            cannot_start: self.rng.percent(6),
            is_crashy: self.rng.percent(15),
            has_asked: false,
            lies: if self.rng.percent(25) { 10 } else { 0 },
        });
    }

    pub(super) fn owner_acts(&mut self) -> Check {
        if self.is_ending {
            return Ok(());
        }
        match self.rng.below(10) {
            0..4 if self.plan.reloads => self.reload(),
            4..8 => self.orders(),
            8 if self.plan.restarts => {
                self.note(|| "> the program is killed".into());
                self.begin_anew()
            }
            _ => Ok(()),
        }
    }

    fn orders(&mut self) -> Check {
        let at = self.rng.below(self.servers.len());
        let order = *self.rng.pick(&[Order::Restart, Order::Start, Order::Stop]);
        self.order(at, order)
    }

    pub(super) fn order(&mut self, at: usize, order: Order) -> Check {
        self.servers[at].is_held = order == Order::Stop;
        self.stats.orders += 1;
        let now = self.now;
        self.note(|| format!("> the owner says {order:?} of server {at}"));
        self.handle_by(Turn::default(), |core, actions| {
            core.order(now, server_id(at), None, order, actions);
        })
    }

    fn reload(&mut self) -> Check {
        self.stats.reloads += 1;
        let at = self.rng.below(self.servers.len() + 1);
        let style = self.plan.style;
        let settings = if at == self.servers.len() {
            if at == SERVERS.len() {
                return Ok(());
            }
            let settings = server(&mut self.rng, SERVERS[at], style);
            self.add_server(settings.clone());
            Some(settings)
        } else if !self.servers[at].is_gone && self.rng.percent(40) {
            self.stats.servers_dropped += 1;
            None
        } else if self.rng.percent(50) {
            // Only what it shows is another.
            let mut settings = self.servers[at].settings.clone();
            settings.naming = Arc::new(naming(&mut self.rng, SERVERS[at], style));
            Some(settings)
        } else {
            let before = self.servers[at].settings.capabilities;
            let settings = server(&mut self.rng, SERVERS[at], style);
            Some(ServerSettings { capabilities: before, ..settings })
        };
        self.known.retain(|(of, _)| *of != at);
        let server = &mut self.servers[at];
        server.is_gone = settings.is_none();
        if let Some(settings) = settings {
            server.namings.push(settings.naming.clone());
            server.settings = settings;
        } else {
            server.is_held = false;
        }
        self.take_over(at)
    }

    fn take_over(&mut self, at: usize) -> Check {
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        let settled_at = self.requests.len();
        for client in clients {
            let c = self.client(client);
            c.settled_at = settled_at;
            let environment = c.environments.values().next().copied().unwrap_or_default();
            c.environments.insert(at, environment);
        }
        for p in self.processes.values_mut().filter(|p| p.server == at) {
            p.clients.clear();
            p.listeners.clear();
        }
        self.change += 1;
        let now = self.now;
        for request in self.requests.iter_mut().filter(|request| request.is_open()) {
            request.waits_since = now;
        }
        let keeps = self.rng.percent(50);
        let all = self.settings();
        let mut settings = all.servers[at].clone();
        if keeps {
            self.known.extend(settings.offers.iter().map(|(key, _)| (at, key.profile.to_string())));
        } else {
            settings.offers.clear();
        }
        let there = self.clients.values().filter(|c| c.presence != Presence::Lost);
        let change = Change {
            servers: vec![(server_id(at), Some(settings).filter(|_| !self.servers[at].is_gone))],
            shown: Vec::new(),
            environments: there.map(|c| (c.id, server_id(at), environment(c.environments[&at]))).collect(),
            pool: all.pool,
            policy: all.roots.policy,
            dialect: all.dialect,
            shutdown_grace: all.shutdown_grace,
            linger: all.linger,
            aggregates: all.aggregates,
        };
        self.note(|| format!("> another config: server {at} is {:?}", change.servers[0].1));
        self.handle_by(Turn::default(), |core, actions| core.reconfigure(now, change, actions))
    }

    /// The program is started again, and knows what was kept.
    pub(super) fn begin_anew(&mut self) -> Check {
        self.stats.runs += 1;
        for server in &mut self.servers {
            (server.is_gone, server.is_held) = (false, false);
        }
        let settings = self.settings();
        let known = |(at, server): (usize, &ServerSettings)| {
            server.offers.iter().map(move |(key, _)| (at, key.profile.to_string())).collect::<Vec<_>>()
        };
        self.known = settings.servers.iter().enumerate().flat_map(known).collect();
        self.core = Core::new(settings);
        for request in &mut self.requests {
            request.is_void = true;
        }
        self.clients.clear();
        self.processes.clear();
        self.tasks.clear();
        self.asks.clear();
        self.in_line.clear();
        self.forget_later();
        self.change += 1;
        (self.is_ending, self.is_finished) = (false, false);
        Ok(())
    }
}

//! Acts of the owner: changed settings, added and removed servers, orders, a restart of the program.

use super::menu::{Server, naming};
use super::pins::StoredPins;
use super::plan::{SERVERS, server};
use super::rights;
use super::{AggregateWorld, server_id};
use crate::simulator::engine::{Check, environment};
use std::collections::BTreeSet;
use std::sync::Arc;
use switchboard_core::{Capabilities, ClientId, Core, Order, ServerSettings};

impl AggregateWorld {
    pub(super) fn add_server(&mut self, settings: ServerSettings) {
        let at = self.own.servers.len();
        let menus = [self.new_menu(at), self.new_menu(at)];
        let differs =
            self.plan.classes > 1 && settings.capabilities != Capabilities::Shared && self.rng.percent(50);
        self.own.servers.push(Server {
            namings: vec![settings.naming.clone()],
            settings,
            differs,
            menus,
            told: BTreeSet::new(),
            cannot_start: self.rng.percent(6),
            is_crashy: self.rng.percent(15),
            has_asked: false,
            lies: if self.rng.percent(25) { 10 } else { 0 },
            pins: StoredPins::default(),
        });
    }

    pub(super) fn owner_acts(&mut self) -> Check {
        if self.plan.changes_rights() && self.rng.percent(70) {
            return self.changes_rights();
        }
        match self.rng.below(10) {
            0..4 if self.plan.reloads => self.changes_config(),
            4..6 => self.approves(),
            6..8 => self.orders(),
            8 if self.plan.restarts => {
                self.tell(|| "the program is killed, and started again".into());
                self.begin_anew()
            }
            _ => Ok(()),
        }
    }

    /// The clients with a profile have other rights from now on.
    fn changes_rights(&mut self) -> Check {
        let at = self.rng.below(self.own.profiles.len());
        let rights = match self.rng.percent(20) {
            true => Arc::default(),
            false => Arc::new(rights::draw(&mut self.rng, SERVERS)),
        };
        self.stats.count("rights_changed");
        self.own.profiles[at].push(rights.clone());
        self.settings.profiles[at].1 = rights;
        let concerned = self.clients.values().filter(|c| c.profile == Some(at)).map(|c| c.id);
        for client in concerned.collect::<Vec<ClientId>>() {
            self.roots_moved(client);
        }
        self.own.change += 1;
        self.set_profiles()
    }

    fn orders(&mut self) -> Check {
        let at = self.rng.below(self.own.servers.len());
        let order = *self.rng.pick(&[Order::Restart, Order::Start, Order::Stop]);
        self.order(at, None, order)
    }

    fn changes_config(&mut self) -> Check {
        let at = self.rng.below(self.own.servers.len() + 1);
        let style = self.plan.style;
        let settings = if at == self.own.servers.len() {
            if at == SERVERS.len() {
                return Ok(());
            }
            let settings = server(&mut self.rng, SERVERS[at], style);
            self.add_server(settings.clone());
            Some(settings)
        } else if !self.owner.is_removed(at) && self.rng.percent(40) {
            None
        } else if self.rng.percent(50) {
            // Only the filters differ.
            let mut settings = self.own.servers[at].settings.clone();
            settings.naming = Arc::new(naming(&mut self.rng, SERVERS[at], style));
            Some(settings)
        } else {
            let ServerSettings { capabilities, pinning, .. } = self.own.servers[at].settings;
            let settings = server(&mut self.rng, SERVERS[at], style);
            Some(ServerSettings { capabilities, pinning, ..settings })
        };
        self.own.known.retain(|(of, _)| *of != at);
        let is_removed = settings.is_none();
        if let Some(settings) = settings {
            let server = &mut self.own.servers[at];
            server.namings.push(settings.naming.clone());
            server.settings = settings;
            self.renew_held(at);
        }
        self.take_over(at, is_removed)
    }

    fn take_over(&mut self, at: usize, is_removed: bool) -> Check {
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        let settled_at = self.ledger.requests.len();
        for client in clients {
            self.client(client).settled_at = settled_at;
        }
        for p in self.processes.values_mut().filter(|p| p.server == at) {
            p.clients.clear();
            p.listeners.clear();
        }
        self.own.change += 1;
        let now = self.now;
        for request in self.ledger.requests.iter_mut().filter(|request| request.is_open()) {
            request.waits_since = now;
        }
        let keeps = self.rng.percent(50);
        let mut settings = self.stored_settings().servers[at].clone();
        if keeps {
            self.own.known.extend(settings.offers.iter().map(|(key, _)| (at, key.profile.to_string())));
        } else {
            settings.offers.clear();
        }
        let there = self.clients.values().filter(|c| c.is_there());
        let environments = there.map(|c| (c.id, server_id(at), environment(c.environment))).collect();
        self.reconfigure(at, Some(settings).filter(|_| !is_removed), environments)
    }

    /// Restarts the program, which knows the stored lists.
    pub(super) fn begin_anew(&mut self) -> Check {
        self.stats.count("runs");
        self.forget_orders();
        let settings = self.stored_settings();
        let known = |(at, server): (usize, &ServerSettings)| {
            server.offers.iter().map(move |(key, _)| (at, key.profile.to_string())).collect::<Vec<_>>()
        };
        self.own.known = settings.servers.iter().enumerate().flat_map(known).collect();
        self.core = Core::new(settings);
        for request in &mut self.ledger.requests {
            request.is_cancelled = true;
        }
        self.clients.clear();
        self.processes.clear();
        self.own.tasks.clear();
        self.ledger.asks.clear();
        self.in_line.clear();
        self.clear_agenda();
        self.own.change += 1;
        (self.is_ending, self.is_finished) = (false, false);
        Ok(())
    }
}

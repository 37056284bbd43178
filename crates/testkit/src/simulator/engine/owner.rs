//! The owner: orders about servers, and changed configs. A stopped server stays stopped until it is enabled again; a
//! removed one gets no further request.

use super::{Check, Scenario, World};
use std::collections::{BTreeMap, BTreeSet};
use switchboard_core::{
    BackendId, Change, ClientId, Environment, Launch, Moment, Order, ServerId, ServerSettings,
};

/// The owner's last orders about each server, by its number.
#[derive(Debug, Default)]
pub(crate) struct Owner {
    held: BTreeSet<usize>,
    /// Number of requests at the removal of the server.
    removed: BTreeMap<usize, usize>,
    /// Backends of an earlier config.
    retired: BTreeMap<BackendId, Retired>,
}

/// A backend of an earlier config: it finishes its requests, and gets no later ones.
#[derive(Debug, Clone)]
struct Retired {
    since: Moment,
    /// Number of requests at the change.
    from: usize,
    /// Clients in a handshake, which they complete first.
    greeting: BTreeSet<ClientId>,
}

impl Owner {
    pub(crate) fn is_held(&self, server: usize) -> bool {
        self.held.contains(&server)
    }

    pub(crate) fn is_removed(&self, server: usize) -> bool {
        self.removed.contains_key(&server)
    }

    /// Time since which a backend has belonged to an earlier config.
    pub(crate) fn retired_since(&self, backend: BackendId) -> Option<Moment> {
        self.retired.get(&backend).map(|retired| retired.since)
    }

    pub(crate) fn is_retired(&self, backend: BackendId) -> bool {
        self.retired.contains_key(&backend)
    }
}

impl<S: Scenario> World<S> {
    /// Gives an order about all instances of a server, or about those at a root.
    pub(crate) fn order(&mut self, server: usize, root: Option<&str>, order: Order) -> Check {
        match order {
            Order::Stop if root.is_none() => drop(self.owner.held.insert(server)),
            Order::Start | Order::Restart if root.is_none() => drop(self.owner.held.remove(&server)),
            Order::Stop | Order::Start | Order::Restart | Order::Forget => {}
        }
        self.stats.count("orders");
        let now = self.now;
        let at = root.map(|root| format!(" at {root}")).unwrap_or_default();
        self.tell(|| format!("the owner orders {order:?} of server {server}{at}"));
        self.handle_by(S::Turn::default(), |core, actions| {
            core.order(now, ServerId(server as u32), root, order, actions);
        })?;
        let is_meant = |launch: &Launch| {
            let p = &self.processes[launch];
            p.server == server && p.is_staying() && root.is_none_or(|root| p.root.as_deref() == Some(root))
        };
        match self.alive().find(is_meant).filter(|_| order == Order::Stop) {
            Some(launch) => Err(format!("server {server} is stopped by its owner, and {launch} goes on")),
            None => Ok(()),
        }
    }

    /// Gives a random order about a server; a stopped one is usually started again.
    pub(crate) fn some_order(&mut self, server: usize, root: Option<&str>) -> Check {
        let order = match self.owner.is_held(server) {
            true if self.rng.percent(70) => Order::Start,
            _ => self.rng.weighted(&[(2, Order::Restart), (1, Order::Start), (2, Order::Stop)]),
        };
        self.order(server, root, order)
    }

    /// Changes or re-adds a server, or removes it. The core compares nothing, so the change need not be real.
    pub(crate) fn reload(&mut self, server: usize, is_removed: bool) -> Check {
        let settings = Some(self.settings.servers[server].clone()).filter(|_| !is_removed);
        self.reconfigure(server, settings, Vec::new())
    }

    /// Applies changed settings of one server, or its removal.
    pub(crate) fn reconfigure(
        &mut self,
        server: usize,
        settings: Option<ServerSettings>,
        environments: Vec<(ClientId, ServerId, Environment)>,
    ) -> Check {
        match settings {
            Some(_) => drop(self.owner.removed.remove(&server)),
            None => {
                self.stats.count("servers_removed");
                self.owner.held.remove(&server);
                self.owner.removed.insert(server, self.ledger.requests.len());
            }
        }
        self.stats.count("reloads");
        let is_greeting = |r: &&super::Request<S::Request>| r.rule.name == "initialize" && r.is_open();
        let greeting = self.ledger.requests.iter().filter(is_greeting).map(|r| r.client).collect();
        let retired = Retired { since: self.now, from: self.ledger.requests.len(), greeting };
        for p in self.processes.values().filter(|p| p.server == server) {
            self.owner.retired.entry(p.launch.backend).or_insert_with(|| retired.clone());
        }
        self.tell(|| match &settings {
            Some(_) => format!("the config has other settings for server {server}"),
            None => format!("the config no longer has server {server}"),
        });
        let servers = vec![(ServerId(server as u32), settings)];
        self.take_over_change(Change { servers, environments, ..self.no_change() })
    }

    /// Takes over the profiles of the settings.
    pub(crate) fn set_profiles(&mut self) -> Check {
        self.tell(|| "the config has other profiles".to_owned());
        self.take_over_change(self.no_change())
    }

    fn no_change(&self) -> Change {
        let all = &self.settings;
        Change {
            servers: Vec::new(),
            shown: Vec::new(),
            call_limits: Vec::new(),
            identity_limits: all.identity_limits,
            profiles: all.profiles.clone(),
            environments: Vec::new(),
            pool: all.pool.clone(),
            policy: all.roots.policy,
            dialect: all.dialect,
            client_era: all.client_era,
            shutdown_grace: all.shutdown_grace,
            linger: all.linger,
            aggregates: all.aggregates.clone(),
            audit: all.audit,
        }
    }

    fn take_over_change(&mut self, change: Change) -> Check {
        let now = self.now;
        self.handle_by(S::Turn::default(), |core, actions| core.reconfigure(now, change, actions))
    }

    /// Forgets all orders: the program is restarted.
    pub(crate) fn forget_orders(&mut self) {
        self.owner = Owner::default();
    }

    pub(super) fn check_start_allowed(&self, launch: Launch, server: usize) -> Check {
        if self.owner.is_held(server) {
            return Err(format!("{launch} is started, and its owner has stopped the server"));
        }
        // Requests from before the removal may still be finished.
        let is_known = self.processes.keys().any(|known| known.backend == launch.backend);
        match self.owner.is_removed(server) && !is_known {
            true => Err(format!("{launch} is started, and its server is no longer in the config")),
            false => Ok(()),
        }
    }

    /// Checks that a process may get a client's request, and a second time only if that is harmless.
    pub(crate) fn hand_over(&mut self, number: usize, launch: Launch) -> Check {
        let request = &self.ledger.requests[number];
        let what = format!("request {} of {}", request.id, request.client);
        let (server, is_stopping) = (self.processes[&launch].server, self.processes[&launch].is_stopping);
        if is_stopping {
            return Err(format!("{launch} is told to end, and then given the {what}"));
        }
        if request.is_hidden {
            return Err(format!("{launch} is given the {what}, of a tool that is hidden"));
        }
        if request.is_answered {
            return Err(format!("{launch} is given the {what} after its answer"));
        }
        if self.owner.is_held(server) {
            return Err(format!("{launch} is given the {what}, and its owner has stopped the server"));
        }
        if self.owner.removed.get(&server).is_some_and(|&from| number >= from) {
            return Err(format!("{launch} is given the {what}, and its server is no longer in the config"));
        }
        let is_late = |retired: &&Retired| {
            number >= retired.from
                && !retired.greeting.contains(&request.client)
                && !request.rule.is_of_task()
        };
        if self.owner.retired.get(&launch.backend).filter(is_late).is_some() {
            return Err(format!("{launch} is given the {what}, and its settings have changed before"));
        }
        // A handshake is repeated in the other framing, for a server that cannot have read it.
        let most = if request.rule.is_repeatable || request.rule.name == "initialize" { 2 } else { 1 };
        let is_lost = |launch: &Launch| !self.processes[launch].is_staying();
        if request.handed.len() >= most || !request.handed.iter().all(is_lost) {
            return Err(format!("{launch} is given the {what}, which {:?} had", request.handed));
        }
        self.ledger.requests[number].handed.push(launch);
        Ok(())
    }
}

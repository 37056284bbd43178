//! Backends across their processes: root, users, and the state kept for them.

use super::PoolWorld;
use crate::simulator::engine::{Check, serves};
use std::collections::{BTreeMap, BTreeSet};
use switchboard_core::{BackendId, ClientId, Launch, Moment};

/// A request that continues after its answer.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) client: ClientId,
    /// The process that runs it: it ends with that process.
    pub(super) launch: Launch,
    pub(super) is_over: bool,
    /// Whether its client has moved since: the simulator cannot see whether its process is still known.
    pub(super) is_loose: bool,
}

#[derive(Debug, Default)]
pub(super) struct Site {
    pub(super) root: Option<String>,
    pub(super) environment: u32,
    /// Clients whose requests its processes ever got.
    pub(super) served: BTreeSet<ClientId>,
    /// Clients that certainly use it: it got a request of theirs, and they have not moved since.
    pub(super) sure: BTreeSet<ClientId>,
    /// Subscribers by resource.
    pub(super) subscriptions: BTreeMap<String, BTreeSet<ClientId>>,
    /// Clients that may or may not get updates: they unsubscribed half way, or moved.
    pub(super) loose: BTreeSet<(String, ClientId)>,
    pub(super) tasks: Vec<Task>,
    /// Clients that have not been told yet that its lists changed, with the time of the change.
    pub(super) news_for: BTreeMap<ClientId, Moment>,
    /// Reason for its last stop.
    pub(super) why: Option<&'static str>,
}

impl Site {
    /// Removes a client that is gone, or works elsewhere.
    pub(super) fn forget(&mut self, client: ClientId, is_gone: bool) {
        self.sure.remove(&client);
        self.news_for.remove(&client);
        for (uri, clients) in &mut self.subscriptions {
            if clients.remove(&client) && !is_gone {
                self.loose.insert((uri.clone(), client));
            }
        }
        self.subscriptions.retain(|_, clients| !clients.is_empty());
        if is_gone {
            self.loose.retain(|(_, other)| *other != client);
        }
        for task in self.tasks.iter_mut().filter(|task| task.client == client) {
            task.is_loose = true;
            task.is_over |= is_gone;
        }
    }

    /// Removes a client's subscription.
    pub(super) fn loosen(&mut self, uri: &str, client: ClientId) {
        let Some(clients) = self.subscriptions.get_mut(uri) else { return };
        if clients.remove(&client) {
            self.loose.insert((uri.to_owned(), client));
        }
        self.subscriptions.retain(|_, clients| !clients.is_empty());
    }

    pub(super) fn has_tasks(&self) -> bool {
        self.tasks.iter().any(|task| !task.is_over && !task.is_loose)
    }
}

impl PoolWorld {
    pub(super) fn site(&mut self, backend: BackendId) -> &mut Site {
        self.own.sites.get_mut(&backend).expect("a backend that was started")
    }

    /// Handles changed roots of a client: the simulator cannot see which backends it still uses.
    pub(super) fn unsettle(&mut self, client: ClientId) {
        let from = self.ledger.requests.len();
        self.client(client).settled_from = from;
        for site in self.own.sites.values_mut() {
            site.forget(client, false);
        }
    }

    /// Whether a client may be a user of a backend.
    pub(super) fn may_use(&self, client: ClientId, backend: BackendId) -> bool {
        let (Some(c), Some(site)) = (self.clients.get(&client), self.own.sites.get(&backend)) else {
            return false;
        };
        let is_alone = self.is_private() && site.served.iter().any(|&other| other != client);
        c.is_there()
            && !is_alone
            && serves(site.environment, c.environment)
            && (site.served.contains(&client) || c.homes.contains(&site.root))
    }

    /// Possible users, and certain ones.
    pub(super) fn users(&self, backend: BackendId) -> (Vec<ClientId>, Vec<ClientId>) {
        let may = self.clients.keys().copied().filter(|&client| self.may_use(client, backend)).collect();
        let sure = self.own.sites.get(&backend).map(|site| site.sure.iter().copied().collect());
        (may, sure.unwrap_or_default())
    }

    /// Prepares for a client's request to a process of this backend.
    pub(super) fn serve(&mut self, number: usize, launch: Launch) -> Check {
        let is_private = self.is_private();
        let request = &self.ledger.requests[number];
        let client = request.client;
        let is_old = number < self.clients[&client].settled_from && !request.is_undecided;
        // A task request goes to the process that runs it, whoever its users are.
        let is_late = is_old || request.verb.task().is_some();
        let c = self.clients.get(&client).ok_or("a request of nobody")?;
        let kind = self.kind_of(client);
        let is_greeted = c.is_greeted;
        let site = self.site(launch.backend);
        site.served.insert(client);
        if !is_late {
            site.sure.insert(client);
        }
        let others: Vec<ClientId> = site.sure.iter().copied().filter(|&other| other != client).collect();
        let all = site.served.len();
        if is_private && all > 1 {
            return Err(format!(
                "{launch} serves {client} and {:?}, though it is private",
                self.site(launch.backend).served
            ));
        }
        if others.is_empty() {
            return Ok(());
        }
        if self.process(launch).clients.insert(client) && self.process(launch).clients.len() == 2 {
            self.stats.count("shared_processes");
        }
        for other in others {
            let o = &self.clients[&other];
            let alike = kind == self.kind_of(other);
            if !alike && is_greeted && o.is_greeted {
                self.check_likeness(launch, client, other)?;
            }
        }
        Ok(())
    }
}

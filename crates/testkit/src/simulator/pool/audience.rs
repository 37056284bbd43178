//! Recipients of a process's messages: exactly the clients that they concern.

use super::PoolWorld;
use super::verb::{PoolRequest, Verb};
use crate::simulator::engine::{Check, Request};
use std::collections::BTreeSet;
use switchboard_core::{Capabilities, ClientId, Launch};

impl PoolWorld {
    fn listeners(&self) -> Check<BTreeSet<ClientId>> {
        Ok(self.hearers()?.into_keys().collect())
    }

    /// Fails unless a recipient is a client of the process.
    pub(super) fn check_listeners(&self, launch: Launch) -> Check {
        let stranger = self.listeners()?.into_iter().find(|&client| !self.may_use(client, launch.backend));
        match stranger {
            Some(client) => Err(format!("{client} hears of {launch}, which it does not use")),
            None => Ok(()),
        }
    }

    pub(super) fn check_log(&mut self, launch: Launch, rank: usize) -> Check {
        let listeners = self.listeners()?;
        let wants = |client: ClientId| self.clients[&client].level.is_none_or(|level| rank >= level);
        if let Some(client) = listeners.iter().find(|client| !wants(**client)) {
            return Err(format!("{client} hears a log message that it does not want to hear"));
        }
        let process = &self.processes[&launch];
        let (may, sure) = self.users(launch.backend);
        let is_certain = process.is_staying() && process.may_have_used.is_subset(&process.users);
        let has_level = |client: &ClientId| self.clients[client].level.is_some();
        // A single user gets all log messages; of several, those that set a level; before any use, the only client.
        let users: Vec<ClientId> = process.users.iter().copied().collect();
        let must: Vec<ClientId> = match users[..] {
            [] if may == sure && may.len() == 1 => may.clone(),
            [] => Vec::new(),
            [only] => vec![only],
            _ => sure.iter().copied().filter(has_level).collect(),
        };
        let stranger = match users[..] {
            [only] if self.clients[&only].is_there() => listeners.iter().find(|&&client| client != only),
            // Its only user has left: now those hear it that set a level.
            [_] => listeners.iter().find(|client| !has_level(client)),
            [] | [_, _, ..] if listeners.len() > 1 => listeners.iter().find(|client| !has_level(client)),
            [_, _, ..] => listeners.iter().find(|client| !has_level(client)),
            [] => None,
        };
        if let Some(client) = stranger.filter(|_| is_certain) {
            return Err(format!("{client} hears what {launch} logs, which {users:?} have used"));
        }
        let is_there = |client: &ClientId| self.clients[client].is_there();
        let forgotten =
            must.iter().find(|client| is_there(client) && wants(**client) && !listeners.contains(client));
        if let Some(client) = forgotten.filter(|_| is_certain) {
            return Err(format!("{client} does not hear what {launch} logs"));
        }
        self.stats.count_if("logs_withheld", sure.len() > listeners.len());
        self.stats.count_if("logs_spread", listeners.len() > 1);
        Ok(())
    }

    pub(super) fn check_update(&mut self, launch: Launch, uri: &str) -> Check {
        let listeners = self.listeners()?;
        let site = &self.own.sites[&launch.backend];
        let wanted = site.subscriptions.get(uri).cloned().unwrap_or_default();
        let may =
            |client: &ClientId| wanted.contains(client) || site.loose.contains(&(uri.to_owned(), *client));
        // The server decides about a request that is cancelled, or not answered yet.
        let is_stray = |request: &Request<PoolRequest>| {
            request.verb == Verb::Subscribe { uri: uri.to_owned() }
                && request.handed.contains(&launch)
                && (request.is_cancelled || request.is_refused || request.is_open())
        };
        // Alone with its server, a client gets the same messages as without Switchboard.
        let is_alone = |client: &ClientId| self.processes[&launch].users.iter().all(|user| user == client);
        let has_strays = || self.ledger.requests.iter().any(is_stray);
        if let Some(client) =
            listeners.iter().find(|client| !may(client) && !is_alone(client) && !has_strays())
        {
            return Err(format!("{client} hears of {uri} at {launch}, and did not subscribe to it"));
        }
        if let Some(client) = wanted.iter().find(|client| !listeners.contains(client)) {
            return Err(format!("{client} subscribed to {uri} at {launch}, and does not hear of it"));
        }
        self.stats.count_if("updates_spread", listeners.len() > 1);
        Ok(())
    }

    /// Fails unless only this client gets the message, and does so if it is connected.
    pub(super) fn check_only(&self, launch: Launch, owner: ClientId) -> Check {
        let listeners = self.listeners()?;
        let site = &self.own.sites[&launch.backend];
        let is_there = self.clients[&owner].is_there() && site.sure.contains(&owner);
        match listeners.iter().find(|&&client| client != owner) {
            Some(client) => Err(format!("{client} hears of a task of {owner}")),
            None if is_there && listeners.is_empty() => Err(format!("{owner} does not hear of its task")),
            None => Ok(()),
        }
    }

    /// Fails if two clients with different capabilities share a process.
    pub(super) fn check_likeness(&mut self, launch: Launch, one: ClientId, other: ClientId) -> Check {
        let (a, b) = (&self.clients[&one], &self.clients[&other]);
        let may = match self.settings.servers[0].capabilities {
            Capabilities::Exact => false,
            Capabilities::Shared => a.version == b.version,
            Capabilities::Auto => !self.plan.offers_differ || self.kind_of(one).1 == self.kind_of(other).1,
        };
        if !may {
            return Err(format!(
                "{one} and {other} share {launch}, though it may offer them different things"
            ));
        }
        let is_auto = self.settings.servers[0].capabilities == Capabilities::Auto;
        self.stats.count_if("shared_by_likeness", is_auto);
        Ok(())
    }

    /// After the answer of a process: fails unless the waiting client was answered.
    pub(super) fn check_answered(&self, launch: Launch, number: usize) -> Check {
        let request = &self.ledger.requests[number];
        if request.is_open() && request.handed.last() == Some(&launch) && self.processes[&launch].is_staying()
        {
            return Err(format!(
                "{launch} answered {}'s {}, who does not hear it",
                request.client, request.id
            ));
        }
        Ok(())
    }
}

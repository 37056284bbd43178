//! Unsolicited messages of processes, and the clients that get them.

use super::AggregateWorld;
use super::rights::{Seen, allows_method};
use crate::simulator::engine::Check;
use serde_json::{Value, json};
use std::sync::Arc;
use switchboard_core::catalogue::{List, Naming};
use switchboard_core::{ClientId, Launch};

impl AggregateWorld {
    pub(super) fn check_log(&self, launch: Launch, rank: usize, has_logger: bool) -> Check {
        let heard = self.hearers()?;
        let p = &self.processes[&launch];
        let name = self.name_of(p.server);
        for (client, words) in &heard {
            let c = &self.clients[client];
            if c.level.is_some_and(|level| level > rank) && !c.is_level_open {
                return Err(format!("{client} wants to hear {:?} and more, and hears {words}", c.level));
            }
            let logger = match (c.is_aggregate(), has_logger) {
                (true, true) => json!(format!("{name}/db")),
                (true, false) => json!(name),
                (false, true) => json!("db"),
                (false, false) => Value::Null,
            };
            if words["params"]["logger"] != logger || words["params"]["data"]["by"] != launch.to_string() {
                return Err(format!("{client} hears {words}, which {name} said"));
            }
            if !self.may_use_server(*client, p.server) {
                return Err(format!("{client} may not use {name}, and hears {words}"));
            }
            if c.server.is_some_and(|own| own != p.server) {
                return Err(format!("{client} is no client of {name}, and hears {words}"));
            }
        }
        let is_seen = !p.has_more_users;
        let has_level =
            |client: &ClientId| self.clients[client].level.is_some() || self.clients[client].is_level_open;
        let users: Vec<ClientId> = p.users.iter().copied().collect();
        let stranger = match users[..] {
            [] => heard.iter().find(|(client, _)| heard.len() > 1 && !has_level(client)),
            // The state of a client that is gone is removed in the end.
            [only] if self.is_lost(only) => heard.iter().find(|(client, _)| !has_level(client)),
            [only] => heard.iter().find(|(client, _)| **client != only),
            [_, _, ..] => heard.iter().find(|(client, _)| !has_level(client)),
        };
        if let Some((client, _)) = stranger.filter(|_| is_seen) {
            return Err(format!("{client} hears what {launch} logs, which {users:?} have used"));
        }
        let wants = |client: &&ClientId| {
            let is_meant = match users[..] {
                [] => false,
                [only] => **client == only,
                [_, _, ..] => has_level(client),
            };
            if !is_meant || !is_seen {
                return false;
            }
            let c = &self.clients[client];
            self.is_sure(**client) && !c.is_level_open && c.level.is_none_or(|level| level <= rank)
        };
        let missed = p.clients.iter().filter(wants).find(|client| !heard.contains_key(client));
        match missed.filter(|_| !p.is_stopping) {
            Some(client) => Err(format!("{client} does not hear what {launch} logs")),
            None => Ok(()),
        }
    }

    /// A question goes to the only client that has used the process, or is refused.
    pub(super) fn check_question(&mut self, launch: Launch, number: usize) -> Check {
        let p = &self.processes[&launch];
        let passed = self.ledger.asks[number].client;
        let users: Vec<ClientId> = p.users.iter().copied().collect();
        let is_wrong = match users[..] {
            [] => false,
            [only] => passed.is_some_and(|client| client != only),
            [_, _, ..] => passed.is_some(),
        };
        if is_wrong && !p.has_more_users {
            return Err(format!("{launch} asked q{number}, {users:?} have used it, and {passed:?} is asked"));
        }
        if users.len() > 1 && passed.is_none() && p.is_alive() && !p.is_stopping {
            self.stats.count("disputes");
            self.process(launch).is_disputed = true;
        }
        Ok(())
    }

    pub(super) fn check_update(&mut self, launch: Launch, uri: &str) -> Check {
        let heard = self.hearers()?;
        let p = &self.processes[&launch];
        let listeners: Vec<ClientId> =
            p.listeners.iter().filter(|(of, _)| of == uri).map(|(_, client)| *client).collect();
        for (client, words) in &heard {
            self.check_heard(*client, p.server, uri)?;
            let c = &self.clients[client];
            let used = c.spellings.get(&(p.server, uri.to_owned())).filter(|_| c.is_aggregate());
            let said = words["params"]["uri"].as_str().unwrap_or_default();
            let is_fine = match used.map(Vec::as_slice) {
                // After another handshake a client has no subscriptions; alone with its server, it gets all updates.
                Some([only]) if listeners.contains(client) && !c.has_greeted_again => said == only,
                Some(used) => said == uri || used.iter().any(|used| used == said),
                None => said == uri,
            };
            if !is_fine {
                return Err(format!("{client} listens to {used:?}, and hears {words}"));
            }
            let is_deaf = p.deaf.contains(&(uri.to_owned(), *client)) && !listeners.contains(client);
            if is_deaf && listeners.iter().any(|other| other != client && self.is_sure(*other)) {
                return Err(format!("{client} listens no longer, and hears {words}"));
            }
        }
        let missed = listeners.iter().find(|client| self.is_sure(**client) && !heard.contains_key(client));
        if let Some(client) = missed.filter(|_| !p.is_stopping) {
            return Err(format!("{client} listens to {uri} of {launch}, and does not hear of it"));
        }
        self.stats.add("updates_heard", listeners.len() as u64);
        Ok(())
    }

    /// An update is about a resource that the client may use and subscribe to.
    fn check_heard(&self, client: ClientId, server: usize, uri: &str) -> Check {
        let Some(rights) = self.rights_of(client) else { return Ok(()) };
        let may = |naming: &Arc<Naming>| {
            let seen = Seen { naming, rights: Some(rights) };
            seen.may_use(List::Resources, uri) || seen.has_template_for(uri)
        };
        let is_fine =
            allows_method(rights, "resources/subscribe") && self.own.servers[server].namings.iter().any(may);
        match is_fine {
            true => Ok(()),
            false => Err(format!("{client} may not use {uri}, and hears of it")),
        }
    }
}

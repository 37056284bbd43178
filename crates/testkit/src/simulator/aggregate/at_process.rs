//! Arrivals at a process: the handshake first, then requests for its server, under the server's own names.

use super::AggregateWorld;
use super::at_lists::may_be_called;
use super::at_single::heard_name;
use super::client_talk::decoded;
use super::process::{Assigned, Job};
use super::verb::Verb;
use crate::simulator::engine::{Asked, Check, Phase};
use serde_json::Value;
use switchboard_core::Launch;
use switchboard_core::catalogue::List;

impl AggregateWorld {
    pub(super) fn told(&mut self, launch: Launch, method: &str, words: &Value) -> Check {
        let first = self.name_of(0).to_owned();
        let rules = &self.settings.aggregates.notifications;
        let is_bound = rules.iter().any(|(of, servers)| *of == method && servers.contains(&first));
        let from = words["params"]["from"].as_str().unwrap_or_default();
        let is_aggregates = self.clients.values().any(|c| c.is_aggregate() && c.id.to_string() == from);
        match is_bound && is_aggregates && self.processes[&launch].server != 0 {
            true => Err(format!("{launch} hears {words}, which is for another server")),
            false => Ok(()),
        }
    }

    pub(super) fn requested(&mut self, asked: &Asked<'_>) -> Check {
        let Asked { launch, id, method, tag, words, text } = *asked;
        let p = &self.processes[&launch];
        let (server, has_class, is_confirmed) = (p.server, p.class.is_some(), p.is_confirmed);
        let list = List::ALL.into_iter().find(|list| list.method().name() == Some(method));
        let job = match (method, tag, list) {
            ("initialize", ..) => {
                let is_able = words["params"]["capabilities"].get("sampling").is_some();
                let is_plain = tag.is_none() && words["params"]["protocolVersion"] == "2024-11-05";
                self.stats.count_if("plain_handshakes", is_plain);
                let p = self.process(launch);
                p.class = Some(usize::from(is_able));
                match tag.filter(|&tag| self.clients[&self.ledger.requests[tag].client].server.is_some()) {
                    Some(tag) if self.ledger.requests[tag].is_open() => {
                        self.ledger.requests[tag].handed.push(launch);
                        Job::Client(tag)
                    }
                    _ => Job::Greet,
                }
            }
            (_, None, Some(list)) => {
                if !is_confirmed {
                    return Err(format!(
                        "{launch} is asked what it offers, and nobody said that he is ready"
                    ));
                }
                self.stats.count("fetched");
                let cursor = words["params"]["cursor"].as_str().and_then(|text| text.parse().ok());
                let p = &self.processes[&launch];
                if !self.own.servers[server].menu(p.class.unwrap_or_default()).declares(list) {
                    return Err(format!("{launch} is asked for {list:?}, which it does not offer"));
                }
                Job::Page { list, cursor: cursor.unwrap_or_default() }
            }
            ("logging/setLevel", Some(tag), _)
                if self.clients[&self.ledger.requests[tag].client].is_aggregate() =>
            {
                Job::Other
            }
            // An earlier level of the process counts again, or for another process too.
            ("logging/setLevel", Some(tag), _)
                if !self.ledger.requests[tag].is_open()
                    || self.ledger.requests[tag].minted.is_some_and(|known| known != id) =>
            {
                Job::Other
            }
            (_, Some(tag), _) => {
                let is_aggregate = self.clients[&self.ledger.requests[tag].client].is_aggregate();
                if is_aggregate && !has_class {
                    return Err(format!("{launch} was never greeted, and is asked for {words}"));
                }
                self.client_request_at_process(launch, tag, words, text)?;
                self.ledger.requests[tag].own.minted = Some(id);
                Job::Client(tag)
            }
            (_, None, None) => {
                self.process(launch).has_more_users |= method == "resources/subscribe";
                Job::Other
            }
        };
        let lies = self.own.servers[server].lies;
        let is_ignored = match &job {
            Job::Greet => self.rng.percent(1),
            Job::Page { .. } => self.rng.percent(lies),
            Job::Client(_) => self.rng.percent(4),
            Job::Other => self.rng.percent(4),
        };
        self.process(launch).open.push(Assigned { id, job, is_ignored });
        Ok(())
    }

    fn client_request_at_process(&mut self, launch: Launch, tag: usize, words: &Value, text: &str) -> Check {
        let p = &self.processes[&launch];
        let request = &self.ledger.requests[tag];
        let c = &self.clients[&request.client];
        let server = p.server;
        self.check_rights(server, tag, heard_name(request, words))?;
        let (client, is_aggregate) = (request.client, c.is_aggregate());
        self.check_held(launch, tag, heard_name(&self.ledger.requests[tag], words))?;
        match is_aggregate {
            true => self.check_owner(launch, tag, words, text)?,
            false => self.check_single_access(launch, tag, words)?,
        }
        let verb = self.ledger.requests[tag].verb.clone();
        self.give(tag, launch)?;
        if self.ledger.requests[tag].rule.is_use {
            let is_disputed = self.processes[&launch].is_disputed;
            if is_disputed && !matches!(verb, Verb::Task { .. }) {
                return Err(format!("{launch} asked what may have been about several, and is given {words}"));
            }
            self.process(launch).users.insert(client);
        }
        if let Verb::Task { task, .. } = verb {
            if self.own.tasks[task].client != client {
                return match self.own.tasks[task].launch == launch {
                    true => {
                        Err(format!("{launch} is given {client}'s request about a task of another: {words}"))
                    }
                    false => Ok(()),
                };
            }
            // The client may work elsewhere by now. Another process may refuse a task that ended with the old one.
            let keeper = self.own.tasks[task].launch;
            let p = &self.processes[&keeper];
            let is_gone = p.server == server && (p.phase != Phase::Alive || p.is_stopping);
            return match keeper.backend == launch.backend || is_gone {
                true => Ok(()),
                false => Err(format!("{launch} is asked for a task of {}", self.own.tasks[task].launch)),
            };
        }
        if tag >= self.clients[&client].settled_at {
            self.process(launch).clients.insert(client);
        }
        Ok(())
    }

    /// Fails unless a request is for this server, under the server's own name.
    fn check_owner(&mut self, launch: Launch, tag: usize, words: &Value, text: &str) -> Check {
        let server = self.processes[&launch].server;
        let request = &self.ledger.requests[tag];
        let (Some(list), Some(public)) = (request.verb.list(), request.name.as_deref()) else {
            return Ok(());
        };
        let heard = heard_name(request, words);
        if matches!(request.verb, Verb::Call { .. } | Verb::Get)
            && !text.contains(r#""arguments":{"n":1.50}"#)
        {
            return Err(format!("{launch} hears {text}"));
        }
        if let Some(meant) = request.meant {
            let item = &self.own.items[meant];
            let is_spelled =
                text.contains(&item.spelled) || matches!(list, List::Resources | List::Templates);
            if item.server != server || item.name != heard || !is_spelled {
                return Err(format!(
                    "{} was shown {public}, which is {} of {}, and {launch} hears {text}",
                    request.client,
                    item.spelled,
                    self.name_of(item.server)
                ));
            }
            self.stats.count("surely_routed");
            return Ok(());
        }
        let named = decoded(public);
        let namings = &self.own.servers[server].namings;
        let is_possible = namings.iter().any(|naming| may_be_called(naming, list, heard, public));
        let is_named = named.as_ref().is_some_and(|(_, uri)| uri == heard);
        let by_uri = matches!(list, List::Resources | List::Templates) && (public == heard || is_named);
        if !is_possible && !by_uri {
            return Err(format!("{launch} hears {heard}, and its client said {public}"));
        }
        // A URI that names its server belongs to no other.
        if named.is_some_and(|(of, _)| of != self.name_of(server) && heard != public) {
            return Err(format!("{launch} hears {heard}, and its client said {public}"));
        }
        self.stats.count("perhaps_routed");
        Ok(())
    }

    pub(super) fn replied(&mut self, launch: Launch, number: usize, words: &Value) -> Check {
        let ask = &self.ledger.asks[number];
        let by = words["result"]["by"].as_str();
        if by.is_some_and(|by| Some(by.to_owned()) != ask.client.map(|client| client.to_string())) {
            return Err(format!("{launch} asked {:?}, and hears {words}", ask.client));
        }
        Ok(())
    }
}

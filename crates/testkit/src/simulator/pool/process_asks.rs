//! Questions of processes, and the clients that they may concern.

use super::verb::Verb;
use super::{PoolTurn, PoolWorld};
use crate::simulator::engine::{Check, Presence, request};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use switchboard_core::routing::path::{Style, to_uri};
use switchboard_core::{ClientId, Launch};

impl PoolWorld {
    fn process_asks(&mut self, launch: Launch, method: &str, mut params: Value) -> Check<usize> {
        let number = self.ledger.add_ask(launch, self.now, method == "roots/list");
        params["ask"] = json!(number);
        self.own.last_talk = self.now;
        let text = request(format!("\"q{number}\""), method, params);
        self.process_says(PoolTurn::default(), launch, text)?;
        Ok(number)
    }

    pub(super) fn process_asks_sampling(&mut self, launch: Launch) -> Check {
        // A process of an earlier config teaches nothing.
        if !self.plan.asks || !self.process(launch).is_staying() || self.owner.is_retired(launch.backend) {
            return Ok(());
        }
        let tasks = &self.own.sites[&launch.backend].tasks;
        let running = tasks.iter().find(|task| task.launch == launch && !task.is_over && !task.is_loose);
        let related = running.map(|task| (task.id.clone(), task.client)).filter(|_| self.rng.percent(50));
        let mut params = json!({ "messages": [] });
        if let Some((id, _)) = &related {
            params["_meta"] = json!({ "io.modelcontextprotocol/related-task": { "taskId": id } });
        }
        let is_allowed = self.settings.servers[0].asks.sampling;
        self.own.has_asked |= is_allowed;
        let ask = self.process_asks(launch, "sampling/createMessage", params)?;
        if !is_allowed {
            return self.check_denied(launch, ask);
        }
        let passed = self.ledger.asks[ask].client;
        if passed.is_none() && !self.ledger.asks[ask].is_answered {
            return Err(format!("{launch} asked q{ask}, and neither a client nor an error came of it"));
        }
        let process = &self.processes[&launch];
        let (users, may_have_used) = (process.users.clone(), process.may_have_used.clone());
        let doubtful = !may_have_used.is_subset(&users);
        if related.is_none() && users.len() + usize::from(doubtful) > 1 && passed.is_none() {
            self.process(launch).is_disputed = !doubtful;
        }
        let meant = match (&related, users.len()) {
            (Some((_, owner)), _) => Some(*owner),
            // The simulator cannot see whether it was told of other clients' subscriptions.
            (None, 1) if doubtful && passed.is_none() => None,
            (None, 1) => users.first().copied(),
            (None, 0) if doubtful => passed.filter(|client| may_have_used.contains(client)),
            (None, 0) => return self.check_asked_out_of_the_blue(launch, passed),
            (None, _) => None,
        };
        let meant = meant.filter(|client| self.clients[client].presence == Presence::Here);
        if passed != meant {
            return Err(format!(
                "{launch} asked q{ask}: it concerns {meant:?} ({users:?} have used it), and went to {passed:?}"
            ));
        }
        match passed {
            Some(_) if related.is_some() => self.stats.count("asks_passed_by_task"),
            Some(_) => self.stats.count("asks_passed_in_flight"),
            None => self.stats.count("asks_refused"),
        }
        Ok(())
    }

    /// Clients with a request that this process works on.
    pub(super) fn in_flight(&self, launch: Launch) -> BTreeSet<ClientId> {
        let at_work = self.ledger.requests.iter().filter(|r| r.is_open() && r.handed.last() == Some(&launch));
        at_work.map(|request| request.client).collect()
    }

    /// Checks, before a client's request enters a process, that no other client's questions or roots are there.
    pub(super) fn check_isolation(
        &mut self,
        launch: Launch,
        client: ClientId,
        verb: &Verb,
        what: &str,
    ) -> Check {
        let (has_asked, is_about_task) = (self.own.has_asked, verb.task().is_some());
        let c = &self.clients[&client];
        let (has_roots, named) = (c.has_roots && c.known.pinned.is_none(), c.named.clone());
        let is_split = self.is_split();
        let process = self.process(launch);
        if process.is_disputed && !is_about_task {
            return Err(format!("{launch} asked what may have been about several, and is given {what}"));
        }
        if has_asked && !is_about_task {
            let owner = *process.owner.get_or_insert(client);
            if owner != client {
                return Err(format!("{launch} asks questions, is used by {owner}, and is given {what}"));
            }
        }
        if let Some(told) = process.roots_told.as_ref().filter(|_| has_roots && !is_split && !is_about_task)
            && process.users.iter().any(|other| *other != client)
            && !named.is_empty()
            && !told.is_empty()
            && !named.values().any(|own| own == told)
        {
            return Err(format!(
                "{launch} was told the roots {told:?}, and is given {what}, who named {named:?}"
            ));
        }
        process.users.insert(client);
        Ok(())
    }

    fn check_asked_out_of_the_blue(&mut self, launch: Launch, passed: Option<ClientId>) -> Check {
        let (may, sure) = self.users(launch.backend);
        match passed {
            Some(client) if !may.contains(&client) => {
                return Err(format!("{launch} asks {client}, who does not use it"));
            }
            Some(client) if sure.iter().any(|&other| other != client) => {
                return Err(format!("{launch} asks {client}, though it has the clients {sure:?}"));
            }
            None if may.len() == 1 && sure == may && self.clients[&may[0]].presence == Presence::Here => {
                return Err(format!("{launch} has no other client than {:?}, who is not asked", may[0]));
            }
            Some(_) => self.stats.count("asks_passed_to_the_only_one"),
            None => self.stats.count("asks_refused"),
        }
        Ok(())
    }

    pub(super) fn process_asks_roots(&mut self, launch: Launch) -> Check {
        if !self.plan.asks_roots || !self.process(launch).is_staying() {
            return Ok(());
        }
        let ask = self.process_asks(launch, "roots/list", json!({}))?;
        if !self.settings.servers[0].asks.roots {
            return self.check_denied(launch, ask);
        }
        let Some(client) = self.ledger.asks[ask].client else { return Ok(()) };
        // A client without roots gets this question like any other.
        let (may, sure) = self.users(launch.backend);
        let c = &self.clients[&client];
        if (c.has_roots && c.initialize.is_some() && sure.contains(&client)) || !may.contains(&client) {
            return Err(format!("{launch} asks {client} for roots, which is our affair"));
        }
        Ok(())
    }

    /// Handles the answer to a process.
    pub(super) fn replied(&mut self, launch: Launch, number: usize, words: &Value) -> Check {
        let (wants_roots, client) = (self.ledger.asks[number].wants_roots, self.ledger.asks[number].client);
        let now = self.now;
        self.process(launch).free_since = now;
        let said = words.pointer("/result/ask").or(words.pointer("/error/data/ask"));
        match (wants_roots, client, words.get("result")) {
            (_, Some(_), _) if said.is_some() && said != Some(&json!(number)) => {
                Err(format!("{launch} is given the answer to another question: {words}"))
            }
            (false, None, Some(_)) => Err(format!("{launch} asked nobody, and is answered: {words}")),
            (true, None, Some(result)) => self.check_named_roots(launch, result),
            _ => Ok(()),
        }
    }

    /// Roots that a process is told: its own, or all roots of one of its clients.
    fn check_named_roots(&mut self, launch: Launch, result: &Value) -> Check {
        let roots = result["roots"].as_array().cloned().unwrap_or_default();
        self.stats.count("roots_named_to_process");
        self.process(launch).roots_told = Some(roots.clone());
        let process = &self.processes[&launch];
        let (mut may, _) = self.users(launch.backend);
        // A client that has left since was asked while it was connected.
        may.extend(
            self.own.sites[&launch.backend].served.iter().filter(|client| !self.clients[client].is_there()),
        );
        let named_by = |client: &&ClientId| self.clients[client].named.values().any(|named| *named == roots);
        let is_pinned = |client: &&ClientId| {
            let pinned = &self.clients[client].known.pinned;
            pinned.is_some() && *pinned == process.root
        };
        let is_split = self.is_split();
        if let Some(root) = process.root.as_ref().filter(|_| is_split || may.iter().any(|c| is_pinned(&c))) {
            let uri = to_uri(root, Style::Unix);
            let is_link = |uri: &str| uri == "file:///l/b" && root == "/w/b";
            let is_it = |named: &Value| named["uri"].as_str().is_some_and(|it| it == uri || is_link(it));
            match roots.as_slice() {
                [one] if is_it(one) => return Ok(()),
                _ if is_split || may.iter().all(|c| is_pinned(&c)) => {
                    return Err(format!("{launch} is at {root}, and is told that its roots are {roots:?}"));
                }
                _ => {}
            }
        }
        // Roots of the handshake count until others are named; a client that never answers has none.
        let uris: Vec<String> =
            roots.iter().filter_map(|root| root["uri"].as_str().map(str::to_owned)).collect();
        let is_known = |client: &ClientId| {
            let known = &self.clients[client].known;
            let named = known.client.iter().map(|path| to_uri(path, Style::Unix));
            let pinned = known.pinned.iter().map(|path| to_uri(path, Style::Unix));
            named.collect::<Vec<_>>() == uris
                || (known.pinned.is_some() && pinned.collect::<Vec<_>>() == uris)
        };
        let is_nowhere = is_split && process.root.is_none();
        if (roots.is_empty() && (may.is_empty() || is_nowhere))
            || may.iter().any(is_known)
            || may.iter().any(|client| named_by(&client))
        {
            return Ok(());
        }
        Err(format!("{launch} is told the roots {roots:?}, which none of {may:?} named"))
    }
}

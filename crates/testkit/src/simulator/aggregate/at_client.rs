//! Arrivals at a client: answers to its requests, questions that concern it, and notifications.

use super::AggregateWorld;
use super::client::Stage;
use super::menu::is_shown;
use super::rights::allows_server;
use super::verb::{AggregateRequest, Verb};
use crate::simulator::engine::{Answer, Check, Request, parsed};
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::Duration;
use switchboard_core::ClientId;
use switchboard_core::catalogue::{List, decode_resource};

impl AggregateWorld {
    pub(super) fn roots_asked(&mut self, client: ClientId, id: Value) -> Check {
        let now = self.now;
        let c = self.client(client);
        let is_changed = std::mem::take(&mut c.has_other_roots);
        // After five seconds the client is no longer waited for.
        let can_name = c.has_roots;
        c.asked_roots.retain(|(_, since)| !can_name || now.since(*since) < Duration::from_secs(5));
        // A client without roots gets this question like any other.
        if c.has_roots && !c.asked_roots.is_empty() && !is_changed {
            return Err(format!("{client} is asked for its roots, and was a moment ago"));
        }
        c.asked_roots.push((id, now));
        c.is_given_up = false;
        Ok(())
    }

    pub(super) fn notified(&mut self, client: ClientId, words: &Value) -> Check {
        let lists: &[List] = match words["method"].as_str() {
            Some("notifications/tools/list_changed") => &[List::Tools],
            Some("notifications/prompts/list_changed") => &[List::Prompts],
            Some("notifications/resources/list_changed") => &[List::Resources, List::Templates],
            _ => return Ok(()),
        };
        if !self.clients[&client].is_aggregate() {
            return Ok(());
        }
        // An answer in a batch arrives with the rest of the batch.
        let is_on_its_way = self.ledger.requests.iter().any(|request| {
            let is_it = matches!(request.verb, Verb::List { list, .. } if lists.contains(&list));
            request.client == client && request.is_in_batch && is_it
        });
        let c = self.client(client);
        if lists.iter().all(|list| c.shown[*list as usize].is_none()) && !is_on_its_way {
            return Err(format!("{client} has not seen the list, and is told that it is another: {words}"));
        }
        for list in lists {
            c.is_told[*list as usize] = true;
        }
        self.stats.count("told");
        Ok(())
    }

    pub(super) fn answered(&mut self, answer: &Answer<'_>) -> Check {
        let Answer { client, number: tag, words } = *answer;
        let request = &self.ledger.requests[tag];
        let (is_cancelled, verb, said) = (request.is_cancelled, request.verb.clone(), request.said.clone());
        let failed = answer.failed();
        let key = if failed { "error" } else { "result" };
        let got = format!(r#""{key}":{}"#, words[key].get());
        let is_servers = said.as_deref().is_some_and(|said| self.is_same(tag, said, &got));
        let is_too_slow = said.is_some() && got.contains("client_too_slow");
        if is_cancelled && !is_servers && !is_too_slow && !self.ledger.requests[tag].is_in_batch {
            return Err(format!("{client} took a request back, and we answer it: {words:?}"));
        }
        match (is_servers, failed) {
            (true, _) => self.stats.count("answers"),
            (false, true) => self.our_error(client, tag, &parsed(words[key].get())?)?,
            (false, false) => self.our_answer(client, tag, words[key])?,
        }
        let c = self.client(client);
        match verb {
            Verb::Initialize => {
                c.stage = if failed { Stage::New } else { Stage::Greeted };
                c.is_confirmed &= !failed;
                // The client is asked for its roots only now; some servers start with them.
                let now = self.now;
                for request in self.ledger.requests.iter_mut().filter(|request| request.client == client) {
                    request.waits_since = now;
                }
            }
            Verb::SetLevel { .. } if c.is_aggregate() => c.is_level_open |= failed,
            Verb::SetLevel { rank } => {
                if !failed && !is_cancelled {
                    c.level = Some(rank);
                }
                let is_open = |r: &Request<AggregateRequest>| {
                    r.client == client && r.is_open() && matches!(r.verb, Verb::SetLevel { .. })
                };
                // In a batch, a request may be answered before an earlier one.
                let is_level_open = self.ledger.requests.iter().any(is_open)
                    || failed
                    || is_cancelled
                    || self.ledger.requests[tag].is_in_batch;
                self.client(client).is_level_open = is_level_open;
            }
            _ => {}
        }
        Ok(())
    }

    /// An answer with the server's own ids of tasks; `None` if one lacks the name of the server.
    fn with_own_tasks(&self, tag: usize, got: &str) -> Option<String> {
        const KEY: &str = r#""taskId":""#;
        let request = &self.ledger.requests[tag];
        let launch = request.handed.last().filter(|_| self.clients[&request.client].is_aggregate());
        let Some(launch) = launch else { return Some(got.to_owned()) };
        let named = format!("{KEY}{}:", self.name_of(self.processes[launch].server));
        let is_complete = got.matches(KEY).count() == got.matches(&named).count();
        // A client that sees one server under its own names gets its own ids.
        let may_lack = self.listed_for(request.client).len() == 1;
        (is_complete || may_lack).then(|| got.replace(&named, KEY))
    }

    /// The server's answer, except for URIs that two servers could own.
    fn is_same(&mut self, tag: usize, said: &str, got: &str) -> bool {
        let Some(got) = self.with_own_tasks(tag, got) else { return false };
        let got = got.as_str();
        if said == got {
            return true;
        }
        if self.is_filtered_page(tag, said, got) {
            self.stats.count("filtered_pages");
            return true;
        }
        let server = self.ledger.requests[tag].handed.last().map(|launch| self.processes[launch].server);
        if self.ledger.requests[tag].verb == Verb::TasksList {
            // The cursor leads on to the next server.
            let cursor = got.split_once(r#""nextCursor":""#).and_then(|(_, rest)| rest.split_once(r#"","#));
            let plain = match cursor {
                Some((cursor, _)) => got.replace(&format!(r#""nextCursor":"{cursor}","#), ""),
                None => got.to_owned(),
            };
            return plain == said || self.has_own_tasks_only(tag, &plain);
        }
        let (Some(server), Some((before, after))) = (server, said.split_once("file:///w/1")) else {
            return false;
        };
        let middle = got.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        let is_wrapped = middle.and_then(decode_resource).is_some_and(|(name, uri)| {
            name == self.own.servers[server].settings.name && uri == "file:///w/1"
        });
        self.stats.count_if("told_apart", is_wrapped);
        is_wrapped
    }

    /// The tasks of a process with several users are not listed.
    fn has_own_tasks_only(&mut self, tag: usize, got: &str) -> bool {
        let (client, launch) =
            (self.ledger.requests[tag].client, self.ledger.requests[tag].handed.last().copied());
        let Some(p) = launch.map(|launch| &self.processes[&launch]) else { return false };
        let got: Value = serde_json::from_str(&format!("{{{got}}}")).unwrap_or_default();
        let tasks = got["result"]["tasks"].as_array().cloned().unwrap_or_default();
        let is_own = |task: &Value| {
            let number = task["taskId"].as_str().and_then(|id| id.strip_prefix('t')?.parse::<usize>().ok());
            number.is_some_and(|number| self.own.tasks[number].client == client)
        };
        let has_others = p.has_more_users || p.users.iter().any(|user| *user != client);
        let is_fine = has_others && tasks.iter().all(is_own);
        self.stats.count_if("tasks_hidden", is_fine);
        is_fine
    }

    fn our_answer(&mut self, client: ClientId, tag: usize, result: &RawValue) -> Check {
        let is_aggregate = self.clients[&client].is_aggregate();
        match (self.ledger.requests[tag].verb.clone(), result.get()) {
            (Verb::List { list, walk, .. }, _) if is_aggregate => {
                self.page_at_client(client, tag, list, walk, result)
            }
            (Verb::List { list, .. }, _) => self.stored_at_client(client, list, result),
            (Verb::Initialize, _) => Ok(()),
            (Verb::SetLevel { .. }, "{}") if is_aggregate => Ok(()),
            (Verb::Ping, "{}") => Ok(()),
            (Verb::Unsubscribe, "{}") => {
                let uri = self.ledger.requests[tag].name.clone().unwrap_or_default();
                let uri = self.own_uri(client, &uri);
                self.stats.count("unsubscribed_by_us");
                for p in self.processes.values_mut() {
                    p.listeners.retain(|known| *known != (uri.clone(), client));
                }
                Ok(())
            }
            (verb, result) => Err(format!("{client}'s {} is answered by us: {result}", verb.method())),
        }
    }

    fn our_error(&mut self, client: ClientId, tag: usize, error: &Value) -> Check {
        let kind = self.kind_of_error(client, error)?;
        if matches!(kind, "unknown_name" | "resource_not_found") {
            self.check_hidden(tag)?;
        }
        self.check_refusal(tag, kind, error)?;
        let request = &self.ledger.requests[tag];
        let server = error.pointer("/data/server").and_then(Value::as_str).filter(|name| !name.is_empty());
        let meant = request.meant.map(|mark| self.name_of(self.own.items[mark].server));
        let is_hidden =
            |name: &str| self.rights_of(client).is_some_and(|rights| !allows_server(rights, name));
        if server.is_some_and(is_hidden) && !request.is_in_batch {
            return Err(format!("{client} may not know of {server:?}: {error}"));
        }
        match (kind, meant) {
            // A reload may have hidden it while the request waited.
            ("unknown_name" | "resource_not_found", Some(_)) if self.is_still_shown(tag) => {
                Err(format!("{client} was shown {:?}, and nobody knows it: {error}", request.name))
            }
            ("shutting_down", _) if !self.is_ending => Err(format!("{client} is told that we end: {error}")),
            ("stale_cursor", _) => self.check_stale(client, tag),
            ("method_not_found", _)
                if !matches!(request.verb, Verb::Unknown | Verb::TasksList | Verb::Task { .. }) =>
            {
                Err(format!("{client} asks for what everybody has: {error}"))
            }
            (_, Some(meant)) if server.is_some_and(|server| server != meant) => {
                Err(format!("{client} asked {meant} for something: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// Whether what a request means is shown by the present filters.
    fn is_still_shown(&self, tag: usize) -> bool {
        self.ledger.requests[tag].meant.is_some_and(|mark| {
            let item = &self.own.items[mark];
            is_shown(self.own.servers[item.server].settings.naming.filter(item.list), &item.name)
        })
    }

    fn check_stale(&self, client: ClientId, tag: usize) -> Check {
        match self.ledger.requests[tag].verb {
            // An invalid cursor belongs to no walk.
            Verb::List { walk, .. }
                if self.clients[&client]
                    .walks
                    .get(&walk)
                    .is_none_or(|walk| walk.change != self.own.change) =>
            {
                Ok(())
            }
            Verb::TasksList => Ok(()),
            _ => Err(format!("{client} goes on in a list, and nothing has changed")),
        }
    }
}

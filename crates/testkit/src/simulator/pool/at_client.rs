//! Arrivals at a client: answers to its requests, questions that concern it, and notifications that it wants.

use super::PoolWorld;
use super::plan::DEBOUNCED;
use super::verb::Verb;
use crate::simulator::engine::{Answer, Check, parsed};
use serde_json::{Value, json};
use switchboard_core::ClientId;

impl PoolWorld {
    pub(super) fn notified(&mut self, client: ClientId, words: &Value) -> Check {
        if words["method"] == DEBOUNCED {
            for site in self.own.sites.values_mut() {
                site.news_for.remove(&client);
            }
        }
        Ok(())
    }

    pub(super) fn answered(&mut self, answer: &Answer<'_>) -> Check {
        let Answer { client, number, words } = *answer;
        let request = &self.ledger.requests[number];
        let (is_cancelled, verb) = (request.is_cancelled, request.verb.clone());
        self.stats.count_if("answers_after_cancellation", is_cancelled);
        let answering = self.turn.answering.take().filter(|(other, _)| *other == number);
        if is_cancelled && answering.is_none() {
            return Err(format!("{client} took a request back, and we answer it: {words:?}"));
        }
        let failed = answer.failed();
        let said: Value = parsed(words[if failed { "error" } else { "result" }].get())?;
        // A process may claim to have a task that the client has not started there; the claim reaches no client.
        let has_task = |id: &str| {
            let launch = self.ledger.requests[number].handed.last();
            let mut tasks = self.own.sites.values().flat_map(|site| &site.tasks);
            tasks.any(|task| task.id == id && task.client == client && Some(&task.launch) == launch)
        };
        let is_withheld =
            failed && said["data"]["kind"] == "unknown_name" && verb.task().is_some_and(|id| !has_task(id));
        match answering.filter(|_| !is_withheld) {
            Some((_, expected)) if said != expected => {
                return Err(format!("{client} is answered {said}, and the server said {expected}"));
            }
            Some(_) if failed => self.stats.count("server_errors"),
            Some(_) => {
                self.stats.count("results");
                if let (Verb::SetLevel { rank }, false) = (&verb, is_cancelled) {
                    self.client(client).level = Some(*rank);
                }
            }
            None if failed => self.our_error_at_client(client, number, &said)?,
            None => self.our_answer_at_client(client, number, &said)?,
        }
        if verb == Verb::Initialize {
            let c = self.client(client);
            c.is_greeted = !failed;
            if failed {
                (c.own.initialize, c.is_confirmed, c.own.is_greeted_by_us) = (None, false, false);
            }
            self.decide_tentatively(client, failed);
        }
        Ok(())
    }

    fn our_error_at_client(&mut self, client: ClientId, number: usize, error: &Value) -> Check {
        let kind = self.kind_of_error(client, error)?;
        if kind == "rate_limited" {
            self.check_limited(client, number, error)?;
        }
        self.note_free(number);
        self.ledger.requests[number].is_refused = true;
        let has_root =
            !self.ledger.requests[number].roots.is_empty() && !self.ledger.requests[number].is_unclear;
        if kind == "routing_failed" {
            self.stats.count("nowhere");
            if has_root || error["code"] != json!(-32004) {
                let roots = &self.ledger.requests[number].roots;
                return Err(format!("{client}'s request belongs to {roots:?}, and is refused: {error}"));
            }
        }
        let request = &self.ledger.requests[number];
        if kind == "unknown_name" && request.verb.task().is_none() && !request.is_hidden {
            return Err(format!("{client} asked for what is there, and is told that it is unknown: {error}"));
        }
        let text = error["message"].as_str().unwrap_or_default();
        let is_room_error = text.starts_with("no room");
        self.stats.count_if("room_errors", is_room_error);
        if is_room_error && self.alive().count() < self.most() {
            return Err(format!("{client} is told that there is no room, and there is"));
        }
        Ok(())
    }

    /// The process that works on a request may stop.
    pub(super) fn note_free(&mut self, number: usize) {
        let now = self.now;
        if let Some(&launch) = self.ledger.requests[number].handed.last() {
            self.process(launch).free_since = now;
        }
    }

    /// Answers of our own: a handshake whose answer is known, and messages that the server need not get.
    fn our_answer_at_client(&mut self, client: ClientId, number: usize, result: &Value) -> Check {
        match self.ledger.requests[number].verb.clone() {
            Verb::Initialize => {
                let is_heard =
                    result["serverInfo"]["name"].as_str().is_some_and(|name| name.starts_with("sim "));
                self.stats.count_if("joins_by_welcome", is_heard);
                self.stats.count_if("greeted_without_a_process", !is_heard);
                Ok(())
            }
            Verb::Unsubscribe { uri } if *result == json!({}) => {
                self.stats.count("unsubscribed_for_others");
                let site_of = |site: &&mut super::site::Site| site.sure.contains(&client);
                let mut sites: Vec<_> = self.own.sites.values_mut().filter(site_of).collect();
                // A client that uses only one backend certainly gets no more updates.
                if let [only] = sites.as_mut_slice() {
                    only.loose.remove(&(uri, client));
                }
                Ok(())
            }
            // A ping need not start a process.
            Verb::Ping if *result == json!({}) => {
                self.stats.count("pings_answered");
                Ok(())
            }
            verb => Err(format!("{client}'s {} is answered by us: {result}", verb.method())),
        }
    }
}

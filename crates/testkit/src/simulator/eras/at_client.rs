//! Arrivals at a client: answers in its era, and notifications that it asked for.

use super::client::{Manner, Stage};
use super::client_talk::{EraVerb, filled};
use super::for_modern::is_completed;
use super::process_talk::UNKNOWN;
use super::translated::is_same_but_for_era;
use super::{EraWorld, SUBSCRIPTION};
use crate::simulator::engine::{Answer, Check, Words, parsed};
use serde_json::Value;
use switchboard_core::{ClientEra, ClientId, EraChoice};
use switchboard_protocol::Era;

impl EraWorld {
    pub(super) fn notified(&mut self, client: ClientId, words: &Value) -> Check {
        let text = std::mem::take(&mut self.own.arriving);
        let method = words["method"].as_str().unwrap_or_default();
        if words["params"]["_meta"].get(SUBSCRIPTION).is_some() {
            return self.told_on_listen(client, method, &text);
        }
        let c = &self.clients[&client];
        let is_log = method == "notifications/message";
        if let Some(tag) = words["params"]["data"]["tag"].as_u64().filter(|_| is_log) {
            let meant = self.ledger.requests[tag as usize].client;
            return match meant == client {
                true => Ok(()),
                false => Err(format!("{client} hears {text}, about a request of {meant}")),
            };
        }
        let open = self.ledger.open_of(client);
        let wants_log = open.iter().any(|number| self.ledger.requests[*number].wants_log);
        match method {
            "notifications/progress" => Ok(()),
            "notifications/tools/list_changed" if c.was_legacy => Ok(()),
            // Nobody has subscribed any more, so the only user of the process is told.
            "notifications/resources/updated" if c.was_legacy => Ok(()),
            _ if is_log && (c.was_legacy || wants_log) => Ok(()),
            // A question that nobody need answer any more.
            "notifications/cancelled" if c.was_legacy => Ok(()),
            _ => Err(format!("{client} is modern, and hears {text}")),
        }
    }

    fn told_on_listen(&mut self, client: ClientId, method: &str, text: &str) -> Check {
        let id = subscription_in(text, "params")?;
        let Some(number) = self.ledger.find(client, &id) else {
            return Err(format!("{client} has no subscription {id}, and hears {text}"));
        };
        let request = &mut self.ledger.requests[number];
        if request.verb != EraVerb::Listen || !request.is_open() {
            return Err(format!("{client}'s subscription {id} is over, and it hears {text}"));
        }
        let is_acknowledged = std::mem::replace(&mut request.own.is_acknowledged, true);
        if method == "notifications/subscriptions/acknowledged" {
            request.own.has_resource = text.contains("mem:one");
        }
        if method == "notifications/resources/updated" && !request.has_resource {
            return Err(format!("{client} hears {text}, which {id} was not acknowledged with"));
        }
        if method == "notifications/subscriptions/acknowledged" && is_acknowledged {
            return Err(format!("{client} hears for the second time that {id} is open"));
        }
        if method != "notifications/subscriptions/acknowledged" && !is_acknowledged {
            return Err(format!("{client} hears {text} before {id} is acknowledged"));
        }
        self.stats.count(match method {
            "notifications/subscriptions/acknowledged" => "acknowledged",
            "notifications/resources/updated" => "updates_told",
            _ => "changes_told",
        });
        if self.clients[&client].is_aggregate() {
            return Ok(());
        }
        let Some((meant, said)) = &self.turn.telling else {
            return self.told_for_legacy(client, number, method, text);
        };
        let expected = filled(said, &id, None, "");
        match *meant == number && expected.trim() == text.trim() {
            true => Ok(()),
            false => Err(format!("{client} should hear\n  {expected}\nbut hears\n  {text}")),
        }
    }

    pub(super) fn answered(&mut self, answer: &Answer<'_>) -> Check {
        let text = std::mem::take(&mut self.own.arriving);
        let Answer { client, number, words } = *answer;
        let request = &self.ledger.requests[number];
        let (verb, id) = (request.verb, request.id.clone());
        let is_said = self.turn.answering.as_ref().is_some_and(|(meant, _)| *meant == number);
        let answering = if is_said { self.turn.answering.take() } else { None };
        let held = self.ledger.requests[number].own.held.take().map(|text| (number, text));
        let answering = answering.or(held);
        let request = &self.ledger.requests[number];
        if request.is_cancelled && (verb == EraVerb::Listen || answering.is_none()) {
            return Err(format!("{client} took {id} back, and gets {text}"));
        }
        let failed = answer.failed();
        // An answer that was held for a continued call, which is refused.
        let answering = answering.filter(|_| !(failed && text.contains(r#""kind":"#)));
        let is_single = !self.clients[&client].is_aggregate();
        if answering.is_none() && !failed && text.contains("input_required") {
            return self.paused(answer, &parsed(&text)?);
        }
        match answering {
            Some((_, said)) => {
                let expected = filled(&said, &id, None, "");
                let by = self.ledger.requests[number].handed.last().copied();
                let is_same = match by {
                    Some(by) if self.is_translated(by, number) => is_same_but_for_era(&said, &text)?,
                    Some(by) if self.is_translated_twice(by, number) => is_completed(verb, &expected, &text)?,
                    Some(by) if self.is_for_modern(by, number) => is_completed(verb, &expected, &text)?,
                    Some(_) | None => expected.trim() == text.trim(),
                };
                if (is_single || failed || verb == EraVerb::Call) && verb != EraVerb::Initialize && !is_same {
                    return Err(format!("{client} should get\n  {expected}\nbut gets\n  {text}"));
                }
                self.stats.count("results");
                let is_modern = self.ledger.requests[number].is_modern;
                let c = self.client(client);
                c.own.is_modern |= is_modern && c.own.stage == Stage::New;
            }
            // The refusal of its handshake, after the process has ended on the question for the modern era.
            None if verb == EraVerb::Initialize && self.is_late_refusal(client, &text) => {
                self.stats.count("late_refusals");
            }
            None if failed => self.our_error(client, number, &parsed(words["error"].get())?)?,
            None => self.our_result(client, number, &text)?,
        }
        if verb == EraVerb::Initialize {
            self.client(client).own.stage = if failed { Stage::New } else { Stage::Greeted };
        }
        Ok(())
    }

    fn is_late_refusal(&self, client: ClientId, text: &str) -> bool {
        let server = self.clients[&client].server;
        text.contains(UNKNOWN) && self.processes.values().any(|p| p.has_refused && Some(p.server) == server)
    }

    fn our_result(&mut self, client: ClientId, number: usize, text: &str) -> Check {
        self.stats.count("our_results");
        let request = &self.ledger.requests[number];
        let is_aggregate = self.clients[&client].is_aggregate();
        match request.verb {
            EraVerb::Listen => match subscription_in(text, "result")? == request.id {
                true => Ok(()),
                false => Err(format!("{client}'s subscription {} ends as {text}", request.id)),
            },
            EraVerb::Initialize | EraVerb::List | EraVerb::Discover if is_aggregate => {
                let request = (request.verb, request.is_modern);
                self.merged(client, request, text)
            }
            EraVerb::Initialize => Ok(()),
            EraVerb::List if !request.is_modern => Ok(()),
            EraVerb::Discover => self.discovered(client, text),
            EraVerb::Call if self.turn.wants_undeclared && text.contains("does not declare `") => {
                self.stats.count("rounds_undeclared");
                Ok(())
            }
            EraVerb::List | EraVerb::Call | EraVerb::Read => {
                Err(format!("{client} gets a result that no server gave: {text}"))
            }
        }
    }

    fn our_error(&mut self, client: ClientId, number: usize, error: &Value) -> Check {
        let kind = self.kind_of_error(client, error)?.to_owned();
        self.ledger.requests[number].own.is_refused = true;
        let request = &self.ledger.requests[number];
        let code = error["code"].as_i64().unwrap_or_default();
        let what = format!("{client}'s {} with id {}", request.verb.method(), request.id);
        // A request from before its client spoke the modern era, which now goes to a modern process.
        let is_early = !request.is_modern && self.clients[&client].manner == Manner::Modern;
        let may_miss = request.is_undeclared || (is_early && kind == "missing_meta");
        if may_miss != (kind == "missing_meta") && kind != "shutting_down" {
            return Err(format!("{what} is answered: {error}"));
        }
        if kind == "input_expired" && !request.text.contains("requestState") {
            return Err(format!("{what} continues nothing, and is answered: {error}"));
        }
        self.stats.count_if("old_states_refused", request.is_of_the_dead && kind == "input_expired");
        if request.is_modern && (-32019..=-32000).contains(&code) && self.clients[&client].is_modern {
            return Err(format!("{what} is answered with a code of the legacy era: {error}"));
        }
        let c = &self.clients[&client];
        let is_served = self.settings.client_era == ClientEra::Auto;
        // A client that makes a handshake has its other requests refused.
        let is_served = is_served && c.manner == Manner::Modern;
        let of_one = c.server.filter(|_| is_served && request.is_modern);
        let is_legacy = kind == "unsupported_version" || (kind == "method_not_found" && code == -32601);
        if let Some(server) = of_one.filter(|_| is_legacy) {
            let is_said = self.settings.servers[server].era == EraChoice::Fixed(Era::Legacy);
            // A process that ends at once may have ended on our question.
            let has_ended = self.processes.values().any(|p| {
                p.server == server
                    && !p.is_greeted
                    && (!p.is_staying() || self.owner.is_retired(p.launch.backend))
            });
            if self.plan.speech[server].is_modern() && !is_said && !has_ended {
                return Err(format!("{what} went to a modern server, and is answered: {error}"));
            }
        }
        if is_legacy && request.is_modern && c.manner == Manner::Modern && self.rng.percent(50) {
            // Falls back, as clients do.
            let c = self.client(client);
            (c.own.manner, c.own.stage, c.was_legacy) = (Manner::Legacy, Stage::New, true);
            self.stats.count("fallbacks");
        }
        Ok(())
    }
}

/// The id of the subscription in a message, as it is spelled.
fn subscription_in(text: &str, member: &str) -> Check<String> {
    let words: Words<'_> = parsed(text)?;
    let body: Words<'_> = parsed(words.get(member).map_or("{}", |it| it.get()))?;
    let meta: Words<'_> = parsed(body.get("_meta").map_or("{}", |it| it.get()))?;
    Ok(meta.get(SUBSCRIPTION).map(|id| id.get().to_owned()).unwrap_or_default())
}

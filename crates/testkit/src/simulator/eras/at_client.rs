//! Arrivals at a client: answers in its era, and notifications that it asked for.

use super::client::{Manner, Stage};
use super::client_talk::{EraVerb, filled};
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
        let open = self.ledger.open_of(client);
        let wants_log = open.iter().any(|number| self.ledger.requests[*number].wants_log);
        match method {
            "notifications/progress" => Ok(()),
            "notifications/tools/list_changed" if c.was_legacy => Ok(()),
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
            return Err(format!("{client} hears on {id} what no process says: {text}"));
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
        if request.is_cancelled && (verb == EraVerb::Listen || answering.is_none()) {
            return Err(format!("{client} took {id} back, and gets {text}"));
        }
        let failed = answer.failed();
        let is_single = !self.clients[&client].is_aggregate();
        match answering {
            Some((_, said)) => {
                let expected = filled(&said, &id, None, "");
                if is_single && verb != EraVerb::Initialize && expected.trim() != text.trim() {
                    return Err(format!("{client} should get\n  {expected}\nbut gets\n  {text}"));
                }
                self.stats.count("results");
                let is_modern = self.ledger.requests[number].is_modern;
                let c = self.client(client);
                c.own.is_modern |= is_modern && c.own.stage == Stage::New;
            }
            None if failed => self.our_error(client, number, &parsed(words["error"].get())?)?,
            None => self.our_result(client, number, &text)?,
        }
        if verb == EraVerb::Initialize {
            self.client(client).own.stage = if failed { Stage::New } else { Stage::Greeted };
        }
        Ok(())
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
            EraVerb::Initialize => Ok(()),
            EraVerb::List | EraVerb::Discover if is_aggregate => Ok(()),
            EraVerb::List if !request.is_modern => Ok(()),
            EraVerb::List | EraVerb::Discover | EraVerb::Call => {
                Err(format!("{client} gets a result that no server gave: {text}"))
            }
        }
    }

    fn our_error(&mut self, client: ClientId, number: usize, error: &Value) -> Check {
        let kind = self.kind_of_error(client, error)?.to_owned();
        let request = &self.ledger.requests[number];
        let code = error["code"].as_i64().unwrap_or_default();
        let what = format!("{client}'s {} with id {}", request.verb.method(), request.id);
        if request.is_undeclared != (kind == "missing_meta") && kind != "shutting_down" {
            return Err(format!("{what} is answered: {error}"));
        }
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

//! Modern clients of legacy processes: permitted changes of the translation, and the clients' subscriptions.

use super::client::Manner;
use super::client_talk::{EraRequest, EraVerb, filled};
use super::process::{EraJob, EraProcess};
use super::process_talk::WELCOME;
use super::{CAPABILITIES, CLIENT_INFO, EraTurn, EraWorld, LOG_LEVEL, SUBSCRIPTION, VERSION};
use crate::simulator::engine::{Check, Process, Request, answer, notice, parsed};
use serde_json::{Value, json};
use switchboard_core::{ClientId, EraChoice, Launch};
use switchboard_protocol::Era;

/// Payload that must keep its bytes.
const ARGUMENTS: &str = r#""arguments":{"n":0.700, "e":"\u00e9\/"}"#;
const NUMBER: &str = r#""n":1.50"#;

impl EraWorld {
    /// Whether this modern request is translated for this process.
    pub(super) fn is_for_modern(&self, launch: Launch, number: usize) -> bool {
        !self.processes[&launch].is_modern && self.ledger.requests[number].is_modern
    }

    /// Whether this modern request is translated twice: the server seemed to be legacy, and its process then refused the
    /// handshake.
    pub(super) fn is_translated_twice(&self, launch: Launch, number: usize) -> bool {
        self.processes[&launch].has_translator() && self.ledger.requests[number].is_modern
    }

    /// Whether a process of this client's server has a translator for legacy clients.
    fn may_be_twice(&self, client: ClientId) -> bool {
        let server = self.clients[&client].server;
        self.processes.values().any(|p| Some(p.server) == server && p.has_translator())
    }

    /// Checks a modern request at a legacy process: the client's request without the members of the modern era.
    pub(super) fn modern_request_at_legacy(&mut self, launch: Launch, number: usize, text: &str) -> Check {
        let request = &self.ledger.requests[number];
        let server = self.processes[&launch].server;
        let is_twice = self.is_translated_twice(launch, number);
        let is_said = self.settings.servers[server].era == EraChoice::Fixed(Era::Modern);
        let is_wrong = is_said && !is_twice;
        if is_wrong || matches!(request.verb, EraVerb::Discover | EraVerb::Listen | EraVerb::Initialize) {
            return Err(format!("{launch} is legacy, and is given {text}"));
        }
        let mut words: Value = parsed(text)?;
        let (id, token) = (words["id"].to_string(), words["params"]["_meta"]["progressToken"].to_string());
        let mut expected: Value = parsed(&filled(&request.text, &id, Some(&token), "echo"))?;
        remove_modern_members(&mut expected);
        if is_twice {
            remove_modern_members(&mut words);
        }
        let is_same = words == expected && (request.verb != EraVerb::Call || text.contains(ARGUMENTS));
        self.stats.count(if is_twice { "translated_twice" } else { "requests_for_legacy" });
        match is_same {
            true => Ok(()),
            false => Err(format!("{launch} should get\n  {expected}\nbut gets\n  {text}")),
        }
    }

    /// Checks the discovery of a legacy server.
    pub(super) fn discovered(&mut self, client: ClientId, text: &str) -> Check {
        if self.may_be_twice(client) {
            return Ok(());
        }
        let server = self.clients[&client].server;
        let is_greeted = |p: &Process<EraProcess>| Some(p.server) == server && !p.is_modern && p.is_greeted;
        if !self.processes.values().any(is_greeted) {
            return Err(format!("{client} gets a result that no server gave: {text}"));
        }
        let (words, mut welcome): (Value, Value) = (parsed(text)?, parsed(WELCOME)?);
        welcome["capabilities"].as_object_mut().map(|it| it.remove("tasks"));
        let expected = json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": welcome["capabilities"],
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": { "io.modelcontextprotocol/serverInfo": welcome["serverInfo"] },
        });
        self.stats.count("discoveries_made");
        match words["result"] == expected {
            true => Ok(()),
            false => Err(format!("{client} should discover\n  {expected}\nbut gets\n  {text}")),
        }
    }

    /// Checks the discovery of several servers, or of a single one with plain names.
    pub(super) fn merged(&mut self, client: ClientId, request: (EraVerb, bool), text: &str) -> Check {
        let result = parsed::<Value>(text)?["result"].take();
        let is_valid = match request {
            (EraVerb::Discover, true) => {
                self.stats.count("discoveries_merged");
                let names_ours = result["supportedVersions"]
                    .as_array()
                    .is_some_and(|versions| versions.contains(&json!("2026-07-28")));
                let has_hints = result["ttlMs"].is_u64() && result["cacheScope"].is_string();
                let has_tasks = result["capabilities"].get("tasks").is_some();
                names_ours && has_hints && result["resultType"] == "complete" && !has_tasks
            }
            (EraVerb::List, true) => {
                let mut tools = result["tools"].as_array().into_iter().flatten();
                result["resultType"] == "complete" && tools.all(|tool| tool.get("execution").is_none())
            }
            (EraVerb::Initialize, false) => {
                result["protocolVersion"].is_string() && result.get("supportedVersions").is_none()
            }
            _ => true,
        };
        match is_valid {
            true => Ok(()),
            false => Err(format!("{client} gets words of the other era: {text}")),
        }
    }

    /// A legacy process accepts or refuses a subscription to its resource. Then its clients' subscriptions are
    /// acknowledged.
    pub(super) fn answers_subscription(&mut self, launch: Launch, id: u64) -> Check {
        let agrees = self.rng.percent(75);
        let own = &mut self.process(launch).own;
        own.subscribes |= agrees;
        own.has_agreed |= agrees;
        let p = &self.processes[&launch];
        // Clients that were separated, or declare other capabilities, wait for another process. Cancelled subscriptions do
        // not count.
        let is_certain = p.is_staying()
            && !self.owner.is_retired(launch.backend)
            && self.stats.get("separated") + self.stats.get("other_capabilities") == 0
            && !p.open.iter().any(|open| open.job == EraJob::Subscribe);
        let words = match agrees {
            true => r#""result":{}"#,
            false => r#""error":{"code":-32602,"message":"no such resource"}"#,
        };
        self.process_says(EraTurn::default(), launch, answer(id, words))?;
        let waits = |request: &&Request<EraRequest>| {
            let c = &self.clients[&request.client];
            let is_its = request.verb == EraVerb::Listen && request.is_open() && c.own.home == Some(launch);
            is_its && !request.is_acknowledged && c.is_there() && !c.is_aggregate()
        };
        match self.ledger.requests.iter().find(waits).filter(|_| is_certain) {
            Some(listen) => Err(format!("{launch} has answered, and {} is not acknowledged", listen.id)),
            None => Ok(()),
        }
    }

    /// A legacy process announces a change. Its modern clients get it once on each of their subscriptions.
    pub(super) fn tells_all(&mut self, launch: Launch, method: &str, params: &str) -> Check {
        let text = notice(method, params);
        let p = &self.processes[&launch];
        let is_legacy = !p.is_modern;
        let is_certain = is_legacy && p.is_staying() && !self.owner.is_retired(launch.backend);
        // Clients that were separated may have gone to another process.
        let is_certain = is_certain && self.stats.get("separated") == 0;
        let listens = (0..self.ledger.requests.len()).filter(|number| {
            let request = &self.ledger.requests[*number];
            let c = &self.clients[&request.client];
            let is_its =
                request.verb == EraVerb::Listen && c.manner == Manner::Modern && c.home == Some(launch);
            let includes = method != "notifications/resources/updated" || request.has_resource;
            let is_told = request.is_open() && request.is_acknowledged && includes;
            is_its && is_told && !c.is_aggregate() && c.is_there()
        });
        let listens: Vec<usize> = listens.filter(|_| is_certain).collect();
        let changing = is_legacy.then(|| (launch, text.clone()));
        self.process_says(EraTurn { changing, ..EraTurn::default() }, launch, text)?;
        for number in listens {
            let request = &self.ledger.requests[number];
            let id: Value = parsed(&request.id)?;
            let is_meant = |(client, words): &&(ClientId, Value)| {
                *client == request.client && words["params"]["_meta"][SUBSCRIPTION] == id
            };
            let count = self.heard.iter().filter(is_meant).count();
            if count != 1 {
                return Err(format!("{} hears of {method} {count} times on {id}", request.client));
            }
            self.stats.count("changes_for_modern");
        }
        Ok(())
    }

    /// Checks a notification on a subscription of a client of one legacy server, which Switchboard keeps.
    pub(super) fn told_for_legacy(
        &mut self,
        client: ClientId,
        number: usize,
        method: &str,
        text: &str,
    ) -> Check {
        let (words, server) = (parsed::<Value>(text)?, self.clients[&client].server);
        let id: Value = parsed(&self.ledger.requests[number].id)?;
        if method == "notifications/subscriptions/acknowledged" {
            self.stats.count("kept_listens");
            let wishes = &words["params"]["notifications"];
            let mut own = self.processes.values().filter(|p| Some(p.server) == server);
            let has_resource = self.ledger.requests[number].has_resource;
            self.stats.count_if("resources_left_out", !has_resource);
            if has_resource && !own.any(|p| p.has_agreed || p.has_translator()) {
                return Err(format!("{client}'s {id} includes what no process has agreed to: {text}"));
            }
            return match wishes["toolsListChanged"].as_bool() {
                Some(true) => Ok(()),
                _ => Err(format!("{client}'s {id} should include the lists: {text}")),
            };
        }
        let Some((launch, said)) = &self.turn.changing else {
            let is_replaced =
                |p: &Process<EraProcess>| !p.is_staying() || self.owner.is_retired(p.launch.backend);
            let mut own = self.processes.values().filter(|p| Some(p.server) == server);
            if self.may_be_twice(client) {
                return Ok(());
            }
            if method == "notifications/tools/list_changed" && own.any(is_replaced) {
                self.stats.count("changes_by_restart");
                return Ok(());
            }
            return Err(format!("{client} hears on {id} what no process says: {text}"));
        };
        let mut expected: Value = parsed(said)?;
        expected["params"]["_meta"] = json!({ SUBSCRIPTION: id });
        match Some(self.processes[launch].server) == server && words == expected {
            true => Ok(()),
            false => Err(format!("{client} should hear\n  {expected}\nbut hears\n  {text}")),
        }
    }
}

fn remove_modern_members(request: &mut Value) {
    let Some(params) = request["params"].as_object_mut() else { return };
    params.remove("requestState");
    params.remove("inputResponses");
    let is_empty = params.get_mut("_meta").and_then(Value::as_object_mut).is_some_and(|meta| {
        [VERSION, CAPABILITIES, LOG_LEVEL, CLIENT_INFO].iter().for_each(|key| drop(meta.remove(*key)));
        meta.is_empty()
    });
    if is_empty {
        params.remove("_meta");
    }
}

/// Whether a modern client's answer is that of a legacy process, with the members of the modern era.
pub(super) fn is_completed(verb: EraVerb, said: &str, got: &str) -> Check<bool> {
    let (mut said_words, got_words): (Value, Value) = (parsed(said)?, parsed(got)?);
    if let Some(result) = said_words.get_mut("result").and_then(Value::as_object_mut) {
        result.insert("resultType".to_owned(), json!("complete"));
        if matches!(verb, EraVerb::List | EraVerb::Read) {
            result.insert("ttlMs".to_owned(), json!(0));
            result.insert("cacheScope".to_owned(), json!("private"));
        }
        for tool in result.get_mut("tools").and_then(Value::as_array_mut).into_iter().flatten() {
            tool.as_object_mut().map(|tool| tool.remove("execution"));
        }
    }
    match said_words["error"]["code"].as_i64() {
        Some(-32002) => said_words["error"]["code"] = json!(-32602),
        Some(-32042) => {
            said_words["error"]["code"] = json!(-32021);
            said_words["error"]["data"]["requiredCapabilities"] = json!({ "elicitation": { "url": {} } });
        }
        Some(-32099..=-32020) => said_words["error"]["code"] = json!(-32603),
        _ => {}
    }
    Ok(said_words == got_words && (!said.contains(NUMBER) || got.contains(NUMBER)))
}

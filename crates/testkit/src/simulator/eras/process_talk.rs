//! Messages of processes: answers, subscriptions, and what a modern server should not send.

use super::client_talk::{EraVerb, ID, filled};
use super::plan::Speech;
use super::process::{EraJob, EraOpen, Listen};
use super::{EraTurn, EraWorld, SUBSCRIPTION};
use crate::simulator::engine::{Check, answer, notice, request};
use serde_json::json;
use std::time::Duration;
use switchboard_core::Launch;

const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{}},"ttlMs":0,"cacheScope":"private"}"#;
pub(super) const WELCOME: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{},"tasks":{"list":{}}},"serverInfo":{"name":"sim","version":"1"}}"#;
/// Time for which a process that has refused the handshake may leave the question for the modern era unanswered.
const PATIENCE: Duration = Duration::from_secs(5);
pub(super) const UNKNOWN: &str = r#""error":{"code":-32601,"message":"no such method"}"#;

impl EraWorld {
    pub(super) fn speech(&self, launch: Launch) -> Speech {
        self.plan.speech[self.processes[&launch].server]
    }

    pub(super) fn answer_open(&mut self, launch: Launch, open: EraOpen) -> Check {
        let speech = self.speech(launch);
        let is_modern = self.processes[&launch].is_modern;
        match open.job {
            EraJob::Greeting { number } => {
                if is_modern && speech == Speech::Silent {
                    self.stats.count("ignored_probes");
                    return Ok(());
                }
                let refuses = match is_modern {
                    true => !speech.is_modern(),
                    false => speech == Speech::Modern,
                };
                self.stats.count_if("refused_handshakes", refuses);
                let words = match (refuses, is_modern) {
                    (true, _) => UNKNOWN.to_owned(),
                    (false, true) => format!(r#""result":{DISCOVERED}"#),
                    (false, false) => format!(r#""result":{WELCOME}"#),
                };
                let now = self.now;
                let p = self.process(launch);
                p.was_late |= is_modern && p.has_refused && now.since(p.asked) >= PATIENCE;
                p.has_refused |= refuses && !is_modern;
                let server = p.server;
                p.is_greeted |= !refuses && p.is_staying();
                if refuses && !is_modern {
                    self.own.may_be_modern.insert(server);
                }
                let turn = number.map(|number| (number, answer(ID, &words)));
                self.process_says(
                    EraTurn { answering: turn, ..EraTurn::default() },
                    launch,
                    answer(open.id, &words),
                )
            }
            EraJob::Probe => {
                let words = match speech {
                    Speech::Dual | Speech::Modern => UNKNOWN.to_owned(),
                    Speech::Legacy | Speech::Fragile | Speech::Silent => format!(r#""result":{WELCOME}"#),
                };
                self.process_says(EraTurn::default(), launch, answer(open.id, words))
            }
            EraJob::Subscribe => self.answers_subscription(launch, open.id),
            EraJob::Other { is_list } => {
                let result = if is_list { self.list(launch) } else { r"{}".to_owned() };
                self.process_says(
                    EraTurn::default(),
                    launch,
                    answer(open.id, format!(r#""result":{result}"#)),
                )
            }
            EraJob::Client(number) if self.asks_first(launch, number) => {
                self.process(launch).open.push(open);
                self.legacy_process_asks(launch)
            }
            EraJob::Client(number) => self.answer_client(launch, open.id, number),
        }
    }

    fn list(&self, launch: Launch) -> String {
        match self.processes[&launch].is_modern {
            true => r#"{"resultType":"complete","tools":[{"name":"echo","inputSchema":{}}],"ttlMs":7,"cacheScope":"public"}"#,
            false => r#"{"tools":[{"name":"echo","inputSchema":{},"execution":{"taskSupport":"optional"}}]}"#,
        }
        .to_owned()
    }

    fn answer_client(&mut self, launch: Launch, id: u64, call: usize) -> Check {
        let number = self.heir_of(call);
        let (verb, client) = (self.ledger.requests[number].verb, self.ledger.requests[number].client);
        let is_modern = self.processes[&launch].is_modern;
        if verb == EraVerb::Call && self.may_want_input(launch, number) && self.rng.percent(30) {
            return self.wants_input(launch, id, number);
        }
        let is_translated = self.is_translated(launch, number);
        let is_legacy = !is_modern;
        let words = match verb {
            EraVerb::Read | EraVerb::Call if is_legacy && self.rng.percent(20) => {
                self.stats.count("unknown_resources");
                r#""error":{"code":-32002,"message":"not here"}"#.to_owned()
            }
            // No client can be asked to open it.
            EraVerb::Call if is_legacy && self.rng.percent(8) => {
                self.stats.count("urls_refused");
                r#""error":{"code":-32042,"message":"open it","data":{"elicitations":[{"mode":"url","url":"x:y"}]}}"#
                    .to_owned()
            }
            _ if self.rng.percent(8) => {
                self.stats.count("server_errors");
                format!(r#""error":{{"code":-32050,"message":"no","data":{{"tag":{number}}}}}"#)
            }
            EraVerb::Discover => format!(r#""result":{DISCOVERED}"#),
            EraVerb::List => format!(r#""result":{}"#, self.list(launch)),
            EraVerb::Call
                if is_modern
                    && !is_translated
                    && !self.is_translated_twice(launch, number)
                    && self.rng.percent(20) =>
            {
                self.client(client).own.state = Some(format!("st\\u0041te-{number}="));
                format!(
                    r#""result":{{"resultType":"input_required","requestState":"st\u0041te-{number}=","inputRequests":{{}} }}"#
                )
            }
            EraVerb::Call | EraVerb::Read if is_legacy => {
                // It means nothing to a modern client.
                let own = if self.rng.percent(10) { r#","resultType":"task""# } else { "" };
                format!(r#""result":{{ "content":[], "tag":{number},"n":1.50{own}}}"#)
            }
            EraVerb::Call | EraVerb::Read | EraVerb::Initialize | EraVerb::Listen => {
                format!(r#""result":{{"resultType":"complete","content":[], "tag":{number},"n":1.50}}"#)
            }
        };
        let text = match self.rng.percent(50) {
            true => answer(ID, &words),
            false => format!(r#" {{{words} , "id":{ID}, "jsonrpc":"2.0"}}"#),
        };
        if self.answers_paused(launch, call, &text, &id.to_string())? {
            return Ok(());
        }
        let was_open = self.ledger.requests[number].is_open();
        let turn = EraTurn { answering: Some((number, text.clone())), ..EraTurn::default() };
        self.process_says(turn, launch, text.replace(ID, &id.to_string()))?;
        let request = &self.ledger.requests[number];
        let is_lost = was_open && request.is_open() && request.handed.last() == Some(&launch);
        match is_lost && self.processes[&launch].is_staying() {
            true => Err(format!("{launch} answered {}'s {}, who does not hear it", client, request.id)),
            false => Ok(()),
        }
    }

    pub(super) fn process_talks(&mut self, launch: Launch) -> Check {
        let p = &self.processes[&launch];
        if !p.is_greeted {
            return Ok(());
        }
        // Few requests want log messages, and most are open for a short time.
        if self.wanting_log(launch).next().is_some() && self.rng.percent(60) {
            return self.logs(launch);
        }
        match self.rng.below(100) {
            0..20 => self.progresses(launch),
            20..30 => self.logs(launch),
            30..40 => self.changes_untagged(launch),
            40..50 if p.is_modern => self.process_asks(launch),
            40..50 => self.legacy_process_asks(launch),
            _ if p.is_modern => self.tells_listen(launch),
            50..70 if p.subscribes => {
                self.tells_all(launch, "notifications/resources/updated", r#"{ "uri":"mem:one"}"#)
            }
            _ => Ok(()),
        }
    }

    fn progresses(&mut self, launch: Launch) -> Check {
        let has_token = |open: &&EraOpen| {
            let EraJob::Client(number) = open.job else { return false };
            self.ledger.requests[number].token.is_some()
        };
        let Some(open) = self.processes[&launch].open.iter().find(has_token).copied() else { return Ok(()) };
        let EraJob::Client(number) = open.job else { return Ok(()) };
        let number = self.heir_of(number);
        self.ledger.requests[number].touched = self.now;
        let params = json!({ "progressToken": open.token, "progress": 1 });
        self.process_notifies(launch, "notifications/progress", params)?;
        let has_token = self.ledger.requests[number].token.is_some();
        self.check_progress(number, has_token && self.processes[&launch].is_staying())
    }

    fn logs(&mut self, launch: Launch) -> Check {
        let wanting: Vec<EraOpen> = self.wanting_log(launch).collect();
        if let Some(open) = self.rng.choose(&wanting) {
            return self.logs_about(launch, open, &wanting);
        }
        self.process_notifies(launch, "notifications/message", r#"{"level":"info","data":1.50}"#)?;
        let heard = !self.heard.is_empty();
        self.stats.count_if("logs", heard);
        Ok(())
    }

    /// Requests at a modern process that want log messages, and are not answered.
    fn wanting_log(&self, launch: Launch) -> impl Iterator<Item = EraOpen> {
        let p = &self.processes[&launch];
        let wants = |open: &&EraOpen| matches!(open.job, EraJob::Client(number) if self.ledger.requests[number].wants_log);
        p.open.iter().filter(wants).filter(|_| p.is_modern && !p.has_translator()).copied()
    }

    /// A log message of a modern process about one of the requests that want it. It goes on with those that are cancelled,
    /// or out of time; only in a response to a remote request it is said which one is meant.
    fn logs_about(&mut self, launch: Launch, open: EraOpen, wanting: &[EraOpen]) -> Check {
        let number_of = |open: &EraOpen| match open.job {
            EraJob::Client(number) => Some(number),
            EraJob::Greeting { .. } | EraJob::Probe | EraJob::Subscribe | EraJob::Other { .. } => None,
        };
        let Some(number) = number_of(&open) else { return Ok(()) };
        let p = &self.processes[&launch];
        let is_remote = self.settings.servers[p.server].is_remote;
        let client = self.ledger.requests[number].client;
        let (is_open, c) = (self.ledger.requests[number].is_open(), &self.clients[&client]);
        let mut meant = wanting.iter().filter_map(number_of).map(|number| &self.ledger.requests[number]);
        let is_its = meant.clone().any(|other| other.client == client && other.is_open());
        let is_certain = match (is_remote, c.is_stateless) {
            (true, _) => is_open,
            (false, true) => wanting.len() == 1 && is_open,
            (false, false) => is_its && meant.all(|other| other.client == client),
        };
        let is_due = is_certain && p.is_staying() && c.is_there();
        let text = notice("notifications/message", json!({ "level": "info", "data": { "tag": number } }));
        match is_remote {
            true => self.process_says_in_response(launch, open.id, text)?,
            false => self.process_says(EraTurn::default(), launch, text)?,
        }
        self.stats.count(if is_due { "logs_due" } else { "logs_doubtful" });
        match self.heard.is_empty() {
            true if is_due => Err(format!("{launch} logs about tag {number}, and {client} does not hear it")),
            false if !is_certain => Err(format!("{launch} logs about tag {number}, which is not certain")),
            true | false => Ok(()),
        }
    }

    /// A change that belongs to no subscription. A modern client must not hear of it.
    fn changes_untagged(&mut self, launch: Launch) -> Check {
        self.stats.count("untagged_changes");
        self.tells_all(launch, "notifications/tools/list_changed", "{}")
    }

    /// A modern server asks nothing; a question is refused all the same.
    fn process_asks(&mut self, launch: Launch) -> Check {
        let p = &self.processes[&launch];
        if !p.is_staying() {
            return Ok(());
        }
        let number = self.ledger.add_ask(launch, self.now, false);
        self.stats.count("questions_refused");
        let text = request(format!("\"q{number}\""), "sampling/createMessage", json!({ "ask": number }));
        self.process_says(EraTurn::default(), launch, text)?;
        let ask = &self.ledger.asks[number];
        match ask.client.is_some() || !ask.is_answered {
            true => Err(format!("{launch} is modern, and {:?} is asked", ask.client)),
            false => Ok(()),
        }
    }

    /// Uses, acknowledges or ends a subscription.
    fn tells_listen(&mut self, launch: Launch) -> Check {
        let count = self.processes[&launch].listens.len();
        if count == 0 {
            return Ok(());
        }
        let at = self.rng.below(count);
        let listen = self.processes[&launch].listens[at];
        if !listen.is_acknowledged {
            let has_resource = listen.number.is_some() && self.rng.percent(80);
            let own = &mut self.process(launch).listens[at];
            (own.is_acknowledged, own.has_resource) = (true, has_resource);
            let resource = if has_resource { r#","resourceSubscriptions":["mem:one"]"# } else { "" };
            let filter = format!(r#""notifications":{{"toolsListChanged":true{resource}}}"#);
            return self.says_on(launch, listen, "notifications/subscriptions/acknowledged", &filter);
        }
        match self.rng.below(100) {
            0..12 => {
                self.process(launch).listens.remove(at);
                self.ends_listen(launch, listen)
            }
            _ if listen.number.is_none() => {
                self.says_on(launch, listen, "notifications/tools/list_changed", "\"x\":1")
            }
            60..100 if listen.has_resource => {
                self.says_on(launch, listen, "notifications/resources/updated", r#""uri":"mem:one""#)
            }
            _ => self.says_on(launch, listen, "notifications/tools/list_changed", r#""x":1.50"#),
        }
    }

    fn says_on(&mut self, launch: Launch, listen: Listen, method: &str, params: &str) -> Check {
        let text = notice(method, format_args!(r#"{{"_meta":{{ "{SUBSCRIPTION}" : {ID}}},{params}}}"#));
        let is_open = listen.number.is_some_and(|number| self.ledger.requests[number].is_open());
        let telling = listen.number.map(|number| (number, text.clone()));
        let turn = EraTurn { telling, ..EraTurn::default() };
        self.process_says(turn, launch, text.replace(ID, &listen.id.to_string()))?;
        match is_open && self.heard.is_empty() && self.processes[&launch].is_staying() {
            true => Err(format!("{launch} says {method} on {listen:?}, and its client does not hear it")),
            false => Ok(()),
        }
    }

    fn ends_listen(&mut self, launch: Launch, listen: Listen) -> Check {
        self.stats.count("listens_ended");
        let words = match self.rng.percent(80) {
            true => format!(r#""result":{{"resultType":"complete","_meta":{{"{SUBSCRIPTION}":{ID} }}}}"#),
            false => r#""error":{"code":-32050,"message":"over"}"#.to_owned(),
        };
        let text = answer(ID, words);
        let answering = listen.number.map(|number| (number, text.clone()));
        let turn = EraTurn { answering, ..EraTurn::default() };
        self.process_says(turn, launch, filled(&text, &listen.id.to_string(), None, ""))
    }
}

//! Messages of processes: answers, subscriptions, and what a modern server should not send.

use super::client_talk::{EraVerb, ID, filled};
use super::plan::Speech;
use super::process::{EraJob, EraOpen, Listen};
use super::{EraTurn, EraWorld, SUBSCRIPTION};
use crate::simulator::engine::{Check, answer, notice, request};
use serde_json::json;
use switchboard_core::Launch;

const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{}},"ttlMs":0,"cacheScope":"private"}"#;
const WELCOME: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"sim","version":"1"}}"#;
const UNKNOWN: &str = r#""error":{"code":-32601,"message":"no such method"}"#;

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
                let p = self.process(launch);
                p.is_greeted |= !refuses && p.is_staying();
                let turn = number.map(|number| (number, answer(ID, &words)));
                self.process_says(EraTurn { answering: turn, telling: None }, launch, answer(open.id, &words))
            }
            EraJob::Probe => {
                let words = match speech {
                    Speech::Dual | Speech::Modern => UNKNOWN.to_owned(),
                    Speech::Legacy | Speech::Fragile | Speech::Silent => format!(r#""result":{WELCOME}"#),
                };
                self.process_says(EraTurn::default(), launch, answer(open.id, words))
            }
            EraJob::Other { is_list } => {
                let result = if is_list { self.list(launch) } else { r"{}".to_owned() };
                self.process_says(
                    EraTurn::default(),
                    launch,
                    answer(open.id, format!(r#""result":{result}"#)),
                )
            }
            EraJob::Client(number) => self.answer_client(launch, open.id, number),
        }
    }

    fn list(&self, launch: Launch) -> String {
        match self.processes[&launch].is_modern {
            true => r#"{"resultType":"complete","tools":[{"name":"echo","inputSchema":{}}],"ttlMs":7,"cacheScope":"public"}"#,
            false => r#"{"tools":[{"name":"echo","inputSchema":{}}]}"#,
        }
        .to_owned()
    }

    fn answer_client(&mut self, launch: Launch, id: u64, number: usize) -> Check {
        let (verb, client) = (self.ledger.requests[number].verb, self.ledger.requests[number].client);
        let is_modern = self.processes[&launch].is_modern;
        let words = match verb {
            _ if self.rng.percent(8) => {
                self.stats.count("server_errors");
                format!(r#""error":{{"code":-32050,"message":"no","data":{{"tag":{number}}}}}"#)
            }
            EraVerb::Discover => format!(r#""result":{DISCOVERED}"#),
            EraVerb::List => format!(r#""result":{}"#, self.list(launch)),
            EraVerb::Call if is_modern && self.rng.percent(20) => {
                self.client(client).own.state = Some(format!("st\\u0041te-{number}="));
                format!(
                    r#""result":{{"resultType":"input_required","requestState":"st\u0041te-{number}=","inputRequests":{{}} }}"#
                )
            }
            EraVerb::Call | EraVerb::Initialize | EraVerb::Listen => {
                format!(r#""result":{{"resultType":"complete","content":[], "tag":{number},"n":1.50}}"#)
            }
        };
        let text = match self.rng.percent(50) {
            true => answer(ID, &words),
            false => format!(r#" {{{words} , "id":{ID}, "jsonrpc":"2.0"}}"#),
        };
        let was_open = self.ledger.requests[number].is_open();
        let turn = EraTurn { answering: Some((number, text.clone())), telling: None };
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
        match self.rng.below(100) {
            0..20 => self.progresses(launch),
            20..30 => self.logs(launch),
            30..40 => self.changes_untagged(launch),
            40..50 => self.process_asks(launch),
            _ if p.is_modern => self.tells_listen(launch),
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
        self.ledger.requests[number].touched = self.now;
        let params = json!({ "progressToken": open.id, "progress": 1 });
        self.process_notifies(launch, "notifications/progress", params)?;
        self.check_progress(number, self.processes[&launch].is_staying())
    }

    fn logs(&mut self, launch: Launch) -> Check {
        self.process_notifies(launch, "notifications/message", r#"{"level":"info","data":1.50}"#)?;
        let heard = !self.heard.is_empty();
        self.stats.count_if("logs", heard);
        Ok(())
    }

    /// A change that belongs to no subscription. A modern client must not hear of it.
    fn changes_untagged(&mut self, launch: Launch) -> Check {
        self.stats.count("untagged_changes");
        self.process_notifies(launch, "notifications/tools/list_changed", "{}")
    }

    /// A modern server asks nothing; a question is refused all the same.
    fn process_asks(&mut self, launch: Launch) -> Check {
        let p = &self.processes[&launch];
        if !p.is_staying() || !(p.is_confirmed || p.is_modern) {
            return Ok(());
        }
        let is_modern = p.is_modern;
        let number = self.ledger.add_ask(launch, self.now, false);
        self.stats.count(if is_modern { "questions_refused" } else { "questions" });
        let text = request(format!("\"q{number}\""), "sampling/createMessage", json!({ "ask": number }));
        self.process_says(EraTurn::default(), launch, text)?;
        let ask = &self.ledger.asks[number];
        match is_modern && (ask.client.is_some() || !ask.is_answered) {
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
            self.process(launch).listens[at].is_acknowledged = true;
            return self.says_on(
                launch,
                listen,
                "notifications/subscriptions/acknowledged",
                r#""notifications":{}"#,
            );
        }
        match self.rng.below(100) {
            0..12 => {
                self.process(launch).listens.remove(at);
                self.ends_listen(launch, listen)
            }
            12..60 => self.says_on(launch, listen, "notifications/tools/list_changed", r#""x":1.50"#),
            _ => self.says_on(launch, listen, "notifications/resources/updated", r#""uri":"mem:one""#),
        }
    }

    fn says_on(&mut self, launch: Launch, listen: Listen, method: &str, params: &str) -> Check {
        let text = notice(method, format_args!(r#"{{"_meta":{{ "{SUBSCRIPTION}" : {ID}}},{params}}}"#));
        let is_open = listen.number.is_some_and(|number| self.ledger.requests[number].is_open());
        let telling = listen.number.map(|number| (number, text.clone()));
        let turn = EraTurn { answering: None, telling };
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
        let turn = EraTurn { answering, telling: None };
        self.process_says(turn, launch, filled(&text, &listen.id.to_string(), None, ""))
    }
}

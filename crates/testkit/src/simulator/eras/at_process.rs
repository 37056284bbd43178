//! Arrivals at a process: each era its own requests, declared or after a handshake.

use super::client::Manner;
use super::client_talk::{EraVerb, filled};
use super::plan::Speech;
use super::process::{EraJob, EraOpen, Listen};
use super::{CAPABILITIES, EraWorld, VERSION};
use crate::simulator::engine::{Asked, Check};
use switchboard_core::{EraChoice, Launch};
use switchboard_protocol::Era;

/// The translator's own ids begin here.
const FIRST_OF_TRANSLATOR: u64 = 1 << 52;

/// Requests that a modern process must not get.
const REMOVED: &[&str] = &["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

impl EraWorld {
    pub(super) fn requested(&mut self, asked: &Asked<'_>) -> Check {
        let Asked { launch, id, method, tag, words, text } = *asked;
        let is_first = !std::mem::replace(&mut self.process(launch).has_begun, true);
        if is_first {
            self.begin(launch, method)?;
        }
        self.process(launch).is_in_doubt |=
            is_first && method == "server/discover" && id >= FIRST_OF_TRANSLATOR;
        self.may_turn(launch, method);
        let is_modern = self.processes[&launch].is_modern;
        if is_modern && REMOVED.contains(&method) {
            return Err(format!("{launch} is modern, and gets {text}"));
        }
        let meta = &words["params"]["_meta"];
        let is_declared = meta[VERSION] == "2026-07-28" && meta[CAPABILITIES].is_object();
        let is_greeted = self.processes[&launch].is_greeted;
        let is_our_probe = method == "initialize" && tag.is_none() && is_modern && !is_greeted;
        if is_modern != is_declared && !is_our_probe {
            return Err(format!(
                "{launch} is {}, and gets {text}",
                if is_modern { "modern" } else { "legacy" }
            ));
        }
        if let Some(number) = tag.filter(|_| method != "initialize") {
            self.client_request_at_process(launch, id, number, text)?;
        }
        let job = match (method, tag) {
            _ if is_our_probe => {
                self.stats.count("era_probes");
                EraJob::Probe
            }
            ("initialize", number) => {
                let is_plain = number.is_none() && words["params"]["protocolVersion"] == "2024-11-05";
                self.stats.count_if("plain_handshakes", is_plain);
                EraJob::Greeting { number: number.filter(|&it| self.is_own(launch, it)) }
            }
            ("server/discover", None) if is_modern && !is_greeted => EraJob::Greeting { number: None },
            ("subscriptions/listen", number) => {
                self.stats.count_if("our_listens", number.is_none());
                let (is_acknowledged, has_resource) = (false, false);
                self.process(launch).listens.push(Listen { id, number, is_acknowledged, has_resource });
                return Ok(());
            }
            (_, Some(number)) => EraJob::Client(number),
            ("resources/subscribe", None) => EraJob::Subscribe,
            ("resources/unsubscribe", None) => {
                self.process(launch).own.subscribes = false;
                EraJob::Other { is_list: false }
            }
            ("tools/list", None) => EraJob::Other { is_list: true },
            (_, None) => EraJob::Other { is_list: false },
        };
        let token = meta["progressToken"].as_u64().unwrap_or(id);
        self.process(launch).open.push(EraOpen { id, token, job });
        Ok(())
    }

    /// Whether the answer to this handshake goes to its client as it is.
    fn is_own(&self, launch: Launch, number: usize) -> bool {
        let request = &self.ledger.requests[number];
        request.is_open() && self.clients[&request.client].server == Some(self.processes[&launch].server)
    }

    /// The first request decides how a process is spoken to.
    fn begin(&mut self, launch: Launch, method: &str) -> Check {
        let server = self.processes[&launch].server;
        let (speech, settings) = (self.plan.speech[server], &self.settings.servers[server]);
        let is_modern = match method {
            "initialize" => false,
            "server/discover" => true,
            _ => return Err(format!("{launch} gets {method} first")),
        };
        if is_modern && settings.era == EraChoice::Fixed(Era::Legacy) {
            return Err(format!("{launch} is said to be of the legacy era, and gets {method}"));
        }
        self.stats.count(if is_modern { "modern_processes" } else { "legacy_processes" });
        let p = self.process(launch);
        p.is_modern = is_modern;
        p.is_doomed = is_modern && speech == Speech::Fragile;
        Ok(())
    }

    fn client_request_at_process(&mut self, launch: Launch, id: u64, number: usize, text: &str) -> Check {
        let (request, p) = (&self.ledger.requests[number], &self.processes[&launch]);
        let client = request.client;
        let what = format!("{}'s {} (tag {number})", request.client, request.rule.name);
        let is_translated = self.is_translated(launch, number);
        let is_for_modern = self.is_for_modern(launch, number) || self.is_translated_twice(launch, number);
        if request.is_modern != p.is_modern && !is_translated && !is_for_modern {
            return Err(format!("{launch} is of the other era, and is given {what}"));
        }
        if request.is_undeclared {
            return Err(format!("{launch} is given {what}, which is not declared"));
        }
        if request.is_of_the_dead {
            return Err(format!("{launch} is given {what}, which continues a call of another daemon"));
        }
        if !p.is_greeted || !(p.is_modern || p.is_confirmed) {
            return Err(format!("{launch} is given {what} before it was greeted"));
        }
        let expected = filled(&request.text, &id.to_string(), Some(&id.to_string()), "echo");
        if is_translated {
            self.stats.count("translated_requests");
            if self.translated_request(launch, number, text)? {
                return Ok(());
            }
        } else if is_for_modern {
            self.modern_request_at_legacy(launch, number, text)?;
        } else if request.verb != EraVerb::Initialize && expected != text.trim() {
            return Err(format!("{launch} should get\n  {expected}\nbut gets\n  {text}"));
        }
        let (now, verb) = (self.now, self.ledger.requests[number].verb);
        // What the client has declared since may have led it elsewhere.
        let (request, c) = (&self.ledger.requests[number], &self.clients[&client]);
        let is_latest = request.abilities == c.abilities && request.is_modern == (c.manner == Manner::Modern);
        self.used(launch, client, verb)?;
        self.ledger.requests[number].touched = now;
        if is_latest {
            self.client(client).own.home = Some(launch);
        }
        self.give(number, launch)
    }
}

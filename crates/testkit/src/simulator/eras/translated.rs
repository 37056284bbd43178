//! Legacy requests at modern processes: permitted changes of the translation, and rounds of input.

use super::client::{ELICITS, EraClient, Manner, SAMPLES, Stage};
use super::client_talk::{ID, filled};
use super::process::EraJob;
use super::{CAPABILITIES, CLIENT_INFO, EraTurn, EraWorld, LOG_LEVEL, VERSION};
use crate::simulator::engine::{Check, answer, parsed};
use serde_json::{Value, json};
use switchboard_core::{ClientId, EraChoice, Launch};
use switchboard_protocol::Era;

/// Limit on rounds of input in one request.
const MAX_ROUNDS: usize = 3;

/// A process's request for input for a legacy client's request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    number: usize,
    /// A question to the client.
    ask: Option<usize>,
}

impl EraWorld {
    /// A process that refused a handshake gets `server/discover`. A process that got it first, and refuses it, gets the
    /// handshake.
    pub(super) fn may_turn(&mut self, launch: Launch, method: &str) {
        let server = self.processes[&launch].server;
        let is_auto = self.settings.servers[server].era == EraChoice::Auto;
        let now = self.now;
        let p = self.process(launch);
        let is_unknown = !p.is_greeted || p.was_late;
        if method == "initialize" && p.has_refused && p.is_modern && is_unknown {
            // It was silent for too long, so that its refusal was the answer. It forgets the question.
            (p.is_modern, p.is_greeted, p.was_late) = (false, false, false);
            p.open.retain(|open| !matches!(open.job, EraJob::Greeting { .. }));
        } else if method == "initialize" && p.is_in_doubt && !p.is_greeted {
            p.is_modern = false;
            self.stats.count("turned_legacy");
        } else if method == "server/discover" && is_auto && p.has_refused && !p.is_modern {
            (p.is_modern, p.asked) = (true, now);
            self.stats.count("turned_modern");
        }
    }

    /// A process that ends during a handshake may be modern.
    pub(super) fn ended_on_handshake(&mut self, launch: Launch) {
        let p = &self.processes[&launch];
        let is_asked = p.open.iter().any(|open| matches!(open.job, EraJob::Greeting { .. }));
        if is_asked && !p.is_modern {
            self.own.may_be_modern.insert(p.server);
        }
    }

    /// Whether this request, or one of a client like it, is translated for this process.
    pub(super) fn is_translated(&self, launch: Launch, number: usize) -> bool {
        self.processes[&launch].is_modern && !self.ledger.requests[number].is_modern
    }

    /// Checks a legacy request at a modern process. Returns whether it repeats an earlier one, with input.
    pub(super) fn translated_request(&mut self, launch: Launch, number: usize, text: &str) -> Check<bool> {
        let request = &self.ledger.requests[number];
        let server = self.processes[&launch].server;
        let is_said = self.settings.servers[server].era == EraChoice::Fixed(Era::Modern);
        if !is_said && !self.own.may_be_modern.contains(&server) {
            return Err(format!("{launch} of a server of unknown era is given {text}"));
        }
        let mut words: Value = parsed(text)?;
        let id = words["id"].to_string();
        let token = words["params"]["_meta"]["progressToken"].to_string();
        let mut expected: Value = parsed(&filled(&request.text, &id, Some(&token), "echo"))?;
        let (state, input) =
            (words["params"]["requestState"].take(), words["params"]["inputResponses"].take());
        for it in [&mut words, &mut expected] {
            without(it, "params", &["requestState", "inputResponses"]);
            for key in [VERSION, CAPABILITIES, LOG_LEVEL, CLIENT_INFO] {
                it["params"]["_meta"].as_object_mut().map(|meta| meta.remove(key));
            }
            let is_empty = it["params"]["_meta"].as_object().is_none_or(|meta| meta.is_empty());
            without(it, "params", if is_empty { &["_meta"] } else { &[] });
        }
        if words != expected {
            return Err(format!("{launch} should get\n  {expected}\nbut gets\n  {text}"));
        }
        if state.is_null() {
            return Ok(false);
        }
        let rounds = &mut self.process(launch).rounds;
        let Some(at) = rounds.iter().position(|round| round.number == number) else {
            return Err(format!("{launch} is given input for tag {number}, which it did not want"));
        };
        let round = rounds.remove(at);
        let wanted = round.ask.map_or(Value::Null, |ask| json!({ "who?": { "answer": ask } }));
        if !text.contains(&format!(r#""requestState":"{}""#, state_of(number))) || input != wanted {
            return Err(format!("{launch} wanted {wanted} for tag {number}, and gets {text}"));
        }
        if let Some(ask) = round.ask {
            self.ledger.asks[ask].is_answered = true;
        }
        self.stats.count("rounds_translated");
        Ok(true)
    }

    /// Answers a legacy client's request with `input_required`. The client only gets a question.
    pub(super) fn wants_input(&mut self, launch: Launch, id: u64, number: usize) -> Check {
        let ask = self.rng.percent(50).then(|| self.ledger.add_ask(launch, self.now, false));
        self.ledger.requests[number].own.rounds += 1;
        self.process(launch).rounds.push(Round { number, ask });
        let samples = self.rng.percent(20) != (self.client_of(number).declared != ELICITS);
        let (method, ability) =
            if samples { ("sampling/createMessage", SAMPLES) } else { ("elicitation/create", ELICITS) };
        let declares = self.may_be_asked(number, ability).filter(|_| ask.is_some());
        let question = |ask: usize| {
            format!(r#","inputRequests":{{"who?":{{"method":"{method}","params":{{"ask":{ask}}}}}}}"#)
        };
        let questions = ask.map(question).unwrap_or_default();
        let state = state_of(number);
        let words =
            format!(r#""result":{{"resultType":"input_required","requestState":"{state}"{questions}}}"#);
        let was_open = self.ledger.requests[number].is_open();
        let turn =
            EraTurn { wants_undeclared: ask.is_some() && declares != Some(true), ..EraTurn::default() };
        self.process_says(turn, launch, answer(id, words))?;
        let request = &self.ledger.requests[number];
        let asked = ask.and_then(|ask| self.ledger.asks[ask].client);
        let is_due = ask.is_some() && was_open && request.is_open() && !request.is_cancelled;
        let is_due = is_due
            && declares == Some(true)
            && self.processes[&launch].is_staying()
            && !self.is_lost(request.client);
        match asked {
            Some(asked) if asked != request.client => {
                Err(format!("{asked} is asked about tag {number}, a request of {}", request.client))
            }
            Some(asked) if declares == Some(false) => {
                Err(format!("{asked} is asked by {method}, which it has not declared to answer"))
            }
            None if is_due => Err(format!("{} is not asked about its own tag {number}", request.client)),
            Some(_) | None => Ok(()),
        }
    }

    fn client_of(&self, number: usize) -> &EraClient {
        &self.clients[&self.ledger.requests[number].client].own
    }

    /// Whether the client of a legacy request can be asked this; `None` while it makes a handshake, or has changed its era.
    fn may_be_asked(&self, number: usize, ability: usize) -> Option<bool> {
        let c = self.client_of(number);
        match (c.manner, c.stage) {
            (Manner::Legacy, Stage::Greeted) => Some(c.declared == ability),
            (Manner::Plain, Stage::New) if !c.is_modern => Some(false),
            _ => None,
        }
    }

    pub(super) fn may_want_input(&self, launch: Launch, number: usize) -> bool {
        self.is_translated(launch, number) && self.ledger.requests[number].rounds < MAX_ROUNDS
    }

    /// Answers a question of a process.
    pub(super) fn answers_question(&mut self, client: ClientId) -> Check {
        let c = self.client(client);
        if c.questions.is_empty() {
            return Ok(());
        }
        let (id, ask) = c.questions.remove(0);
        self.stats.count("questions_answered");
        let result = json!({ "answer": ask }).to_string();
        self.client_says(EraTurn::default(), client, answer(id, format!(r#""result":{result}"#)))
    }
}

fn state_of(number: usize) -> String {
    format!("st\\u0041te-{number}=")
}

/// Whether a legacy client's answer is that of a modern process, without the members of the modern era.
pub(super) fn is_same_but_for_era(said: &str, got: &str) -> Check<bool> {
    let (mut said, got): (Value, Value) = (parsed(&said.replace(ID, "0"))?, parsed(got)?);
    said["id"] = got["id"].clone();
    without(&mut said, "result", &["resultType", "ttlMs", "cacheScope"]);
    Ok(said == got)
}

fn without(words: &mut Value, object: &str, keys: &[&str]) {
    if let Some(object) = words.get_mut(object).and_then(Value::as_object_mut) {
        keys.iter().for_each(|key| drop(object.remove(*key)));
    }
}

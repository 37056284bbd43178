//! Plain messages: each request carries its number in the ledger as `params.tag`, which identifies its client.
//! Two scenarios use them; their common checks of arrivals are here.

use super::{Check, Scenario, World, message, serves};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt::Display;
use switchboard_core::{ClientId, Event, Launch};
use switchboard_protocol::{Outgoing, parse};

/// The members of a message, as they are spelled.
pub(crate) type Words<'a> = BTreeMap<String, &'a RawValue>;

/// An answer that reached a client.
pub(crate) struct Answer<'a> {
    pub(crate) client: ClientId,
    /// Number of the request.
    pub(crate) number: usize,
    pub(crate) words: &'a Words<'a>,
}

impl Answer<'_> {
    pub(crate) fn failed(&self) -> bool {
        self.words.contains_key("error")
    }
}

/// A request that reached a process.
pub(crate) struct Asked<'a> {
    pub(crate) launch: Launch,
    pub(crate) id: u64,
    pub(crate) method: &'a str,
    pub(crate) tag: Option<usize>,
    pub(crate) words: &'a Value,
    pub(crate) text: &'a str,
}

/// A scenario whose messages are plain.
pub(crate) trait Plain: Scenario {
    /// Whether a client makes only one handshake, so that a process gets one `initialized` for each.
    const GREETS_ONCE: bool = true;
    /// Handles our question for a client's roots, under this id.
    const ROOTS_ASKED: fn(&mut World<Self>, ClientId, Value) -> Check;
    const NOTIFIED: fn(&mut World<Self>, ClientId, &Value) -> Check;
    const ANSWERED: fn(&mut World<Self>, &Answer<'_>) -> Check;
    const REQUESTED: fn(&mut World<Self>, &Asked<'_>) -> Check;
    /// Handles a notification for a process, other than those about handshakes and cancellations.
    const TOLD: fn(&mut World<Self>, Launch, &str, &Value) -> Check;
    /// Handles the answer to a question of a process.
    const REPLIED: fn(&mut World<Self>, Launch, usize, &Value) -> Check;
}

impl<S: Plain> World<S> {
    pub(crate) fn client_says(&mut self, turn: S::Turn, client: ClientId, text: String) -> Check {
        self.handle_as(turn, Event::FromClient { client, frame: parse(text.into()), paths: Vec::new() })
    }

    pub(crate) fn process_says(&mut self, turn: S::Turn, launch: Launch, text: String) -> Check {
        let now = self.now;
        self.process(launch).last_word = now;
        self.handle_as(turn, Event::FromBackend { launch, message: message(text)? })
    }

    /// A log message in the response to a request.
    pub(crate) fn process_says_in_response(&mut self, launch: Launch, about: u64, text: String) -> Check {
        let now = self.now;
        self.process(launch).last_word = now;
        self.handle_as(S::Turn::default(), Event::LogOfRequest { launch, about, message: message(text)? })
    }

    pub(crate) fn process_notifies(&mut self, launch: Launch, method: &str, params: impl Display) -> Check {
        self.process_says(S::Turn::default(), launch, notice(method, params))
    }

    pub(crate) fn at_client(&mut self, client: ClientId, _: &Outgoing, bytes: Vec<u8>) -> Check {
        let text = std::str::from_utf8(&bytes).map_err(|error| error.to_string())?;
        if text.starts_with('[') {
            self.stats.count("batch_answers");
            let members: Vec<Words<'_>> = parsed(text)?;
            return members.iter().try_for_each(|words| self.answer_at_client(client, words));
        }
        let raw: Words<'_> = parsed(text)?;
        match (raw.get("method"), raw.get("id")) {
            (Some(_), Some(_)) => self.question_at_client(client, &parsed(text)?),
            (Some(_), None) => {
                let words: Value = parsed(text)?;
                if words["method"] == "notifications/cancelled" {
                    let id = &words["params"]["requestId"];
                    self.client(client).questions.retain(|(question, _)| question != id);
                }
                S::NOTIFIED(self, client, &words)?;
                self.heard.push((client, words));
                Ok(())
            }
            (None, _) => self.answer_at_client(client, &raw),
        }
    }

    fn answer_at_client(&mut self, client: ClientId, words: &Words<'_>) -> Check {
        let id = words.get("id").map(|id| id.get()).unwrap_or_default();
        let number = self.ledger.answered(client, id)?;
        match words.contains_key("result") != words.contains_key("error") {
            true => S::ANSWERED(self, &Answer { client, number, words }),
            false => Err(format!("{client} gets no answer that is one: {words:?}")),
        }
    }

    fn question_at_client(&mut self, client: ClientId, words: &Value) -> Check {
        if words["method"] == "roots/list" && words.get("params").is_none() {
            self.stats.count("roots_asked");
            return S::ROOTS_ASKED(self, client, words["id"].clone());
        }
        let (number, launch) = self.ledger.pass_on(client, words)?;
        let (p, c) = (&self.processes[&launch], &self.clients[&client]);
        if c.server.is_some_and(|own| own != p.server) || !serves(p.environment, c.environment) {
            return Err(format!("{client} is asked by {launch}, which is not its own: {words}"));
        }
        self.client(client).questions.push((words["id"].clone(), Some(number)));
        Ok(())
    }

    /// The kind of an error of our own, which every error must have.
    pub(crate) fn kind_of_error<'a>(&mut self, client: ClientId, error: &'a Value) -> Check<&'a str> {
        let kind = error.pointer("/data/kind").and_then(Value::as_str).unwrap_or_default();
        match self.stats.add(&format!("error_{kind}"), 1) {
            true => Ok(kind),
            false => Err(format!("{client} gets an error of an unknown kind: {error}")),
        }
    }

    pub(crate) fn at_process(&mut self, launch: Launch, _: &Outgoing, bytes: Vec<u8>) -> Check {
        let text = String::from_utf8_lossy(&bytes);
        let words: Value = parsed(&text)?;
        let Some(method) = words["method"].as_str() else {
            let number = self.ledger.answer_ask(launch, &words)?;
            return S::REPLIED(self, launch, number, &words);
        };
        let Some(id) = words.get("id") else { return self.notice_at_process(launch, method, &words) };
        let id = id.as_u64().ok_or_else(|| format!("{launch} is given the id {id}"))?;
        let p = self.process(launch);
        if !p.given.insert(id) {
            return Err(format!("{launch} is given the id {id} for the second time"));
        }
        let tag = words["params"]["tag"].as_u64().map(|tag| tag as usize);
        if method == "initialize" {
            p.handshakes += 1;
        }
        S::REQUESTED(self, &Asked { launch, id, method, tag, words: &words, text: &text })
    }

    fn notice_at_process(&mut self, launch: Launch, method: &str, words: &Value) -> Check {
        let p = self.process(launch);
        match method {
            "notifications/initialized" if p.handshakes == 0 => {
                Err(format!("{launch} hears that its client is ready before any handshake"))
            }
            "notifications/initialized" if S::GREETS_ONCE && p.confirmed_at == p.handshakes => {
                Err(format!("{launch} hears twice that its client is ready"))
            }
            "notifications/initialized" => {
                (p.is_confirmed, p.confirmed_at) = (true, p.handshakes);
                Ok(())
            }
            "notifications/cancelled" => {
                let id = words["params"]["requestId"].as_u64().unwrap_or_default();
                match p.given.contains(&id) {
                    true => Ok(()),
                    false => Err(format!("{launch} is told to stop what it was not given: {words}")),
                }
            }
            _ => S::TOLD(self, launch, method, words),
        }
    }

    /// Checks that a client's request may be given to a process, and that its answer is wanted.
    pub(crate) fn give(&mut self, number: usize, launch: Launch) -> Check {
        let (request, p) = (&self.ledger.requests[number], &self.processes[&launch]);
        let c = &self.clients[&request.client];
        let what = format!("{}'s {} (tag {number})", c.id, request.rule.name);
        if !c.is_there() || !request.is_open() {
            return Err(format!("{launch} is given {what}, for which nobody waits"));
        }
        if c.server.is_some_and(|own| own != p.server) || !serves(p.environment, c.environment) {
            return Err(format!("{launch} is not for {}, and is given {what}", c.id));
        }
        self.hand_over(number, launch)
    }

    /// Cancels one of a client's open requests; returns its number.
    pub(crate) fn cancels_one(&mut self, client: ClientId) -> Check<Option<usize>> {
        let mut open = self.ledger.open_of(client);
        open.retain(|&number| self.ledger.requests[number].rule.is_cancellable());
        let Some(number) = self.rng.choose(&open) else { return Ok(None) };
        self.stats.count("cancellations");
        let request = &mut self.ledger.requests[number];
        request.is_cancelled = true;
        let params = format!(r#"{{"requestId":{}}}"#, request.id);
        self.client_says(S::Turn::default(), client, notice("notifications/cancelled", params))?;
        Ok(Some(number))
    }

    /// Clients notified in the last turn, and the messages: each once.
    pub(crate) fn hearers(&self) -> Check<BTreeMap<ClientId, &Value>> {
        let mut hearers = BTreeMap::new();
        for (client, words) in &self.heard {
            if hearers.insert(*client, words).is_some() {
                return Err(format!("{client} hears the same twice: {words}"));
            }
        }
        Ok(hearers)
    }

    /// Checks that progress goes to the requester, under its token. `must_hear`: unless its answer was faster.
    pub(crate) fn check_progress(&mut self, number: usize, must_hear: bool) -> Check {
        self.stats.count("progress");
        let heard = self.hearers()?;
        let request = &self.ledger.requests[number];
        for (client, words) in &heard {
            let token = words["params"]["progressToken"].to_string();
            if *client != request.client || Some(&token) != request.token.as_ref() {
                return Err(format!("{client} hears {words}, which is for {}", request.client));
            }
        }
        match must_hear && request.is_open() && heard.is_empty() {
            true => Err(format!("{} does not hear how tag {number} goes on", request.client)),
            false => Ok(()),
        }
    }
}

pub(crate) fn notice(method: &str, params: impl Display) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

pub(crate) fn request(id: impl Display, method: &str, params: impl Display) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// An answer, with its `"result":…` or `"error":…`.
pub(crate) fn answer(id: impl Display, words: impl Display) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},{words}}}"#)
}

pub(crate) fn parsed<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Check<T> {
    serde_json::from_str(text).map_err(|error| format!("no JSON: {error} in {text}"))
}

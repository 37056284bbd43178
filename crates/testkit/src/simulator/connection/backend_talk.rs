//! Messages of backends: answers in any order, twice, late, broken and unsolicited; progress, floods, noise. Their
//! questions are in `backend_asks`.

use super::ConnectionWorld;
use super::backend::{Gate, Open};
use super::draft::{Piece, member, object, place};
use super::post::Role;
use crate::simulator::engine::{Check, Phase};
use bytes::Bytes;
use switchboard_core::{Event, Launch, Peer};
use switchboard_protocol::hunt::Hunter;
use switchboard_protocol::recover::recover;
use switchboard_protocol::{Parsed, RawId, parse};

/// A token that was never minted.
pub(super) const LOST: &str = "\"lost\"";

impl ConnectionWorld {
    /// Handles a line of a backend as the gateway would.
    pub(super) fn backend_says(&mut self, launch: Launch, text: String) -> Check {
        let line = Bytes::from(text);
        match parse(line.clone()) {
            Ok(Parsed::One(message)) => self.handle(Event::FromBackend { launch, message }),
            Ok(Parsed::Batch(_)) => Err("the simulated backends send no batches".into()),
            Err(broken) => {
                let found = recover(&line, broken);
                if found.messages.is_empty() {
                    return self.handle(Event::BackendNoise { launch, text: line, broken: found.broken });
                }
                for message in found.messages {
                    self.handle(Event::FromBackend { launch, message })?;
                }
                self.handle(Event::BackendNoise { launch, text: found.noise.into(), broken: found.broken })
            }
        }
    }

    pub(super) fn is_bare(&self, launch: Launch) -> bool {
        self.home(launch).is_some_and(|client| self.clients[&client].backend.is_bare)
    }

    /// Writes an answer. `request` is its request; `None` if the answer must be dropped.
    fn draft_answer(&mut self, launch: Launch, id: &str, failed: bool, role: Role) -> String {
        if matches!(role, Role::ServerAnswer { request: Some(_), .. } | Role::ServerNullError { .. }) {
            // A server that answers has passed its trial.
            self.server(launch).on_trial.remove(&launch.backend);
        }
        let payload = self.payload();
        let body = if failed {
            let data = object(&mut self.rng, "data", payload);
            object(&mut self.rng, "error", vec![member("code", -32050), member("message", "\"no\""), data])
        } else {
            object(&mut self.rng, "result", payload)
        };
        self.compose(vec![place("id", Piece::Id), body], id, None, self.is_bare(launch), role)
    }

    /// Takes a request that this process has read, the newest or a random one.
    fn take_open(&mut self, launch: Launch) -> Option<Open> {
        let count = self.process(launch).open.len();
        let at = if self.rng.percent(50) { 0 } else { self.rng.below(count) };
        let open = &mut self.process(launch).open;
        if open.is_empty() {
            return None;
        }
        let taken = open.remove(at);
        self.process(launch).answered.push(taken.clone());
        Some(taken)
    }

    pub(super) fn backend_answers(&mut self, launch: Launch) -> Check {
        if self.is_clogged(launch) {
            return Ok(());
        }
        if self.rng.percent(15) {
            self.backend_progresses(launch)?;
        }
        let Some(open) = self.take_open(launch) else { return Ok(()) };
        let failed = self.rng.percent(10);
        self.answer_open(launch, &open, failed)
    }

    fn answer_open(&mut self, launch: Launch, open: &Open, failed: bool) -> Check {
        let request = open.request.filter(|_| !open.is_replay);
        let id = self.respell(&open.minted);
        let text = self.draft_answer(launch, &id, failed, Role::ServerAnswer { launch, request });
        if open.is_replay && !failed {
            self.open_gate(launch);
        }
        self.backend_says(launch, text)?;
        self.stats.count("answers");
        self.check_answered(launch, request)
    }

    /// Handles the answer to a replayed handshake: the process may now get the rest.
    fn open_gate(&mut self, launch: Launch) {
        let client = self.home(launch).map(|client| &self.clients[&client]);
        let must_confirm = client.is_some_and(|client| {
            client.has_confirmed && client.greeted_at == client.initializes && !client.is_confusing
        });
        let process = self.process(launch);
        if process.gate == Gate::Replaying {
            process.gate = if must_confirm || process.is_plain { Gate::Confirming } else { Gate::Open };
        }
    }

    /// Some libraries send a number back as `7.0` or `"7"`.
    fn respell(&mut self, minted: &str) -> String {
        match self.rng.below(20) {
            0 => format!("{minted}.0"),
            1 => format!("\"{minted}\""),
            _ => minted.to_owned(),
        }
    }

    /// Fails unless a timely answer was passed on, or its client was told why not.
    fn check_answered(&mut self, launch: Launch, request: Option<usize>) -> Check {
        // The requests of a process that is being stopped may go to the next one.
        let is_staying = self.process(launch).is_staying();
        let Some(number) = request.filter(|_| is_staying) else { return Ok(()) };
        let request = &self.ledger.requests[number];
        let (client, batch, id) = (request.client, request.batch, request.id.clone());
        if request.is_answered || batch.is_some() || self.is_lost(client) {
            return Ok(());
        }
        let account = self.ledger.account_of(number);
        if account.requests.len() == 1 && account.due() > 0 {
            return Err(format!("the answer to {client}'s request {id} came and was lost"));
        }
        Ok(())
    }

    /// An answer that is broken or too long.
    pub(super) fn backend_answers_badly(&mut self, launch: Launch) -> Check {
        let Some(open) = self.take_open(launch) else { return Ok(()) };
        if open.is_replay {
            return self.answer_open(launch, &open, true);
        }
        let (id, request) = (&open.minted, open.request);
        if self.rng.percent(40) {
            self.stats.count("backend_too_long");
            let text = format!(r#"{{"result":{{"text":"long"}},"jsonrpc":"2.0","id":{id}}}"#);
            self.backend_says_too_long(launch, &text)?;
        } else {
            self.stats.count("broken_answers");
            // A server that omits `jsonrpc` always does.
            let shapes = if self.is_bare(launch) { 7 } else { 8 };
            let text = match self.rng.below(shapes) {
                3 => format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#),
                4 => format!(r#"{{"jsonrpc":"2.0","\u0069d":{id},"result":1}}"#),
                5 => format!(r#"{{"jsonrpc":"2.0","id":{id},"Result":1}}"#),
                6 => format!(r#"[info] {{"jsonrpc":"2.0","id":{id},"result":{{"x":NaN}}}}"#),
                7 => {
                    format!(r#"{{"jsonrpc":"2.0","id":4000000000,"result":1}}{{"jsonrpc":"2.0","id":{id}}}"#)
                }
                0 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"x":NaN}}}}"#),
                1 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1,"error":{{}}}}"#),
                _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"x":"half"#),
            };
            self.backend_says(launch, text)?;
        }
        self.check_answered(launch, request)
    }

    pub(super) fn backend_says_too_long(&mut self, launch: Launch, text: &str) -> Check {
        let mut hunter = Hunter::default();
        hunter.feed(text.as_bytes());
        self.handle(Event::BackendTooLong { launch, length: 20 << 20, glimpses: hunter.finish() })
    }

    pub(super) fn backend_answers_again(&mut self, launch: Launch) -> Check {
        let count = self.process(launch).answered.len();
        let at = self.rng.below(count);
        let Some(old) = self.process(launch).answered.get(at).cloned() else { return Ok(()) };
        self.stats.count("second_answers");
        // A second answer under this id is dropped, unless the first was broken beyond recognition.
        let text =
            self.draft_answer(launch, &old.minted, false, Role::ServerAnswer { launch, request: None });
        self.backend_says(launch, text)
    }

    /// An answer to a request that this backend never got, perhaps another backend's.
    pub(super) fn backend_answers_nobody(&mut self, launch: Launch) -> Check {
        let others = self.ids_of_others(launch);
        let id = if others.is_empty() || self.rng.percent(30) {
            self.rng.pick(&["4000000000", "\"nobody\"", "0", "-1", "1.5"]).to_string()
        } else {
            self.rng.pick(&others).clone()
        };
        self.stats.count("stray_answers");
        let text = self.draft_answer(launch, &id, false, Role::ServerAnswer { launch, request: None });
        self.backend_says(launch, text)
    }

    pub(super) fn backend_null_error(&mut self, launch: Launch) -> Check {
        let text = self.draft_answer(launch, "null", true, Role::ServerNullError { launch });
        self.backend_says(launch, text)
    }

    pub(super) fn backend_notifies(&mut self, launch: Launch) -> Check {
        if self.core.is_clogged(Peer::Backend(launch)) {
            return Ok(());
        }
        let name = *self.rng.pick(&["notifications/message", "notifications/tools/list_changed"]);
        let number = self.own.next_number();
        let text =
            self.draft_notice(name, None, "", self.is_bare(launch), Role::ServerNotification { launch });
        let had_room = !self.is_left(launch) && self.client_has_room(launch, text.len());
        self.backend_says(launch, text)?;
        if had_room && self.own.written_message(number)?.arrivals == 0 {
            return Err("a notification was dropped although there was room for it".into());
        }
        Ok(())
    }

    /// Whether a notification of this length must reach the client.
    fn client_has_room(&self, launch: Launch, length: usize) -> bool {
        if self.owner.is_retired(launch.backend) {
            return false;
        }
        let limit = self.settings.limits.client_bytes / 2;
        let Some(client) = self.home(launch).filter(|&client| !self.is_lost(client)) else { return false };
        let waiting = self.clients.get(&client).map_or(0, |c| c.unread.bytes);
        waiting == 0 || waiting + length + 20 <= limit
    }

    pub(super) fn backend_progresses(&mut self, launch: Launch) -> Check {
        let process = self.process(launch);
        let (open, answered) = (process.open.len(), process.answered.len());
        // Sometimes for a request that was answered.
        let from_answered = answered > 0 && self.rng.percent(20);
        let at = self.rng.below(if from_answered { answered } else { open });
        let process = self.process(launch);
        let list = if from_answered { &process.answered } else { &process.open };
        let Some(Open { minted, request, is_replay }) = list.get(at).cloned() else { return Ok(()) };
        let request = request.filter(|_| !is_replay);
        if let Some(number) = request {
            self.ledger.requests[number].touched = self.now;
        }
        let role = Role::ServerProgress { launch, request };
        self.backend_says_progress(launch, &minted, role)
    }

    /// Progress under a token of another backend, or of none.
    pub(super) fn backend_strays(&mut self, launch: Launch) -> Check {
        let others = self.ids_of_others(launch);
        let is_made_up = others.is_empty() || self.rng.percent(50);
        let token = if is_made_up { LOST.into() } else { self.rng.pick(&others).clone() };
        self.stats.count("stray_progress");
        let role = Role::ServerProgress { launch, request: None };
        self.backend_says_progress(launch, &token, role)
    }

    fn backend_says_progress(&mut self, launch: Launch, token: &str, role: Role) -> Check {
        let (name, key) = ("notifications/progress", Some("progressToken"));
        let text = self.draft_notice(name, key, token, self.is_bare(launch), role);
        self.backend_says(launch, text)
    }

    /// Ids sent to other backends.
    fn ids_of_others(&self, launch: Launch) -> Vec<String> {
        let others = self.processes.values().filter(|p| p.launch.backend != launch.backend);
        others.flat_map(|p| p.seen.keys().cloned()).collect()
    }

    /// Output on stdout that is not a message.
    pub(super) fn backend_babbles(&mut self, launch: Launch) -> Check {
        let noise = *self.rng.pick(&[
            "listening on stdio",
            r#"{"level":30,"method":"GET","id":1,"msg":"structured"}"#,
            r#"{"level":30,"method":"GET"}"#,
            "received {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}}",
            "{{{",
            "\u{1b}[32mready\u{1b}[0m",
        ]);
        self.backend_says(launch, noise.into())
    }

    /// An answer with a log text glued in front of it.
    pub(super) fn backend_answers_in_noise(&mut self, launch: Launch) -> Check {
        let Some(open) = self.take_open(launch) else { return Ok(()) };
        self.stats.count("glued_messages");
        let request = open.request.filter(|_| !open.is_replay);
        let text = self.draft_answer(launch, &open.minted, false, Role::ServerAnswer { launch, request });
        if open.is_replay {
            self.open_gate(launch);
        }
        self.backend_says(launch, format!("INFO answering {text}"))?;
        self.check_answered(launch, request)
    }

    /// Late output of a process that is gone. It must have no effect.
    pub(super) fn dead_speaks(&mut self) -> Check {
        let dead = self.processes.values().filter(|p| p.phase == Phase::Gone);
        let dead: Vec<Launch> = dead.map(|p| p.launch).collect();
        let Some(launch) = self.rng.choose(&dead) else { return Ok(()) };
        let process = self.process(launch);
        let Some(id) = process.open.last().or(process.answered.last()).map(|open| open.minted.clone()) else {
            return Ok(());
        };
        self.stats.count("words_of_the_dead");
        let before = self.own.deliveries;
        match self.rng.below(4) {
            0 => self.backend_says(launch, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":NaN}}"#))?,
            1 => self.backend_says_too_long(launch, &format!(r#"{{"id":{id},"result":"long"}}"#))?,
            2 => self.handle(Event::Flushed { peer: Peer::Backend(launch), bytes: 100 })?,
            _ => {
                let role = Role::ServerAnswer { launch, request: None };
                let text = self.draft_answer(launch, &id, false, role);
                self.backend_says(launch, text)?;
            }
        }
        if self.own.deliveries > before {
            return Err(format!("a late word of {launch} had a consequence"));
        }
        Ok(())
    }
}

/// Whether this is a number in the form that Switchboard mints.
pub(super) fn is_plain_number(id: &str) -> bool {
    RawId::minted(id.as_bytes()).is_some_and(|number| number.to_string() == id)
}

//! Arrivals at a backend, checked as a strict server would: a whole envelope, ids used once, and payloads
//! that equal the client's to the byte.

use super::ConnectionWorld;
use super::at_client::{check_claims, text};
use super::backend::{Gate, Open};
use super::backend_talk::is_plain_number;
use super::draft::{is_same, kind_in, number_in};
use super::post::Role;
use crate::simulator::engine::Check;
use bytes::Bytes;
use switchboard_core::Launch;
use switchboard_protocol::{Dialect, Kind, Message, Method, Outgoing, Parsed, Part, parse};

/// A limit on concurrent requests that no run reaches.
const WIDE: usize = 64;

impl ConnectionWorld {
    pub(super) fn at_backend(&mut self, launch: Launch, out: &Outgoing, bytes: Vec<u8>) -> Check {
        let length = bytes.len();
        let message = match parse(Bytes::from(bytes)) {
            Ok(Parsed::One(message)) => message,
            other => return Err(format!("{launch} gets what is no message: {other:?}")),
        };
        check_claims(out, &message)?;
        if !message.has(Part::Jsonrpc) {
            return Err(format!("{launch} gets a message without jsonrpc: {}", text(&message)));
        }
        let unread = match (message.kind(), number_in(message.bytes())) {
            (Kind::Request, Some(number)) => Some(self.request_at_backend(launch, &message, number)?),
            (Kind::Request, None) => Some(self.probe_at_backend(launch, &message)?),
            (Kind::Response { .. }, number) => {
                self.answer_at_backend(launch, &message, number).map(|()| None)?
            }
            (Kind::Notification, Some(number)) => {
                self.notification_at_backend(launch, &message, number).map(|()| None)?
            }
            (Kind::Notification, None) => self.cancel_at_backend(launch, &message).map(|()| None)?,
        };
        // Our errors and probes are small and always sent; so is the end of a handshake.
        let is_ours = number_in(message.bytes()).is_none() || message.method() == Method::Initialized;
        let process = self.process(launch);
        process.unread.put(unread, length, if is_ours { length } else { 0 });
        process.unread.saw(length);
        self.check_backend_outbox(launch)
    }

    fn compare_at_backend(&mut self, launch: Launch, message: &Message, number: usize, id: &str) -> Check {
        let expect = self.own.written_message(number)?.draft.heard(id, id, Dialect::Standard);
        if !is_same(&expect, message.bytes()) {
            return Err(format!("{launch} should get\n  {expect}\nbut gets\n  {}", text(message)));
        }
        self.own.written[number].arrivals += 1;
        Ok(())
    }

    /// Records an id sent to this process, which must be new to it.
    fn meet(&mut self, launch: Launch, id: &str, request: Option<usize>) -> Check {
        if !is_plain_number(id) {
            return Err(format!("{launch} is asked under the id {id}, which is not ours"));
        }
        match self.process(launch).seen.insert(id.to_owned(), request) {
            Some(_) => Err(format!("{launch} is asked under the id {id} for the second time")),
            None => Ok(()),
        }
    }

    fn request_at_backend(&mut self, launch: Launch, message: &Message, number: usize) -> Check<Open> {
        let Role::Request(request) = self.own.written_message(number)?.role else {
            return Err(format!("{launch} is asked what was no request: {}", text(message)));
        };
        let minted = part(message, Part::Id);
        self.compare_at_backend(launch, message, number, &minted)?;
        self.meet(launch, &minted, Some(request))?;
        let is_initialize = message.method() == Method::Initialize;
        let is_replay = self.pass_gate(launch, is_initialize, false, message)?;
        let client = self.ledger.requests[request].client;
        if self.home(launch) != Some(client) {
            return Err(format!("{launch} is asked what {client} asked another backend"));
        }
        if !is_replay {
            self.give(launch, request, number)?;
        }
        Ok(Open { minted, request: Some(request), is_replay })
    }

    /// Fails if a request is handed over twice; a question may be, if the first process is gone.
    fn give(&mut self, launch: Launch, number: usize, written: usize) -> Check {
        let request = &self.ledger.requests[number];
        let (rule, is_first) = (request.rule, request.handed.is_empty());
        let (client, name, id) = (request.client, rule.name, request.id.clone());
        let was_taken_back = request.is_cancelled;
        let home = self.server(launch);
        if home.plain.contains(&launch.backend) && home.has_greeted && written >= home.greeted_from {
            return Err(format!("{launch} has our handshake, and is given {client}'s {name} after its own"));
        }
        self.hand_over(number, launch)?;
        if is_first && was_taken_back && self.ledger.account_of(number).requests.len() == 1 {
            return Err(format!("{client}'s {name} with id {id} was taken back, and then handed over"));
        }
        if is_first { self.keep_order(launch, written, rule.takes_a_turn()) } else { Ok(()) }
    }

    /// Fails unless messages of a client reach its backend in the order of sending. Only a message that waits for
    /// its turn may be overtaken, by messages that take no turn.
    fn keep_order(&mut self, launch: Launch, written: usize, takes_a_turn: bool) -> Check {
        let is_narrow = self.settings.servers[0].max_in_flight < WIDE;
        let Some(client) = self.home(launch) else { return Ok(()) };
        let c = &self.clients[&client];
        // A message from before the client's own handshake may have waited at a backend that had ours.
        if c.is_plain && written < c.backend.asked_at {
            return Ok(());
        }
        let lane =
            self.client(client).own.lanes.entry((launch.backend, is_narrow && takes_a_turn)).or_default();
        let last = std::mem::replace(lane, written);
        match last > written {
            true => Err(format!("{launch} gets number {written} after number {last}, which was said later")),
            false => Ok(()),
        }
    }

    /// A process that replaces a greeted one gets the greeting first. `true` if this message is it.
    fn pass_gate(
        &mut self,
        launch: Launch,
        is_initialize: bool,
        is_initialized: bool,
        message: &Message,
    ) -> Check<bool> {
        let has_greeted = self.server(launch).has_greeted;
        let process = self.process(launch);
        let early = || Err(format!("{launch} hears this before its handshake: {}", text(message)));
        match process.gate {
            Gate::Fresh if has_greeted && is_initialize => {
                process.gate = Gate::Replaying;
                return Ok(true);
            }
            Gate::Fresh if has_greeted => return early(),
            Gate::Replaying => return early(),
            Gate::Confirming if !is_initialized => return early(),
            Gate::Fresh | Gate::Confirming | Gate::Open => process.gate = Gate::Open,
        }
        Ok(false)
    }

    fn probe_at_backend(&mut self, launch: Launch, message: &Message) -> Check<Open> {
        let minted = part(message, Part::Id);
        let is_replay = match message.method() {
            Method::Ping => false,
            Method::Initialize => self.plain_handshake(launch, message).map(|()| true)?,
            _ => return Err(format!("{launch} is asked what nobody asked: {}", text(message))),
        };
        self.meet(launch, &minted, None)?;
        Ok(Open { minted, request: None, is_replay })
    }

    /// A client that makes no handshake has its backends greeted by Switchboard.
    fn plain_handshake(&mut self, launch: Launch, message: &Message) -> Check {
        self.stats.count("plain_handshakes");
        let is_plain = self.home(launch).is_some_and(|client| self.clients[&client].is_plain);
        self.server(launch).plain.insert(launch.backend);
        if !is_plain {
            return Err(format!("{launch} hears our handshake in place of its client's: {}", text(message)));
        }
        let process = self.process(launch);
        if process.gate == Gate::Replaying {
            return Err(format!("{launch} hears a second handshake before the end of the first"));
        }
        (process.gate, process.is_plain) = (Gate::Replaying, true);
        Ok(())
    }

    fn answer_at_backend(&mut self, launch: Launch, message: &Message, number: Option<usize>) -> Check {
        let id = part(message, Part::Id);
        let Some(number) = number else {
            if kind_in(message.bytes()).is_none() {
                return Err(format!("{launch} gets an answer that nobody gave: {}", text(message)));
            }
            self.stats.count("asks_refused");
            return self.own.answer_ask(launch, &id);
        };
        let Role::ClientAnswer { client, ask: Some(ask) } = self.own.written_message(number)?.role else {
            return Err(format!("{launch} gets an answer that belongs to nobody: {}", text(message)));
        };
        let ask = &self.own.asks[ask];
        if ask.launch != launch || self.home(launch) != Some(client) {
            return Err(format!("{launch} gets an answer to what {} asked", ask.launch));
        }
        let id = ask.id.clone();
        self.compare_at_backend(launch, message, number, &id)?;
        self.stats.count("asks_answered");
        self.own.answer_ask(launch, &id)
    }

    fn notification_at_backend(&mut self, launch: Launch, message: &Message, number: usize) -> Check {
        let stray = || format!("{launch} gets a notification of no concern to it: {}", text(message));
        let written = self.own.written_message(number)?;
        let arrivals = written.arrivals;
        let role = written.role.clone();
        let is_initialized = matches!(role, Role::ClientNotification { is_initialized: true, .. });
        let id = match role {
            Role::ClientNotification { client, .. } => {
                if self.home(launch) != Some(client) {
                    return Err(stray());
                }
                self.pass_gate(launch, false, is_initialized, message)?;
                if !is_initialized {
                    self.keep_order(launch, number, false)?;
                }
                self.stats.count("notifications_to_backend");
                String::new()
            }
            Role::ClientCancel { client, wanted } => {
                let minted = part(message, Part::RequestId);
                let meant = self.process(launch).seen.get(&minted).copied().flatten();
                let request = meant.map(|number| &self.ledger.requests[number]);
                if !request.is_some_and(|request| request.client == client && request.id == wanted) {
                    return Err(format!("{client} took {wanted} back, but {launch} is told {minted}"));
                }
                self.stats.count("cancellations_mapped");
                minted
            }
            Role::ClientProgress { ask } => {
                let ask = &self.own.asks[ask];
                if ask.launch != launch {
                    return Err(stray());
                }
                self.stats.count("asks_progress");
                ask.token.clone().ok_or_else(stray)?
            }
            _ => return Err(stray()),
        };
        let is_second =
            if is_initialized { !self.process(launch).confirmed.insert(number) } else { arrivals > 0 };
        if is_second {
            return Err(format!("{launch} gets this a second time: {}", text(message)));
        }
        self.compare_at_backend(launch, message, number, &id)
    }

    /// The only notifications of our own: the cancellation of a request whose answer is no longer wanted, and the end of
    /// our own handshake.
    fn cancel_at_backend(&mut self, launch: Launch, message: &Message) -> Check {
        let process = self.process(launch);
        if message.method() == Method::Initialized && process.is_plain && process.gate == Gate::Confirming {
            process.gate = Gate::Open;
            return Ok(());
        }
        let minted = part(message, Part::RequestId);
        if message.method() != Method::Cancelled || !self.process(launch).seen.contains_key(&minted) {
            return Err(format!("{launch} gets a notification that nobody sent: {}", text(message)));
        }
        Ok(())
    }
}

fn part(message: &Message, part: Part) -> String {
    message.part(part).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
}

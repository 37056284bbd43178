//! Arrivals at a client, checked to the byte: only its own messages, under its own ids.

use super::ConnectionWorld;
use super::backend::{Backend, Gate};
use super::backend_talk::{LOST, is_plain_number};
use super::client::UnreadMessage;
use super::draft::{is_same, kind_in, number_in};
use super::post::Role;
use crate::simulator::engine::{Check, Phase, Process};
use bytes::Bytes;
use switchboard_core::ClientId;
use switchboard_protocol::{Dialect, Kind, Message, Method, Outgoing, OutgoingKind, Parsed, Part, parse};

/// A checked message, and whether it is an error of our own: small, and always sent.
type Arrival = (UnreadMessage, bool);

impl ConnectionWorld {
    pub(super) fn bytes_at_client(&mut self, client: ClientId, out: &Outgoing, bytes: Vec<u8>) -> Check {
        self.own.deliveries += 1;
        let length = bytes.len();
        match parse(Bytes::from(bytes)) {
            Ok(Parsed::One(message)) => {
                check_claims(out, &message)?;
                let (unread, is_small) = self.message_at_client(client, &message, None)?;
                self.put(client, unread, length, if is_small { length } else { 0 });
            }
            Ok(Parsed::Batch(members)) => self.batch_at_client(client, members, length)?,
            Err(broken) => return Err(format!("{client} gets what is no message: {:?}", broken.fault)),
        }
        self.check_client_outbox(client)
    }

    fn put(&mut self, client: ClientId, unread: UnreadMessage, length: usize, small: usize) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.unread.put(unread, length, small);
        if small == 0 {
            c.unread.saw(length);
        }
    }

    /// Fails unless the answers to a batch come as one array, one for each request.
    fn batch_at_client<E: std::fmt::Debug>(
        &mut self,
        client: ClientId,
        members: Vec<Result<Message, E>>,
        length: usize,
    ) -> Check {
        self.stats.count("batch_answers");
        let members: Vec<Message> = members
            .into_iter()
            .collect::<Result<_, _>>()
            .map_err(|e| format!("a bad member in an answer: {e:?}"))?;
        let ids: Vec<String> = members.iter().map(id_of).collect();
        let batch = self.batch_for(client, &ids)?;
        let mut small = members.len() + 1;
        for message in &members {
            let (_, is_small) = self.message_at_client(client, message, Some(batch))?;
            if is_small {
                small += message.bytes().len();
            } else if let Some(c) = self.clients.get_mut(&client) {
                // White space around a member may be included.
                c.unread.saw(message.bytes().len() + 2);
            }
        }
        let cancelled: usize = self
            .ledger
            .accounts
            .iter()
            .filter(|((_, of, _), _)| *of == Some(batch))
            .map(|(_, account)| account.open().saturating_sub(account.due()))
            .sum();
        let entry = &mut self.own.batches[batch];
        if std::mem::replace(&mut entry.is_answered, true) {
            return Err(format!("batch {batch} of {client} is answered twice"));
        }
        if members.len() + cancelled < entry.owed {
            let owed = entry.owed;
            return Err(format!("batch {batch} of {client} has {} answers instead of {owed}", members.len()));
        }
        self.put(client, UnreadMessage::Other, length, small);
        Ok(())
    }

    /// The batch that an array answers: its ids are unique.
    fn batch_for(&self, client: ClientId, ids: &[String]) -> Check<usize> {
        let by_id = ids.iter().filter(|id| *id != "null").find_map(|id| {
            self.ledger.accounts.keys().find(|(c, batch, i)| *c == client && batch.is_some() && i == id)
        });
        if let Some((_, Some(batch), _)) = by_id {
            return Ok(*batch);
        }
        // Only null ids: errors for members that are no messages. No other answer is owed.
        let fits = |at: usize| {
            let of_it = || self.ledger.accounts.iter().filter(move |((_, batch, _), _)| *batch == Some(at));
            of_it().any(|((_, _, id), _)| id == "null")
                && of_it()
                    .all(|((_, _, id), account)| account.due() == if id == "null" { ids.len() } else { 0 })
        };
        let batches = self.own.batches.iter().enumerate();
        let mut open =
            batches.filter(|(_, batch)| batch.client == client && !batch.is_answered).map(|(at, _)| at);
        open.find(|&at| fits(at)).ok_or_else(|| format!("{client} gets an array of nulls and sent none such"))
    }

    fn message_at_client(
        &mut self,
        client: ClientId,
        message: &Message,
        batch: Option<usize>,
    ) -> Check<Arrival> {
        if batch.is_none() {
            self.check_dialect(client, message)?;
        }
        let number = number_in(message.bytes());
        match (message.kind(), number) {
            (Kind::Response { .. }, Some(number)) => self.answer_at_client(client, message, number, batch),
            (Kind::Response { failed }, None) => self.own_answer_at_client(client, message, failed, batch),
            (Kind::Request, Some(number)) => self.ask_at_client(client, message, number),
            (Kind::Request, None) => Err(format!("{client} is asked something that no server asked")),
            (Kind::Notification, Some(number)) => self.notification_at_client(client, message, number),
            (Kind::Notification, None) => self.withdrawal_at_client(client, message),
        }
    }

    /// Fails unless the client gets the `jsonrpc` field exactly if it ever sent it. The answers of a batch are
    /// written one by one, and the client may have changed its dialect before the last.
    fn check_dialect(&self, client: ClientId, message: &Message) -> Check {
        let Some(c) = self.clients.get(&client) else { return Ok(()) };
        let wanted = c.dialect(&self.settings);
        let has = message.has(Part::Jsonrpc);
        match wanted.is_none_or(|wanted| has == (wanted == Dialect::Standard)) {
            true => Ok(()),
            false => Err(format!("{client} wants {wanted:?}, and this is not it: {}", text(message))),
        }
    }

    /// Compares an arrival with the original.
    fn compare(
        &mut self,
        client: ClientId,
        message: &Message,
        number: usize,
        id: &str,
        token: &str,
    ) -> Check {
        let written = self.own.written_message(number)?;
        let dialect = if message.has(Part::Jsonrpc) { Dialect::Standard } else { Dialect::Bare };
        let expect = written.draft.heard(id, token, dialect);
        if !is_same(&expect, message.bytes()) {
            return Err(format!("{client} should get\n  {expect}\nbut gets\n  {}", text(message)));
        }
        let written = &mut self.own.written[number];
        written.arrivals += 1;
        match written.arrivals {
            1 => Ok(()),
            _ => Err(format!("{client} gets this a second time: {}", text(message))),
        }
    }

    fn answer_at_client(
        &mut self,
        client: ClientId,
        message: &Message,
        number: usize,
        batch: Option<usize>,
    ) -> Check<Arrival> {
        let id = id_of(message);
        let stray = || format!("{client} gets an answer that belongs to nobody: {}", text(message));
        let (launch, request) = match &self.own.written_message(number)?.role {
            Role::ServerAnswer { launch, request: Some(request) } => (*launch, Some(*request)),
            Role::ServerNullError { launch } => (*launch, None),
            _ => return Err(stray()),
        };
        if self.home(launch) != Some(client) {
            return Err(stray());
        }
        self.compare(client, message, number, &id, "")?;
        self.ledger.pay(client, batch, &id, request)?;
        match request {
            None => self.stats.count("null_id_errors"),
            Some(number) => {
                self.stats.count_if("answers_after_cancellation", self.ledger.requests[number].is_cancelled);
            }
        }
        Ok((UnreadMessage::Other, false))
    }

    /// Handles an answer of our own: an error with a hint, or the answer to `shutdown`.
    fn own_answer_at_client(
        &mut self,
        client: ClientId,
        message: &Message,
        failed: bool,
        batch: Option<usize>,
    ) -> Check<Arrival> {
        let id = id_of(message);
        self.ledger.pay(client, batch, &id, None)?;
        if failed {
            if !kind_in(message.bytes()).is_some_and(|kind| self.stats.add(&format!("error_{kind}"), 1)) {
                return Err(format!(
                    "{client} gets an error that does not say what it is: {}",
                    text(message)
                ));
            }
            let is_hidden = |number: &usize| self.ledger.requests[*number].is_hidden;
            if kind_in(message.bytes()) == Some("unknown_name") {
                if !self.ledger.accounts[&(client, batch, id)].requests.iter().any(is_hidden) {
                    return Err(format!("{client} called a tool that is there: {}", text(message)));
                }
                self.stats.count("hidden_refused");
            }
            // For a batch, the excuse held when the answer was written.
            if batch.is_none() {
                self.check_excuse(client, message)?;
            }
            return Ok((UnreadMessage::Other, true));
        }
        let account = self.ledger.account(client, batch, &id);
        let verbs: Vec<usize> = account.requests.clone();
        // A client that had to move gets its ping answered without waiting for the next process.
        let mut own = self.processes.values().filter(|p| self.home(p.launch) == Some(client));
        // What a process says after it was told to end counts for nothing, not even the answer to its handshake.
        let is_ready =
            |p: &Process<Backend>| p.is_staying() && p.phase == Phase::Alive && p.gate == Gate::Open;
        let has_moved = own.clone().any(|p| self.owner.is_retired(p.launch.backend))
            && (batch.is_some() || !own.any(|p| is_ready(p) && !self.owner.is_retired(p.launch.backend)));
        let may_be_ours = has_moved || self.clients[&client].is_plain;
        let is_ours = |name: &str| name == "shutdown" || (name == "ping" && may_be_ours);
        if verbs.iter().any(|&number| is_ours(self.ledger.requests[number].rule.name)) {
            return Ok((UnreadMessage::Other, true));
        }
        Err(format!("{client} gets a result that no server gave: {}", text(message)))
    }

    fn ask_at_client(&mut self, client: ClientId, message: &Message, number: usize) -> Check<Arrival> {
        let Role::Ask(ask) = self.own.written_message(number)?.role else {
            return Err(format!("{client} is asked what was no request: {}", text(message)));
        };
        let minted = id_of(message);
        let entry = &self.own.asks[ask];
        if self.home(entry.launch) != Some(client) {
            return Err(format!("{client} is asked by another client's backend: {}", text(message)));
        }
        let is_new = !self.own.asks.iter().any(|other| other.minted.as_deref() == Some(&minted));
        if !is_plain_number(&minted) || !is_new {
            return Err(format!("{client} is asked under the id {minted}, which is used or not ours"));
        }
        self.compare(client, message, number, &minted, &minted)?;
        self.own.asks[ask].minted = Some(minted);
        Ok((UnreadMessage::Ask(ask), false))
    }

    fn notification_at_client(
        &mut self,
        client: ClientId,
        message: &Message,
        number: usize,
    ) -> Check<Arrival> {
        let stray = || format!("{client} gets a notification of no concern to it: {}", text(message));
        let role = self.own.written_message(number)?.role.clone();
        let (launch, id) = match role {
            Role::ServerNotification { launch } => {
                self.stats.count("notifications_to_client");
                (launch, String::new())
            }
            Role::ServerProgress { launch, request: Some(number) } => {
                let request = &self.ledger.requests[number];
                self.stats.count_if("progress_after_answer", request.is_answered);
                self.stats.count("progress");
                (launch, request.token.clone().ok_or_else(stray)?)
            }
            // A token invented by the server.
            Role::ServerProgress { launch, request: None }
                if message.part(Part::ProgressToken) == Some(LOST.as_bytes()) =>
            {
                self.stats.count("unknown_progress");
                (launch, LOST.to_owned())
            }
            Role::ServerCancel { ask } => {
                let ask = &self.own.asks[ask];
                self.stats.count("asks_cancelled_by_server");
                (ask.launch, ask.minted.clone().ok_or_else(stray)?)
            }
            _ => return Err(stray()),
        };
        if self.home(launch) != Some(client) {
            return Err(stray());
        }
        self.compare(client, message, number, &id, "")?;
        Ok((UnreadMessage::Other, false))
    }

    /// The only notification of our own: the cancellation of a server's question.
    fn withdrawal_at_client(&mut self, client: ClientId, message: &Message) -> Check<Arrival> {
        let wanted = message.part(Part::RequestId).map(|id| String::from_utf8_lossy(id).into_owned());
        let ask = self.own.asks.iter_mut().find(|ask| ask.minted == wanted && wanted.is_some());
        match ask {
            Some(ask) if message.method() == Method::Cancelled && !ask.is_withdrawn => {
                ask.is_withdrawn = true;
                self.stats.count("asks_withdrawn");
                Ok((UnreadMessage::Other, false))
            }
            _ => Err(format!("{client} gets a notification that nobody sent: {}", text(message))),
        }
    }
}

fn id_of(message: &Message) -> String {
    message.id().map(|id| id.to_string()).unwrap_or_default()
}

pub(super) fn text(message: &Message) -> String {
    String::from_utf8_lossy(message.bytes()).into_owned()
}

/// Fails unless kind, method and id match the bytes of the message.
pub(super) fn check_claims(out: &Outgoing, message: &Message) -> Check {
    let kind: OutgoingKind = message.kind().into();
    let id = message.id();
    let expect = (kind, message.method(), id.as_ref().map(|id| id.as_bytes()));
    let claimed = (out.kind(), out.method(), out.id());
    if claimed == expect { Ok(()) } else { Err(format!("a message says {claimed:?}, and is {expect:?}")) }
}

//! Promises about the whole run: time, limits, restarts, and the final state.

use super::ConnectionWorld;
use super::backend::Backend;
use super::client::ConnectionClient;
use super::post::Unread;
use crate::simulator::engine::{Account, Check, Client, Key, Presence, Start};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::Duration;
use switchboard_core::access::AuditedClients;
use switchboard_core::{ClientId, Launch, Moment, RetryAfterCrash};
use switchboard_protocol::Message;

/// Longest error of our own in this simulation.
const ERROR_BYTES: usize = 1000;
/// Most members of a batch in this simulation.
pub(super) const MOST_MEMBERS: usize = 6;
const MINUTE: Duration = Duration::from_secs(60);

impl ConnectionWorld {
    /// Fails if a crashing backend is started too often.
    pub(super) fn check_restarts(&mut self, start: &Start) -> Check {
        // The start that was requested after a rest, and the half-open trials after 15 and 30 seconds.
        const FURTHER: usize = 3;
        let (now, backend) = (self.now, start.launch.backend);
        let most = self.settings.limits.restarts_per_minute + FURTHER;
        if start.launch.number == 1 {
            return Ok(());
        }
        let server = self.server_of(backend);
        if std::mem::take(&mut server.is_free) {
            return Ok(());
        }
        let restarts = server.restarts.entry(backend).or_default();
        restarts.push(now);
        restarts.retain(|&at| now.since(at) < MINUTE);
        match restarts.len() {
            count if count > most => Err(format!("{backend} was restarted {count} times within a minute")),
            _ => Ok(()),
        }
    }

    /// After a tick: fails if a request is overdue. If ticks are late, so is everything else.
    pub(super) fn check_overdue(&mut self) -> Check {
        if !self.ticks_on_time {
            return Ok(());
        }
        let watched = std::mem::take(&mut self.own.watched);
        let mut still = Vec::with_capacity(watched.len());
        for number in watched {
            if self.is_over(number) {
                continue;
            }
            let numbers = self.ledger.account_of(number).requests.clone();
            let batch = self.ledger.requests[number].batch;
            // The answers of a batch wait for the last of them.
            if batch.is_none() && numbers.iter().all(|&n| self.is_overdue(n)) {
                let request = &self.ledger.requests[number];
                let (client, id, name) = (request.client, &request.id, request.rule.name);
                return Err(format!("{client}'s {name} with id {id} has no answer after {:?}", request.sent));
            }
            still.push(number);
        }
        self.own.watched = still;
        Ok(())
    }

    /// Whether no client waits for an answer to this request.
    pub(super) fn is_over(&mut self, number: usize) -> bool {
        let request = &self.ledger.requests[number];
        request.is_answered || self.is_lost(request.client) || self.ledger.account_of(number).due() == 0
    }

    /// Whether a client waits for this request, and its id is unique.
    fn waits_alone(&mut self, number: usize) -> bool {
        !self.is_over(number) && self.ledger.account_of(number).requests.len() == 1
    }

    fn is_overdue(&self, number: usize) -> bool {
        self.ledger.requests[number].is_answered
            || self.latest_answer(number).is_some_and(|latest| latest <= self.now)
    }

    /// Latest time for the answer to a request: it may wait for a start, be sent, wait again
    /// after a crash and be sent again, each within its own time limit.
    pub(super) fn latest_answer(&self, number: usize) -> Option<Moment> {
        let (request, server) = (&self.ledger.requests[number], &self.settings.servers[0]);
        let start = server.start_timeout * 2;
        let (sent, touched) = (request.sent.max(self.told_since), request.touched.max(self.told_since));
        let hard = server.hard_timeout.map(|hard| sent + hard);
        let soft = match request.rule.name {
            "tasks/result" => None,
            "shutdown" => Some(sent + self.settings.shutdown_grace),
            // Only progress extends the time: `touched`.
            _ => Some(touched + (start + server.timeout.max(server.start_timeout)) * 2),
        };
        match (request.rule.name, hard, soft) {
            // A handshake may be sent a second time in the other framing; a farewell is answered by Switchboard.
            ("initialize" | "shutdown", _, soft) => soft,
            (_, Some(hard), Some(soft)) => Some(hard.min(soft)),
            (_, hard, soft) => hard.or(soft),
        }
    }

    /// A process is gone: its requests are answered, or wait to be sent once more.
    pub(super) fn check_after_end(&mut self, launch: Launch) -> Check {
        let was_stopped = self.processes[&launch].is_stopping;
        let retries = self.settings.servers[0].retry_after_crash == RetryAfterCrash::Safe;
        for number in self.own.watched.clone() {
            let request = &self.ledger.requests[number];
            let was_here = request.handed.last() == Some(&launch);
            let may_wait = (retries && request.rule.is_repeatable && request.handed.len() == 1)
                || (request.rule.name == "initialize" && was_stopped)
                || request.batch.is_some();
            let (client, name, id) = (request.client, request.rule.name, request.id.clone());
            if was_here && !may_wait && self.waits_alone(number) {
                return Err(format!("{launch} ended, and {client}'s {name} with id {id} was not answered"));
            }
        }
        Ok(())
    }

    /// Fails if a request waits for a process that is not coming.
    pub(super) fn check_hope(&mut self) -> Check {
        let served: BTreeSet<ClientId> = self.alive().filter_map(|launch| self.home(launch)).collect();
        let is_without =
            |c: &&Client<ConnectionClient>| c.backend.awaited.is_empty() && !served.contains(&c.id);
        let without: Vec<ClientId> = self.clients.values().filter(is_without).map(|c| c.id).collect();
        if without.is_empty() {
            return Ok(());
        }
        for number in self.own.watched.clone() {
            let request = &self.ledger.requests[number];
            let (client, name) = (request.client, request.rule.name);
            let is_clear = request.batch.is_none() && name != "shutdown";
            if is_clear && without.contains(&client) && self.waits_alone(number) {
                return Err(format!("{client}'s {name} waits for a process, and none is coming"));
            }
        }
        Ok(())
    }

    /// Fails unless the unread messages of a client stay within its budget, and our errors are few and small.
    pub(super) fn check_client_outbox(&self, client: ClientId) -> Check {
        let Some(c) = self.clients.get(&client) else { return Ok(()) };
        let limits = &self.settings.limits;
        // While a batch is assembled, notifications still have their half. An empty outbox takes any message.
        let single = c.unread.largest;
        let most = limits.client_bytes.max(single) + (limits.client_bytes / 2).max(single);
        let errors = limits.pending_per_client.saturating_add(2 * MOST_MEMBERS) * ERROR_BYTES;
        check_outbox(client, &c.unread, most, 2 * limits.client_bytes + single + errors)
    }

    pub(super) fn check_backend_outbox(&self, launch: Launch) -> Check {
        let Some(Backend { unread, .. }) = self.processes.get(&launch).map(|p| &p.own) else { return Ok(()) };
        let limits = &self.settings.limits;
        // A replayed handshake precedes the messages that waited for it, and `jsonrpc` may have been added to each.
        let most = limits.backend_bytes + 2 * unread.largest + 20 * unread.len();
        let errors = limits.asked_per_backend.saturating_add(4) * ERROR_BYTES;
        check_outbox(launch, unread, most, 2 * limits.backend_bytes + unread.largest + errors)
    }

    /// Answers owed to a client, apart from the members of batches.
    fn owed(&self, client: ClientId) -> usize {
        let alone = (client, None, String::new())..(client, Some(0), String::new());
        self.ledger.accounts.range(alone).map(|(_, account)| account.due()).sum()
    }

    /// Upper bound of the answers owed: for an id that was used twice, the cancelled request is ambiguous.
    fn perhaps_owed(&self, account: &Account) -> usize {
        match account.requests[..] {
            [only] if self.ledger.requests[only].is_cancelled && account.owed == 1 => 0,
            _ => account.open(),
        }
    }

    /// A limit excuses a refusal only when it is reached.
    pub(super) fn check_excuse(&self, client: ClientId, message: &Message) -> Check {
        let text = String::from_utf8_lossy(message.bytes());
        let limits = &self.settings.limits;
        let waits_for_batch =
            self.own.batches.iter().any(|batch| batch.client == client && !batch.is_answered);
        let unread = self.clients.get(&client).map_or(0, |c| c.unread.bytes);
        let holds = if text.contains("requests are still unanswered") {
            let alone = (client, None, String::new())..(client, Some(0), String::new());
            let open: usize =
                self.ledger.accounts.range(alone).map(|(_, account)| self.perhaps_owed(account)).sum();
            open >= limits.pending_per_client || waits_for_batch
        } else if text.contains("client_too_slow") {
            unread > 0 || waits_for_batch
        } else if text.contains("the server does not read") {
            let own = self.launches_of(client);
            own.iter().any(|launch| self.processes[launch].unread.bytes > 0)
        } else {
            true
        };
        if holds { Ok(()) } else { Err(format!("{client} is told what is not true: {text}")) }
    }

    /// After the order to end: if no request is open, every process must be told to stop.
    pub(super) fn check_drained(&self) -> Check {
        let is_owed = |((client, _, _), account): (&Key, &Account)| {
            self.perhaps_owed(account) > 0 && !self.is_lost(*client)
        };
        if self.ledger.accounts.iter().any(is_owed) {
            return Ok(());
        }
        match self.alive().find(|launch| self.processes[launch].is_staying()) {
            Some(launch) => Err(format!("nobody waits for anything, and {launch} is not told to stop")),
            None => Ok(()),
        }
    }

    /// Fails if a client has more open requests than allowed.
    pub(super) fn check_pending(&self, client: ClientId) -> Check {
        let most = self.settings.limits.pending_per_client + 1;
        let open = self.owed(client);
        if open > most && !self.is_lost(client) {
            return Err(format!("{client} has {open} requests open, more than {most}"));
        }
        Ok(())
    }

    /// The final check: no answer is owed, no process runs.
    pub(super) fn check_end(&mut self) -> Check {
        for ((client, batch, id), account) in &self.ledger.accounts {
            if account.due() > 0 && !self.is_lost(*client) {
                let within = batch.map_or(String::new(), |batch| format!(" of batch {batch}"));
                return Err(format!("{client} was never answered: id {id}{within}, {account:?}"));
            }
        }
        for (client, c) in &self.clients {
            let as_promised = match c.presence {
                Presence::Lost => c.lines <= c.requests,
                Presence::Here | Presence::Ended => c.lines == c.requests,
            };
            if !as_promised {
                return Err(format!("{client} sent {} requests, but {} were reported", c.requests, c.lines));
            }
            // Also of clients that left: what became of their calls is recorded.
            let records = if self.settings.audit.clients == AuditedClients::All { c.calls } else { 0 };
            if c.records != records {
                return Err(format!("{client} made {} calls, and {} were recorded", c.calls, c.records));
            }
        }
        Ok(())
    }

    /// Lets time pass for the longest time that a request may take.
    pub(super) fn settle(&mut self) -> Check {
        let latest = self.own.watched.iter().filter_map(|number| self.latest_answer(*number)).max();
        let Some(latest) = latest.filter(|latest| *latest > self.now) else { return Ok(()) };
        self.tell(|| "time passes until everything must be answered".into());
        self.advance(latest.since(self.now) + Duration::from_millis(1))?;
        self.tick()
    }
}

/// Fails if messages of others take more than `most` bytes, or all messages more than `most_of_all`.
fn check_outbox<T>(of: impl Display, unread: &Unread<T>, most: usize, most_of_all: usize) -> Check {
    let (bytes, others) = (unread.bytes, unread.bytes - unread.small_bytes);
    match (others > most, bytes > most_of_all) {
        (true, _) => Err(format!("{others} bytes of messages wait for {of}, more than {most}")),
        (false, true) => Err(format!("{bytes} bytes wait for {of}, more than {most_of_all}")),
        (false, false) => Ok(()),
    }
}

//! Clients: they connect, read or do not, and leave. Their messages are in `client_talk`.

use super::ConnectionWorld;
use super::post::{Post, Unread};
use crate::simulator::engine::{Check, Client, ClientAct, Presence, environment};
use std::collections::{BTreeMap, BTreeSet};
use switchboard_core::{BackendId, ClientId, Event, Launch, Moment, Peer, ServerId, Settings, Surroundings};
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Dialect, Framing};

/// Whether a client sends `jsonrpc`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SentDialect {
    #[default]
    Standard,
    Bare,
    Mixed,
}

/// An unread message of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnreadMessage {
    /// A request of a server, which may or may not be answered.
    Ask(usize),
    Other,
}

/// The server of one client: the common properties of its processes.
#[derive(Debug, Default)]
pub(super) struct Home {
    pub(super) is_bare: bool,
    /// The framing that it understands.
    pub(super) framing: Option<Framing>,
    /// Restarts of each backend within the last minute.
    pub(super) restarts: BTreeMap<BackendId, Vec<Moment>>,
    /// The next start does not count: an earlier one was impossible, the other framing is tried, or the owner ordered it.
    pub(super) is_free: bool,
    /// Whether it has answered a client's handshake.
    pub(super) has_greeted: bool,
    /// Number of messages written when it did.
    pub(super) greeted_from: usize,
    /// Backends that Switchboard has greeted itself, for a client that had made no handshake.
    pub(super) plain: BTreeSet<BackendId>,
    /// Number of the client's last `initialize` among all messages.
    pub(super) asked_at: usize,
    /// Backends that will be restarted.
    pub(super) awaited: BTreeSet<BackendId>,
    /// Backends that crashed too often: the next process is a trial, and one more crash is enough.
    pub(super) on_trial: BTreeSet<BackendId>,
}

#[derive(Debug, Default)]
pub(crate) struct ConnectionClient {
    pub(super) sent_dialect: SentDialect,
    has_spoken: bool,
    has_spoken_standard: bool,
    /// Whether the current frame has something before the first word that shows the dialect.
    pub(super) is_unclear: bool,
    is_reading: bool,
    /// Whether it reads everything at once, as long as it reads.
    is_eager: bool,
    pub(super) unread: Unread<UnreadMessage>,
    pub(super) used_ids: Vec<String>,
    /// Questions of servers that were read and not answered, and answered ones.
    pub(super) asks: Vec<usize>,
    pub(super) answered_asks: Vec<usize>,
    pub(super) initializes: usize,
    /// Number of handshakes sent when one was answered.
    pub(super) greeted_at: usize,
    /// Whether it may have been greeted by Switchboard, since it has sent requests before its handshake.
    pub(super) is_plain: bool,
    /// Whether `initialized` followed the last handshake.
    pub(super) has_confirmed: bool,
    /// Whether two handshakes may have been open at once: then it is unclear which one `initialized` confirms.
    pub(super) is_confusing: bool,
    /// Newest message handed to a backend; messages that wait for their turn, which others may overtake, are separate.
    pub(super) lanes: BTreeMap<(BackendId, bool), usize>,
    /// Requests that it sent, and the log lines about them.
    pub(super) requests: usize,
    pub(super) lines: usize,
    /// Calls among them, and the records of the audit about them.
    pub(super) calls: usize,
    pub(super) records: usize,
    pub(super) backend: Home,
}

impl ConnectionClient {
    /// The dialect of answers to this client; `None` if both are right.
    pub(super) fn dialect(&self, settings: &Settings) -> Option<Dialect> {
        match settings.dialect {
            LearntDialect::Fixed(dialect) => Some(dialect),
            _ if self.is_unclear => None,
            _ if self.has_spoken && !self.has_spoken_standard => Some(Dialect::Bare),
            _ => Some(Dialect::Standard),
        }
    }

    /// Records the dialect of its next message. `after_noise`: text that is no message precedes it.
    pub(super) fn speaks(&mut self, is_bare: bool, after_noise: bool) {
        self.is_unclear = after_noise && (!self.has_spoken || (!is_bare && !self.has_spoken_standard));
        self.has_spoken = true;
        self.has_spoken_standard |= !is_bare;
    }
}

const ACTS: &[(usize, ClientAct<Post>)] = &[
    (420, ConnectionWorld::client_requests),
    (60, ConnectionWorld::client_sends_batch),
    (4, ConnectionWorld::client_initializes),
    (40, ConnectionWorld::client_confirms),
    (50, ConnectionWorld::client_notifies),
    (80, ConnectionWorld::client_cancels),
    (40, ConnectionWorld::client_sends_garbage),
    (20, ConnectionWorld::client_sends_too_long),
    (110, ConnectionWorld::client_answers),
    (20, ConnectionWorld::client_answers_again),
    (15, ConnectionWorld::client_answers_nobody),
    (25, ConnectionWorld::client_progresses),
    (3, ConnectionWorld::client_ends_input),
    (1, ConnectionWorld::client_says_farewell),
    (1, ConnectionWorld::client_exits),
];
/// Acts of a client that does not read.
const SILENT_ACTS: &[(usize, ClientAct<Post>)] = &[
    (80, ConnectionWorld::client_reads),
    (20, ConnectionWorld::client_toggles_reading),
    (3, ConnectionWorld::client_vanishes),
];
/// Frames that a lost client had sent before may still arrive.
const LATE_ACTS: &[(usize, ClientAct<Post>)] = &[
    (1, ConnectionWorld::client_requests),
    (1, ConnectionWorld::client_sends_batch),
    (1, ConnectionWorld::client_sends_garbage),
    (1, ConnectionWorld::client_sends_too_long),
];

impl ConnectionWorld {
    pub(super) fn connect(&mut self) -> Check {
        let framing = self.some_framing();
        let sent_dialect = self.rng.weighted(&[
            (70, SentDialect::Standard),
            (20, SentDialect::Bare),
            (10, SentDialect::Mixed),
        ]);
        self.stats.count_if("bare_clients", sent_dialect == SentDialect::Bare);
        let server = Home { is_bare: self.rng.percent(15), framing: Some(framing), ..Home::default() };
        let is_eager = self.rng.percent(70);
        let fresh = ConnectionClient {
            sent_dialect,
            is_reading: true,
            is_eager,
            backend: server,
            ..Default::default()
        };
        let client = self.add_client(Some(0), 0, fresh);
        // Names the client, so that a start shows its client.
        let environment = environment(client.0 << 8);
        let surroundings = Surroundings { environment, ..Surroundings::default() };
        self.handle(Event::ClientConnected { client, server: ServerId(0), surroundings })
    }

    /// The client of a backend.
    pub(super) fn client_of(&self, backend: BackendId) -> Option<ClientId> {
        let (launch, first) = self.processes.range(Launch { backend, number: 0 }..).next()?;
        (launch.backend == backend).then_some(ClientId(first.environment >> 8))
    }

    pub(super) fn home(&self, launch: Launch) -> Option<ClientId> {
        self.client_of(launch.backend)
    }

    pub(super) fn server_of(&mut self, backend: BackendId) -> &mut Home {
        let client = self.client_of(backend).expect("a backend that was started");
        &mut self.client(client).own.backend
    }

    /// Whether a client may have left this backend, which was to get our handshake, for one that gets the client's.
    pub(super) fn is_left(&self, launch: Launch) -> bool {
        let client = self.home(launch).map(|client| &self.clients[&client]);
        client.is_some_and(|c| c.is_plain && c.backend.asked_at > 0)
    }

    pub(super) fn server(&mut self, launch: Launch) -> &mut Home {
        self.server_of(launch.backend)
    }

    /// The processes of a connected client: one, or two if the client has made its handshake late.
    pub(super) fn launches_of(&self, client: ClientId) -> Vec<Launch> {
        self.alive().filter(|launch| self.home(*launch) == Some(client)).collect()
    }

    pub(super) fn client_acts(&mut self) -> Check {
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        let Some(client) = self.rng.choose(&clients) else { return Ok(()) };
        match self.clients[&client].presence {
            Presence::Ended => return self.client_reads(client),
            Presence::Here if self.rng.percent(10) => return self.rng.weighted(SILENT_ACTS)(self, client),
            Presence::Here | Presence::Lost => {}
        }
        if self.core.is_clogged(Peer::Client(client)) {
            // A clogged client is not read from until it has caught up.
            self.stats.count("clogged_clients");
            return Ok(());
        }
        let presence = self.clients[&client].presence;
        let act: ClientAct<Post> = match presence {
            Presence::Lost => self.rng.weighted(LATE_ACTS),
            _ if self.wants_greeting(client) && self.rng.percent(75) => Self::client_initializes,
            _ => self.rng.weighted(ACTS),
        };
        act(self, client)?;
        self.check_pending(client)
    }

    /// Whether a client is not greeted yet, and does not wait for the greeting.
    fn wants_greeting(&mut self, client: ClientId) -> bool {
        let is_initialize = |number: &usize| {
            let request = &self.ledger.requests[*number];
            request.client == client && request.rule.name == "initialize"
        };
        let initializes: Vec<usize> = self.own.watched.iter().copied().filter(is_initialize).collect();
        !self.clients[&client].backend.has_greeted
            && !initializes.into_iter().any(|number| !self.is_over(number))
    }

    pub(super) fn client_reads(&mut self, client: ClientId) -> Check {
        let most = self.rng.within(1..=10);
        let c = self.client(client);
        if !c.is_reading {
            return Ok(());
        }
        let (unread, bytes) = c.unread.take(most);
        c.asks.extend(unread.into_iter().filter_map(|message| match message {
            UnreadMessage::Ask(ask) => Some(ask),
            UnreadMessage::Other => None,
        }));
        match bytes {
            0 => Ok(()),
            bytes => self.handle(Event::Flushed { peer: Peer::Client(client), bytes }),
        }
    }

    fn client_toggles_reading(&mut self, client: ClientId) -> Check {
        let c = self.client(client);
        c.is_reading = !c.is_reading;
        Ok(())
    }

    pub(super) fn eager_clients_read(&mut self) -> Check {
        let reads = |c: &&Client<ConnectionClient>| c.is_eager && c.is_reading;
        for client in self.clients.values().filter(reads).map(|c| c.id).collect::<Vec<_>>() {
            while self.clients[&client].unread.len() > 0 {
                self.client_reads(client)?;
            }
        }
        Ok(())
    }

    pub(super) fn owner_acts(&mut self) -> Check {
        let is_reload = self.owner.is_removed(0) || self.rng.percent(25);
        for c in self.clients.values_mut() {
            // Earlier crashes are forgiven, and the owner's starts do not count.
            let home = &mut c.own.backend;
            home.on_trial.clear();
            home.is_free = true;
            // An order does not start a backend that its client has left, but its requests are still answered.
            let may_be_left = c.own.is_plain;
            home.awaited.retain(|_| is_reload || may_be_left);
            home.restarts.clear();
        }
        let is_removed = !self.owner.is_removed(0) && self.rng.percent(25);
        if is_reload { self.reload(0, is_removed) } else { self.some_order(0, None) }
    }

    /// Writes off the answers of a client that can no longer give any.
    pub(super) fn check_asks_settled(&self, client: ClientId) -> Check {
        // A process that is being stopped need not be told.
        let mut launches = self.launches_of(client);
        launches.retain(|launch| self.processes[launch].is_staying());
        let waits = |ask: &&super::post::Asked| {
            launches.contains(&ask.launch) && ask.answers == 0 && !ask.is_cancelled && !ask.is_withdrawn
        };
        match self.own.asks.iter().find(waits) {
            Some(ask) => {
                Err(format!("{client} is gone, and {} waits for an answer to {}", ask.launch, ask.id))
            }
            None => Ok(()),
        }
    }
}

//! The clients: they come, read or do not, and go. What they say is in `client_talk`.

use super::ledger::{Check, Request};
use super::outbox::Outbox;
use super::world::{Server, World};
use switchboard_core::{BackendId, ClientId, Event, FramingChoice, Peer, ServerId, Settings, Surroundings};
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Dialect, Framing};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Here,
    /// It sends nothing more, but reads.
    Ended,
    Lost,
}

/// Whether a client sends `jsonrpc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Standard,
    Bare,
    Mixed,
}

/// Something in a client's outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letter {
    /// A server's request, to be answered or not.
    Ask(usize),
    Other,
}

#[derive(Debug)]
pub(super) struct Client {
    pub(super) presence: Presence,
    pub(super) manner: Manner,
    has_spoken: bool,
    has_spoken_standard: bool,
    /// A frame is being handled in which something stands before the first word that tells the dialect.
    pub(super) is_unclear: bool,
    is_reading: bool,
    /// Reads at once whatever comes, as long as it reads.
    is_eager: bool,
    pub(super) outbox: Outbox<Letter>,
    pub(super) next_id: usize,
    pub(super) used_ids: Vec<String>,
    /// What servers asked, read and not answered, and answered.
    pub(super) asks: Vec<usize>,
    pub(super) answered_asks: Vec<usize>,
    pub(super) initializes: usize,
    /// So many of them were sent when one was answered.
    pub(super) greeted_at: usize,
    /// It has sent `initialized` since the last of them.
    pub(super) has_confirmed: bool,
    /// It may have had two of them on their way at once: which one `initialized` confirms is unclear.
    pub(super) is_confusing: bool,
    /// The newest parcel that its backend was given.
    pub(super) last_handed: usize,
    /// The last of those that wait their turn, which others may overtake.
    pub(super) last_in_turn: usize,
    /// Requests that it sent, and the lines about them.
    pub(super) requests: usize,
    pub(super) lines: usize,
}

impl Client {
    /// The dialect in which it must be answered, or `None` if either is right.
    pub(super) fn dialect(&self, settings: &Settings) -> Option<Dialect> {
        match settings.dialect {
            LearntDialect::Fixed(dialect) => Some(dialect),
            _ if self.is_unclear => None,
            _ if self.has_spoken && !self.has_spoken_standard => Some(Dialect::Bare),
            _ => Some(Dialect::Standard),
        }
    }

    /// Its next words are in this dialect. `after_noise`: something that is no message comes before them.
    pub(super) fn speaks(&mut self, is_bare: bool, after_noise: bool) {
        self.is_unclear = after_noise && (!self.has_spoken || (!is_bare && !self.has_spoken_standard));
        self.has_spoken = true;
        self.has_spoken_standard |= !is_bare;
    }
}

/// What a client does next.
#[derive(Debug, Clone, Copy)]
enum Act {
    Request,
    Batch,
    Initialize,
    Confirm,
    Notify,
    Cancel,
    Garbage,
    TooLong,
    AnswerAsk,
    AnswerAgain,
    AnswerNobody,
    Progress,
    Read,
    ToggleReading,
    EndInput,
    Vanish,
    Shutdown,
    Exit,
}

const ACTS: &[(usize, Act)] = &[
    (420, Act::Request),
    (60, Act::Batch),
    (4, Act::Initialize),
    (40, Act::Confirm),
    (50, Act::Notify),
    (80, Act::Cancel),
    (40, Act::Garbage),
    (20, Act::TooLong),
    (110, Act::AnswerAsk),
    (20, Act::AnswerAgain),
    (15, Act::AnswerNobody),
    (25, Act::Progress),
    (80, Act::Read),
    (20, Act::ToggleReading),
    (3, Act::EndInput),
    (3, Act::Vanish),
    (1, Act::Shutdown),
    (1, Act::Exit),
];

impl World {
    pub(super) fn connect(&mut self) -> Check {
        let number = self.clients.len() as u32 + 1;
        let (client, backend) = (ClientId(number), BackendId(number));
        let framing = match self.plan.settings.servers[0].framing {
            FramingChoice::Fixed(framing) => framing,
            FramingChoice::Try | FramingChoice::Doubt if self.rng.percent(75) => Framing::Newline,
            FramingChoice::Try | FramingChoice::Doubt => Framing::ContentLength,
        };
        let server = Server {
            client,
            is_bare: self.rng.percent(15),
            framing,
            restarts: Vec::new(),
            is_free: false,
            has_greeted: false,
            is_awaited: false,
            is_on_trial: false,
        };
        self.servers.insert(backend, server);
        let manner = self.rng.weighted(&[(70, Manner::Standard), (20, Manner::Bare), (10, Manner::Mixed)]);
        self.stats.bare_clients += u64::from(manner == Manner::Bare);
        let fresh = Client {
            presence: Presence::Here,
            manner,
            has_spoken: false,
            has_spoken_standard: false,
            is_unclear: false,
            is_reading: true,
            is_eager: self.rng.percent(70),
            outbox: Outbox::default(),
            next_id: 0,
            used_ids: Vec::new(),
            asks: Vec::new(),
            answered_asks: Vec::new(),
            initializes: 0,
            greeted_at: 0,
            has_confirmed: false,
            is_confusing: false,
            last_handed: 0,
            last_in_turn: 0,
            requests: 0,
            lines: 0,
        };
        self.clients.insert(client, fresh);
        self.stats.clients += 1;
        self.note(|| format!("{client} connects"));
        self.handle(Event::ClientConnected {
            client,
            server: ServerId(0),
            surroundings: Surroundings::default(),
        })
    }

    /// A client that exists.
    pub(super) fn client(&mut self, client: ClientId) -> &mut Client {
        self.clients.get_mut(&client).expect("a client that connected")
    }

    pub(super) fn client_acts(&mut self) -> Check {
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        let client = *self.rng.pick(&clients);
        let presence = self.client(client).presence;
        let act = match presence {
            // What it had sent before may still be on its way.
            Presence::Lost => *self.rng.pick(&[Act::Request, Act::Batch, Act::Garbage, Act::TooLong]),
            Presence::Ended => Act::Read,
            Presence::Here if self.wants_greeting(client) && self.rng.percent(75) => Act::Initialize,
            Presence::Here => self.rng.weighted(ACTS),
        };
        let acts_alone = matches!(act, Act::Read | Act::ToggleReading | Act::Vanish);
        if !acts_alone && self.core.is_clogged(Peer::Client(client)) {
            // Nobody listens to it until it has read.
            self.stats.clogged_clients += 1;
            return Ok(());
        }
        match act {
            Act::Request => self.client_requests(client)?,
            Act::Batch => self.client_sends_batch(client)?,
            Act::Initialize => self.client_initializes(client)?,
            Act::Confirm => self.client_confirms(client)?,
            Act::Notify => self.client_notifies(client)?,
            Act::Cancel => self.client_cancels(client)?,
            Act::Garbage => self.client_sends_garbage(client)?,
            Act::TooLong => self.client_sends_too_long(client)?,
            Act::AnswerAsk => self.client_answers(client)?,
            Act::AnswerAgain => self.client_answers_again(client)?,
            Act::AnswerNobody => self.client_answers_nobody(client)?,
            Act::Progress => self.client_progresses(client)?,
            Act::Read => self.client_reads(client)?,
            Act::ToggleReading => {
                let c = self.client(client);
                c.is_reading = !c.is_reading;
            }
            Act::EndInput => self.client_ends_input(client)?,
            Act::Vanish => self.client_vanishes(client)?,
            Act::Shutdown => self.client_says_farewell(client)?,
            Act::Exit => self.client_exits(client)?,
        }
        self.check_pending(client)
    }

    /// Nobody has greeted it yet, and it is not waiting for that.
    fn wants_greeting(&mut self, client: ClientId) -> bool {
        let is_initialize = |request: &Request| request.client == client && request.verb.name == "initialize";
        !self.server(BackendId(client.0)).has_greeted
            && !self
                .ledger
                .watched
                .clone()
                .into_iter()
                .any(|number| is_initialize(&self.ledger.requests[number]) && !self.is_over(number))
    }

    pub(super) fn client_reads(&mut self, client: ClientId) -> Check {
        let most = self.rng.within(1..=10);
        let c = self.client(client);
        if !c.is_reading {
            return Ok(());
        }
        let mut bytes = 0;
        for _ in 0..most {
            let Some((letter, length)) = c.outbox.take() else { break };
            bytes += length;
            if let Letter::Ask(ask) = letter {
                c.asks.push(ask);
            }
        }
        if bytes == 0 {
            return Ok(());
        }
        self.note(|| format!("{client} reads {bytes} bytes"));
        self.handle(Event::Flushed { peer: Peer::Client(client), bytes })
    }

    /// Whoever reads at once has read.
    pub(super) fn eager_clients_read(&mut self) -> Check {
        let eager = |c: &Client| c.is_eager && c.is_reading && c.outbox.len() > 0;
        let clients: Vec<ClientId> =
            self.clients.iter().filter(|(_, c)| eager(c)).map(|(&id, _)| id).collect();
        for client in clients {
            while self.client(client).outbox.len() > 0 {
                self.client_reads(client)?;
            }
        }
        Ok(())
    }

    pub(super) fn client_ends_input(&mut self, client: ClientId) -> Check {
        if self.client(client).presence != Presence::Here {
            return Ok(());
        }
        self.client(client).presence = Presence::Ended;
        self.stats.clients_ended += 1;
        self.note(|| format!("{client} ends its input"));
        self.handle(Event::ClientInputEnded { client })?;
        self.check_asks_settled(client)
    }

    pub(super) fn client_vanishes(&mut self, client: ClientId) -> Check {
        let c = self.client(client);
        if c.presence == Presence::Lost {
            return Ok(());
        }
        c.presence = Presence::Lost;
        c.outbox.clear();
        self.stats.clients_lost += 1;
        self.note(|| format!("{client} is lost"));
        self.handle(Event::ClientLost { client })?;
        self.check_asks_settled(client)
    }

    /// A client that can no longer answer owes nothing to any server.
    fn check_asks_settled(&self, client: ClientId) -> Check {
        let launch = self.alive.get(&BackendId(client.0));
        // One that is being stopped need not know.
        let Some(launch) = launch.filter(|launch| self.processes[launch].ends.is_none()) else {
            return Ok(());
        };
        for ask in self.ledger.asks.iter().filter(|ask| ask.launch == *launch) {
            if ask.answers == 0 && !ask.is_cancelled && !ask.is_withdrawn {
                return Err(format!("{client} is gone, and {launch} waits for an answer to {}", ask.id));
            }
        }
        Ok(())
    }
}

//! A backend: the life of its process, and what waits for it. See `LIFECYCLE.md` beside this file.

use crate::backends::{BackendKey, BackendState, FramingGuess, ListFetch, Probe, Queued, Users};
use crate::catalogue::Offer;
use crate::clients::Greeting;
use crate::environment::Environment;
use crate::ids::{BackendId, ClientId, Launch, ServerId};
use crate::moment::Moment;
use crate::settings::ServerSettings;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use switchboard_protocol::dialect::Ear;
use switchboard_protocol::{Framing, Message, RawId};

/// What a backend knows of its clients' workspaces.
#[derive(Debug, Default)]
pub(crate) struct RootsTold {
    /// The answer to `roots/list` that it got, or that its users would give: others do not share it.
    pub(crate) roots: Option<Arc<str>>,
    /// Its questions that wait for its clients' answers.
    pub(crate) waiting: Vec<RawId>,
}

impl RootsTold {
    /// The present process has asked for its roots, or is bound to them.
    pub(crate) fn matters(&self) -> bool {
        self.roots.is_some() || !self.waiting.is_empty()
    }
}

/// A request to run on after its answer.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) id: Vec<u8>,
    pub(crate) client: ClientId,
    /// It is taken for dead by then.
    pub(crate) until: Moment,
}

/// A resource that clients want to hear of.
#[derive(Debug)]
pub(crate) struct Subscription {
    /// A JSON string, as `same_spelling` gives it.
    pub(crate) uri: Vec<u8>,
    pub(crate) clients: Vec<ClientId>,
}

#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) id: BackendId,
    pub(crate) server: ServerId,
    pub(crate) settings: Arc<ServerSettings>,
    pub(crate) key: BackendKey,
    /// The variables of its process, or of the one that is started next.
    pub(crate) environment: Environment,
    pub(crate) state: BackendState,
    /// What its processes hear first.
    pub(crate) greeting: Option<Greeting>,
    /// Who made that handshake.
    pub(crate) greeted_by: Option<ClientId>,
    /// What the server answered to it; further clients get the same.
    pub(crate) welcome: Option<Message>,
    /// The handshake that a client is making itself: our id for it, and what it said.
    pub(crate) greeter: Option<(u64, Message)>,
    /// Handshakes of others, which wait for the answer to that one.
    pub(crate) greeted_later: VecDeque<u64>,
    /// The present process has been told `initialized`.
    pub(crate) is_initialized: bool,
    /// Whose words those were. It may repeat them; others need not say the same.
    pub(crate) initialized_by: Option<ClientId>,
    /// Who said so before its handshake was answered, and was passed on.
    pub(crate) early: Option<ClientId>,
    /// What it offers, as far as anybody wanted to know.
    pub(crate) offer: Option<Arc<Offer>>,
    /// A list of it could not be had. It is forgotten with the process.
    pub(crate) is_offer_partial: bool,
    /// It is being asked for that.
    pub(crate) fetch: Option<ListFetch>,
    pub(crate) fetches: u32,
    pub(crate) told: RootsTold,
    pub(crate) subscriptions: Vec<Subscription>,
    pub(crate) tasks: Vec<Task>,
    /// The log level that it was told.
    pub(crate) level: Option<Vec<u8>>,
    /// Why nobody joins it any more: its settings have changed, or its clients are separated. `None` while it may be joined.
    pub(crate) retired: Option<&'static str>,
    pub(crate) pid: Option<u32>,
    /// What its processes held at the last look.
    pub(crate) memory: Option<u64>,
    /// Requests of clients that were answered, and those that failed.
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    /// When it was last of use.
    pub(crate) last_used: Moment,
    /// When it is to be asked for a sign of life.
    pub(crate) check_at: Option<Moment>,
    /// It holds more memory than it may, and was so at the last look.
    pub(crate) is_heavy: bool,
    /// The last process was stopped because nobody needed it.
    pub(crate) is_at_rest: bool,
    /// It is a daemon that ends, and takes nothing more. What comes waits for the next.
    pub(crate) turns_away: bool,
    /// A notification was written, and no request has been answered whose id is this or a later one: a word without an id may
    /// be about the notification.
    pub(crate) doubtful_from: Option<u64>,
    /// How many processes were started so far, and when the last was.
    pub(crate) launches: u32,
    pub(crate) launched_at: Moment,
    /// The present process was sent a request of a client. Others were started only to be asked for their lists.
    pub(crate) is_used: bool,
    /// Who has used the present process.
    pub(crate) users: Users,
    pub(crate) manner: FramingGuess,
    /// How the present process was spoken to.
    pub(crate) framing: Framing,
    /// The present process has said something on its stdout.
    pub(crate) heard: bool,
    /// It has answered something at least once.
    pub(crate) proven: bool,
    /// Started after the breaker was open, and has answered nothing yet.
    pub(crate) on_trial: bool,
    pub(crate) ear: Ear,
    pub(crate) waiting: VecDeque<Queued>,
    pub(crate) probe: Option<Probe>,
    /// When it crashed, within the last minute.
    pub(crate) crashes: VecDeque<Moment>,
    /// How often the breaker opened in a row.
    pub(crate) opened: u32,
    /// Bytes in its outbox.
    pub(crate) queued: usize,
    /// Requests that it works on, of those that take turns.
    pub(crate) at_work: usize,
    /// Lines on its stdout that were no messages: how many, and the last few, cut and redacted.
    pub(crate) noise: u64,
    pub(crate) quarantine: VecDeque<String>,
    pub(crate) late: u64,
    pub(crate) dropped: u64,
}

impl Backend {
    pub(crate) fn new(
        id: BackendId,
        server: ServerId,
        settings: Arc<ServerSettings>,
        manner: FramingGuess,
        (key, environment): (BackendKey, Environment),
        now: Moment,
    ) -> Self {
        Self {
            id,
            server,
            settings,
            key,
            environment,
            state: BackendState::Stopped,
            greeting: None,
            greeted_by: None,
            welcome: None,
            greeter: None,
            greeted_later: VecDeque::new(),
            is_initialized: false,
            initialized_by: None,
            early: None,
            offer: None,
            is_offer_partial: false,
            fetch: None,
            fetches: 0,
            told: RootsTold::default(),
            subscriptions: Vec::new(),
            tasks: Vec::new(),
            level: None,
            retired: None,
            pid: None,
            memory: None,
            requests: 0,
            errors: 0,
            last_used: now,
            check_at: None,
            is_heavy: false,
            is_at_rest: true,
            turns_away: false,
            doubtful_from: None,
            launches: 0,
            launched_at: now,
            is_used: false,
            users: Users::default(),
            manner,
            framing: manner.framing(),
            heard: false,
            proven: false,
            on_trial: false,
            ear: Ear::Open,
            waiting: VecDeque::new(),
            probe: None,
            crashes: VecDeque::new(),
            opened: 0,
            queued: 0,
            at_work: 0,
            noise: 0,
            quarantine: VecDeque::new(),
            late: 0,
            dropped: 0,
        }
    }

    pub(crate) fn id(&self) -> BackendId {
        self.id
    }

    pub(crate) fn server(&self) -> ServerId {
        self.server
    }

    /// The settings of its server, as they were when the backend was made.
    pub(crate) fn settings(&self) -> &Arc<ServerSettings> {
        &self.settings
    }

    /// A process exists, is being made, or is not gone yet.
    pub(crate) fn has_process(&self) -> bool {
        self.number().is_some()
    }

    /// The number of the process that exists or is being made.
    pub(crate) fn number(&self) -> Option<u32> {
        match self.state {
            BackendState::Starting { number, .. }
            | BackendState::Ready { number, .. }
            | BackendState::Stopping { number, .. } => Some(number),
            BackendState::Stopped | BackendState::Backoff { .. } | BackendState::Failed { .. } => None,
        }
    }

    /// Whether this is the process of now, and not a late word of an earlier one.
    pub(crate) fn is_current(&self, launch: Launch) -> bool {
        self.number() == Some(launch.number)
    }

    pub(crate) fn launch(&self) -> Option<Launch> {
        self.number().map(|number| Launch { backend: self.id, number })
    }

    /// When there must be a process, while there is none; and its number.
    pub(crate) fn spawn_by(&self, within: Duration) -> Option<(u32, Moment)> {
        match self.state {
            BackendState::Starting { number, since, is_spawned: false } => Some((number, since + within)),
            BackendState::Starting { .. }
            | BackendState::Stopped
            | BackendState::Ready { .. }
            | BackendState::Stopping { .. }
            | BackendState::Backoff { .. }
            | BackendState::Failed { .. } => None,
        }
    }

    /// Nobody joins it any more.
    pub(crate) fn is_retired(&self) -> bool {
        self.retired.is_some()
    }

    /// The URIs that a client has subscribed to.
    pub(crate) fn subscribed_by(&self, client: ClientId) -> Vec<Vec<u8>> {
        let own = self.subscriptions.iter().filter(|known| known.clients.contains(&client));
        own.map(|known| known.uri.clone()).collect()
    }

    /// Keeps a line that was no message.
    pub(crate) fn quarantine(&mut self, line: String) {
        const KEPT: usize = 16;
        self.noise += 1;
        if self.quarantine.len() == KEPT {
            self.quarantine.pop_front();
        }
        self.quarantine.push_back(line);
    }

    /// Its owner has seen to it: what went wrong before does not count.
    pub(crate) fn forgive(&mut self) {
        self.crashes.clear();
        self.opened = 0;
        self.on_trial = false;
    }

    /// Notes a crash, and forgets those that are more than a minute ago. A backend that had worked for longer
    /// than that starts with a clean slate.
    pub(crate) fn note_crash(&mut self, now: Moment) {
        const WINDOW: Duration = Duration::from_secs(60);
        if let BackendState::Ready { since, .. } = self.state
            && now.since(since) > WINDOW
        {
            self.opened = 0;
        }
        self.crashes.push_back(now);
        while self.crashes.front().is_some_and(|&first| now.since(first) > WINDOW) {
            self.crashes.pop_front();
        }
    }
}

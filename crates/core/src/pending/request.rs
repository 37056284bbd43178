//! Requests to a backend, from clients or from us.

use crate::catalogue::List;
use crate::ids::{BackendId, ClientId};
use crate::moment::Moment;
use std::borrow::Cow;
use switchboard_protocol::{Message, Method, RawId};

/// Who waits for the answer.
#[derive(Debug, Clone)]
pub(crate) enum Asker {
    /// A client, with the id as it spelled it.
    Client { client: ClientId, id: RawId, batch: Option<u32> },
    /// We ourselves: the replayed handshake.
    Replay,
    /// We ourselves: a sign of life.
    Probe,
    /// We ourselves: what an earlier process had been told.
    Restore,
    /// We ourselves: a page of what it offers.
    Catalogue { list: List, round: u32 },
}

/// The backend of a request that could not be routed yet.
pub(crate) const NOWHERE: BackendId = BackendId(0);

/// How far a request has got.
#[derive(Debug)]
pub(crate) enum Progress {
    /// In the backend's queue, not written: may go to any process.
    Waiting(Message),
    /// Handed to the backend's outbox. What may be repeated after a crash is kept.
    Sent(Option<Message>),
    /// The client took it back; an answer that comes all the same is still passed on.
    Cancelled,
}

/// A request from us to a backend.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) asker: Asker,
    pub(crate) backend: BackendId,
    pub(crate) method: Method,
    pub(crate) name: Cow<'static, str>,
    pub(crate) progress: Progress,
    /// The task that it speaks of.
    pub(crate) task: Option<Vec<u8>>,
    /// The client's progress token; ours is the minted id.
    pub(crate) token: Option<RawId>,
    /// It runs as a task, whose progress may go on long after its answer.
    pub(crate) is_task: bool,
    pub(crate) retried: bool,
    /// Whether it may be sent depends on what its server lists: see `filters`.
    pub(crate) is_undecided: bool,
    /// The backend works on it, and on one fewer of the others.
    pub(crate) has_turn: bool,
    pub(crate) accepted: Moment,
    pub(crate) deadline: Moment,
    /// Progress moves the deadline, but not beyond this.
    pub(crate) latest: Option<Moment>,
}

impl Pending {
    /// What waits to be sent cannot have been answered: that would be the word of a process that is being
    /// stopped, and the next one will be asked.
    pub(crate) fn was_sent_to(&self, backend: BackendId) -> bool {
        self.backend == backend && !matches!(self.progress, Progress::Waiting(_))
    }

    /// The client that asked.
    pub(crate) fn client(&self) -> Option<ClientId> {
        match self.asker {
            Asker::Client { client, .. } => Some(client),
            Asker::Replay | Asker::Probe | Asker::Restore | Asker::Catalogue { .. } => None,
        }
    }

    /// What waits to be sent.
    pub(crate) fn waiting(&self) -> Option<&Message> {
        match &self.progress {
            Progress::Waiting(message) => Some(message),
            Progress::Sent(_) | Progress::Cancelled => None,
        }
    }

    /// What was sent, if it was kept.
    pub(crate) fn sent(&self) -> Option<&Message> {
        match &self.progress {
            Progress::Sent(message) => message.as_ref(),
            Progress::Waiting(_) | Progress::Cancelled => None,
        }
    }

    pub(crate) fn is_of(&self, client: ClientId) -> bool {
        matches!(self.asker, Asker::Client { client: owner, .. } if owner == client)
    }

    /// Someone waits for it to be answered.
    pub(crate) fn is_wanted(&self) -> bool {
        matches!(self.asker, Asker::Client { .. }) && !matches!(self.progress, Progress::Cancelled)
    }

    /// Gives it more time, never less: `Core::wake` is not told.
    pub(crate) fn go_on_until(&mut self, moment: Moment) {
        self.deadline = self.deadline.max(self.latest.map_or(moment, |latest| moment.min(latest)));
    }
}

/// The name of a message's method, without an allocation where it is a known one.
pub(crate) fn name_of(message: &Message) -> Cow<'static, str> {
    const LONGEST: usize = 80;
    match message.method().name() {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(message.method_name().chars().take(LONGEST).collect()),
    }
}

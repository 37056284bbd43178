//! Requests that have been accepted and not yet answered, in both directions.

use crate::catalogue::List;
use crate::event::{BackendId, ClientId, Launch};
use crate::moment::Moment;
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
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

/// A request to a client.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) client: ClientId,
    pub(crate) by: AskedBy,
    pub(crate) name: Cow<'static, str>,
    pub(crate) accepted: Moment,
    pub(crate) deadline: Option<Moment>,
}

#[derive(Debug)]
pub(crate) enum AskedBy {
    /// A process of a backend, under this id.
    Backend { launch: Launch, id: RawId },
    /// We ourselves, for its roots.
    Ourselves,
}

impl Asked {
    pub(crate) fn launch(&self) -> Option<Launch> {
        match self.by {
            AskedBy::Backend { launch, .. } => Some(launch),
            AskedBy::Ourselves => None,
        }
    }

    pub(crate) fn is_of(&self, backend: BackendId) -> bool {
        self.launch().is_some_and(|launch| launch.backend == backend)
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

/// Numbers that were minted, with what stands behind them.
#[derive(Debug)]
pub(crate) struct Table<T> {
    first: u64,
    next: u64,
    entries: HashMap<u64, T, BuildHasherDefault<Spread>>,
}

/// A hash for numbers that we minted ourselves: nobody can choose them to collide, so one multiplication is
/// enough to spread them.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl<T> Table<T> {
    pub(crate) fn new() -> Self {
        Self::starting_at(1)
    }

    pub(crate) fn starting_at(first: u64) -> Self {
        // Not 0: some servers take it for no id at all.
        let first = first.max(1);
        Self { first, next: first, entries: HashMap::default() }
    }

    pub(crate) fn mint(&mut self) -> u64 {
        let id = self.next;
        self.next += 1;
        id
    }

    /// The id that is given out next.
    pub(crate) fn next_id(&self) -> u64 {
        self.next
    }

    /// Whether an id was given out, whatever became of its entry.
    pub(crate) fn has_minted(&self, id: u64) -> bool {
        (self.first..self.next).contains(&id)
    }

    pub(crate) fn insert(&mut self, id: u64, entry: T) {
        self.entries.insert(id, entry);
    }

    pub(crate) fn get(&self, id: u64) -> Option<&T> {
        self.entries.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: u64) -> Option<&mut T> {
        self.entries.get_mut(&id)
    }

    pub(crate) fn remove(&mut self, id: u64) -> Option<T> {
        let entry = self.entries.remove(&id);
        // After a burst the table gives its memory back.
        if self.entries.is_empty() && self.entries.capacity() > 1024 {
            self.entries.shrink_to(64);
        }
        entry
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.entries.iter().map(|(&id, entry)| (id, entry))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.values_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The ids of the entries for which `pick` holds, in the order in which they were minted.
    pub(crate) fn ids(&self, mut pick: impl FnMut(&T) -> bool) -> Vec<u64> {
        let mut ids: Vec<u64> = self.iter().filter(|(_, entry)| pick(entry)).map(|(id, _)| id).collect();
        ids.sort_unstable();
        ids
    }
}

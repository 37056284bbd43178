//! The books of one client, kept where they outlive us. The reader enters what the client says before anybody acts upon
//! it; the outbox enters answers with the bytes that they consist of.

use super::books::{Asked, Books, Entry, Id, Open, Saying, encode};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use switchboard_process::handover::{Journal, Streams};
use switchboard_protocol::hunt::Glimpse;
use switchboard_protocol::{Answers, Broken, Framing, Kind, Message, Method, Outgoing, Parsed, Part, parse};
use tokio::sync::Notify;

/// A request that is longer is not repeated.
const SHORT: usize = 64 << 10;
/// What we say again is said under ids that begin with this. It tells most other ids from them at a glance, and no more:
/// ours are those that were minted and not answered.
const OURS: &[u8] = b"\"switchboard/again/";

pub(crate) struct Ledger {
    inner: Mutex<Inner>,
    taken: Arc<AtomicU64>,
    /// What the client says from now on is not taken: the next one reads it.
    leaves_the_rest: AtomicBool,
    changed: Notify,
}

struct Inner {
    journal: Journal,
    books: Books,
    state: State,
    /// The client has said `exit`.
    exits: bool,
    note: Vec<u8>,
    own: OwnIds,
}

/// The ids of what we say again ourselves.
struct OwnIds {
    /// A number that no client can know, so that none can choose one of these ids for itself.
    secret: u64,
    minted: usize,
    open: Vec<Id>,
    /// How many were answered. Nobody else has heard these answers.
    swallowed: usize,
}

impl OwnIds {
    fn new() -> Self {
        let secret = BuildHasher::hash_one(&RandomState::new(), 0);
        Self { secret, minted: 0, open: Vec::new(), swallowed: 0 }
    }

    fn mint(&mut self) -> Id {
        let id = [OURS, format!("{:016x}/{}\"", self.secret, self.minted).as_bytes()].concat();
        self.minted += 1;
        self.open.push(id.clone());
        id
    }

    fn swallow(&mut self, id: &[u8]) -> bool {
        let Some(at) = self.open.iter().position(|open| open == id) else { return false };
        self.open.swap_remove(at);
        self.swallowed += 1;
        true
    }
}

/// Whether the streams are still ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Serving,
    /// We have let the client go; another may serve it.
    LetGo,
    /// The client wants nothing more.
    Over,
    /// The client has said `exit`: it does not wait for what is open, which is refused.
    Exited,
}

impl Ledger {
    /// Goes on with what others have left.
    pub(crate) fn of(streams: &Streams) -> io::Result<Self> {
        let (mut journal, notes) = streams.notes()?;
        let books = Books::of(&notes);
        journal.renew(&[books.summed_up()])?;
        journal.show_open(books.open.len() as u32);
        let taken = Arc::new(AtomicU64::new(books.taken));
        let state = State::Serving;
        let inner = Inner { journal, books, state, exits: false, note: Vec::new(), own: OwnIds::new() };
        let leaves_the_rest = AtomicBool::new(false);
        Ok(Self { inner: Mutex::new(inner), taken, leaves_the_rest, changed: Notify::new() })
    }

    /// How far the client's words were dealt with.
    pub(crate) fn taken(&self) -> Arc<AtomicU64> {
        self.taken.clone()
    }

    pub(crate) fn state(&self) -> State {
        self.inner().state
    }

    pub(crate) fn with_books<T>(&self, look: impl FnOnce(&Books) -> T) -> T {
        look(&self.inner().books)
    }

    /// Nothing more is read or written by us. What was decided first stays.
    pub(crate) fn close(&self, state: State) {
        let mut inner = self.inner();
        if inner.state == State::Serving {
            let is_exit = inner.exits && state == State::LetGo;
            inner.state = if is_exit { State::Exited } else { state };
            drop(inner);
            self.changed.notify_waiters();
        }
    }

    /// Waits until that has happened.
    pub(crate) async fn closed(&self) -> State {
        loop {
            let changed = self.changed.notified();
            match self.state() {
                State::Serving => changed.await,
                state => return state,
            }
        }
    }

    /// Waits until every request is answered.
    pub(crate) async fn settled(&self) {
        loop {
            let changed = self.changed.notified();
            if self.with_books(|books| books.open.is_empty()) {
                return;
            }
            changed.await;
        }
    }

    /// Waits until so many answers of our own have come.
    pub(crate) async fn swallowed(&self, count: usize) {
        loop {
            let changed = self.changed.notified();
            if self.inner().own.swallowed >= count {
                return;
            }
            changed.await;
        }
    }

    /// From here on the client's words are for the next one.
    pub(crate) fn leave_the_rest(&self) {
        self.leaves_the_rest.store(true, Ordering::Relaxed);
    }

    pub(crate) fn leaves_the_rest(&self) -> bool {
        self.leaves_the_rest.load(Ordering::Relaxed)
    }

    /// Enters what the client said, up to here in its stream. Must be called before anybody acts upon it; `false` if
    /// it is not ours any more to act upon.
    pub(crate) fn take(&self, upto: u64, frame: &Result<Parsed, Broken>) -> bool {
        let mut entries = Entries::default();
        match frame {
            Ok(Parsed::One(message)) => {
                self.inner().exits |= message.method() == Method::Exit;
                entries.one(message);
            }
            Ok(Parsed::Batch(members)) => entries.batch(members),
            Err(_) => {}
        }
        self.enter(upto, entries.0)
    }

    /// The same for what was too long to be kept.
    pub(crate) fn take_too_long(&self, upto: u64, glimpses: &[Glimpse]) -> bool {
        let asks = glimpses.iter().filter(|seen| seen.method.is_some());
        let ids: Vec<Id> = asks.filter_map(|seen| Some(seen.id.as_ref()?.as_bytes().to_vec())).collect();
        let asked = |id| Entry::Asked(Asked { id, again: Vec::new() });
        self.enter(upto, ids.into_iter().map(asked).collect())
    }

    fn enter(&self, upto: u64, mut entries: Vec<Entry>) -> bool {
        let mut inner = self.inner();
        if inner.state != State::Serving {
            return false;
        }
        entries.push(Entry::Taken { upto });
        if inner.note(entries).is_err() {
            // Without memory for a note nothing can be promised.
            inner.state = State::LetGo;
            drop(inner);
            self.changed.notify_waiters();
            return false;
        }
        self.taken.store(upto, Ordering::Release);
        true
    }

    /// Gives back memory that is not needed while the client is quiet.
    pub(crate) fn trim(&self) {
        let mut inner = self.inner();
        inner.note = Vec::new();
        if inner.state == State::Serving && inner.journal.can_shrink() {
            let summed_up = inner.books.summed_up();
            if inner.journal.renew(&[summed_up]).is_err() {
                inner.state = State::LetGo;
                drop(inner);
                self.changed.notify_waiters();
            }
        }
    }

    pub(crate) fn speaks(&self, framing: Framing) {
        let mut inner = self.inner();
        if inner.books.framing != Some(framing) {
            let _ = inner.note(vec![Entry::Speaks { framing }]);
        }
    }

    /// It is given to a core for the second time, and not for a third.
    pub(crate) fn repeated(&self, id: &Id) -> io::Result<()> {
        self.inner().note(vec![Entry::Repeated { id: id.clone() }])
    }

    /// Enters what goes out, up to here, with all that it answers and asks.
    pub(crate) fn write(&self, upto: u64, mut entries: Vec<Entry>) -> io::Result<()> {
        let mut inner = self.inner();
        let was_open = !inner.books.open.is_empty();
        entries.push(Entry::Written { upto });
        inner.note(entries)?;
        let is_settled = was_open && inner.books.open.is_empty();
        drop(inner);
        if is_settled {
            self.changed.notify_waiters();
        }
        Ok(())
    }

    /// Whether this is an answer to something that we said again ourselves. Nobody else is to see it.
    pub(crate) fn swallow(&self, out: &Outgoing) -> bool {
        let is_ours = matches!(out.answers(), Answers::One(id)
            if id.as_bytes().starts_with(OURS) && self.inner().own.swallow(id.as_bytes()));
        if is_ours {
            self.changed.notify_waiters();
        }
        is_ours
    }

    /// An id for something that is said again. Its answer is swallowed.
    pub(crate) fn own_id(&self) -> Id {
        self.inner().own.mint()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a message means for the books of its receiver.
pub(crate) fn meaning(out: &Outgoing) -> Option<Entry> {
    match out.answers() {
        Answers::One(id) => Some(Entry::Answered { id: id.as_bytes().to_vec() }),
        Answers::Batch => {
            // One member stands for all.
            let Ok(Parsed::Batch(members)) = parse(out.to_vec().into()) else { return None };
            let id = members.into_iter().flatten().find_map(|member| member.id())?;
            Some(Entry::Answered { id: id.as_bytes().to_vec() })
        }
        Answers::Nothing => {
            // Most that is no answer is a notification, and has none.
            memchr::memmem::find(out.original(), b"\"id\"")?;
            let Ok(Parsed::One(message)) = parse(out.to_vec().into()) else { return None };
            let id = message.id().filter(|_| message.kind() == Kind::Request)?;
            Some(Entry::Question { id: id.as_bytes().to_vec() })
        }
    }
}

impl Inner {
    fn note(&mut self, entries: Vec<Entry>) -> io::Result<()> {
        let mut note = std::mem::take(&mut self.note);
        note.clear();
        entries.iter().for_each(|entry| encode(entry, &mut note));
        self.journal.append(&note)?;
        note.shrink_to(SHORT);
        self.note = note;
        entries.into_iter().for_each(|entry| self.books.enter(entry));
        self.journal.show_open(self.books.open.len() as u32);
        if self.journal.is_long() {
            self.journal.renew(&[self.books.summed_up()])?;
        }
        Ok(())
    }
}

#[derive(Default)]
struct Entries(Vec<Entry>);

impl Entries {
    fn one(&mut self, message: &Message) {
        let line = || message.bytes().to_vec();
        match (message.kind(), message.method()) {
            (Kind::Request, method) => {
                let is_initialize = method == Method::Initialize;
                if is_initialize {
                    self.0.push(Entry::Said { what: Saying::Initialize, line: line() });
                }
                self.effect(message);
                let is_short = message.bytes().len() <= SHORT;
                let again =
                    if is_initialize || (method.is_repeatable() && is_short) { line() } else { Vec::new() };
                let id = message.id().map(|id| id.as_bytes().to_vec());
                self.0.extend(id.map(|id| Entry::Asked(Asked { id, again })));
            }
            (Kind::Notification, Method::Initialized) => {
                self.0.push(Entry::Said { what: Saying::Initialized, line: line() });
            }
            (Kind::Notification, Method::Cancelled) => {
                let id = message.part(Part::RequestId).map(<[u8]>::to_vec);
                self.0.extend(id.map(|id| Entry::Cancelled { id }));
            }
            (Kind::Response { .. }, _) => {
                let id = message.id().map(|id| id.as_bytes().to_vec());
                self.0.extend(id.map(|id| Entry::Resolved { id }));
            }
            (Kind::Notification, _) => {}
        }
    }

    /// What it sets in a server.
    fn effect(&mut self, message: &Message) {
        let uri = || message.part(Part::Uri).unwrap_or_default().to_vec();
        match message.method() {
            Method::SetLevel => {
                self.0.push(Entry::Said { what: Saying::Level, line: message.bytes().to_vec() });
            }
            Method::Subscribe => self.0.push(Entry::Subscribed { uri: uri() }),
            Method::Unsubscribe => self.0.push(Entry::Unsubscribed { uri: uri() }),
            _ => {}
        }
    }

    fn batch(&mut self, members: &[Result<Message, Broken>]) {
        let mut ids = Vec::new();
        for message in members.iter().flatten() {
            match message.kind() {
                Kind::Request => {
                    self.effect(message);
                    ids.extend(message.id().map(|id| id.as_bytes().to_vec()));
                }
                Kind::Notification | Kind::Response { .. } => self.one(message),
            }
        }
        if !ids.is_empty() {
            self.0.push(Entry::AskedTogether { ids });
        }
    }
}

impl Open {
    /// Whether it may be asked again.
    pub(crate) fn again(&self) -> Option<&Asked> {
        match self {
            Self::One(asked) if !asked.again.is_empty() => Some(asked),
            Self::One(_) | Self::Together(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_ids_are_known_by_state() {
        let (mut ids, mut others) = (OwnIds::new(), OwnIds::new());
        let (first, second) = (ids.mint(), ids.mint());
        assert!(first.starts_with(OURS) && first != second);
        assert!(!ids.swallow(b"\"switchboard/again/0\""), "a client's id");
        assert!(!ids.swallow(&others.mint()), "another window's");
        assert!(ids.swallow(&second));
        assert!(!ids.swallow(&second), "it was answered");
        assert!(ids.swallow(&first));
        assert_eq!((ids.swallowed, ids.open.len()), (2, 0));
    }
}

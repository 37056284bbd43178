//! Journal of one client, stored where it outlives this process. The input tap enters a message before the
//! core sees it; the output enters an answer together with its bytes. Must not know how messages are routed.

use super::entries::{Entries, MAX_REPEATED_BYTES, of_too_long};
use super::entry::{Id, JournalEntry, encode};
use super::own_ids::{OwnIds, PREFIX};
use super::state::JournalState;
use crate::io::reader::tap::InputTap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use switchboard_core::Event;
use switchboard_process::handover::{Journal, Streams};
use switchboard_process::lock::{Lock, LockGuard};
use switchboard_protocol::hunt::Glimpse;
use switchboard_protocol::{Broken, Framing, Kind, Message, Method, Outgoing, OutgoingKind, Parsed};
use tokio::sync::Notify;

pub(crate) struct ClientJournal {
    inner: Lock<Inner>,
    taken: Arc<AtomicU64>,
    /// The rest of the client's stream stays unread for the next daemon.
    leaves_the_rest: AtomicBool,
    changed: Notify,
}

struct Inner {
    file: Journal,
    state: JournalState,
    hold: HoldState,
    /// The client has sent `exit`.
    exits: bool,
    /// Scratch space for encoded entries.
    buffer: Vec<u8>,
    own: OwnIds,
}

/// Whether the client's streams are still ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldState {
    Serving,
    /// Released; another daemon may serve the client.
    LetGo,
    /// The client has ended and needs no further daemon.
    Over,
    /// The client sent `exit` and waits for no answer. The attachment refuses open requests.
    Exited,
}

impl ClientJournal {
    /// Opens the journal and continues from its last state.
    pub(crate) fn of(streams: &Streams) -> io::Result<Self> {
        let (mut file, appends) = streams.journal()?;
        let state = JournalState::of(&appends);
        // Starting with a summary bounds the file: every daemon would otherwise inherit all earlier entries.
        file.renew(&[state.summary()])?;
        file.show_open(state.open.len() as u32);
        let taken = Arc::new(AtomicU64::new(state.taken));
        let (hold, own) = (HoldState::Serving, OwnIds::new());
        let inner = Inner { file, state, hold, exits: false, buffer: Vec::new(), own };
        let leaves_the_rest = AtomicBool::new(false);
        Ok(Self { inner: Lock::new(inner), taken, leaves_the_rest, changed: Notify::new() })
    }

    /// Position up to which the client's stream was handled.
    pub(crate) fn taken(&self) -> Arc<AtomicU64> {
        self.taken.clone()
    }

    pub(crate) fn hold(&self) -> HoldState {
        self.inner().hold
    }

    pub(crate) fn with_state<T>(&self, look: impl FnOnce(&JournalState) -> T) -> T {
        look(&self.inner().state)
    }

    /// Closes the journal: this process reads and writes no more. The first call decides the state.
    pub(crate) fn close(&self, hold: HoldState) {
        let mut inner = self.inner();
        if inner.hold == HoldState::Serving {
            // A client that sent `exit` needs no next daemon.
            let is_exit = inner.exits && hold == HoldState::LetGo;
            inner.hold = if is_exit { HoldState::Exited } else { hold };
            // Released first, since woken tasks take the lock at once.
            drop(inner);
            self.changed.notify_waiters();
        }
    }

    /// Waits until the journal is closed.
    pub(crate) async fn closed(&self) -> HoldState {
        loop {
            // Registered before the check, so a change between check and wait is not missed.
            let changed = self.changed.notified();
            match self.hold() {
                HoldState::Serving => changed.await,
                hold => return hold,
            }
        }
    }

    /// Waits until every request is answered.
    pub(crate) async fn all_answered(&self) {
        loop {
            // As in `closed`, registered before the check.
            let changed = self.changed.notified();
            if self.with_state(|state| state.open.is_empty()) {
                return;
            }
            changed.await;
        }
    }

    /// Waits for this many answers to repeated messages.
    pub(crate) async fn swallowed(&self, count: usize) {
        loop {
            let changed = self.changed.notified();
            if self.inner().own.swallowed >= count {
                return;
            }
            changed.await;
        }
    }

    fn take(&self, upto: u64, frame: &Result<Parsed, Broken>) -> bool {
        let mut entries = Entries::default();
        match frame {
            Ok(Parsed::One(message)) => {
                // Remembered for `close`: after `exit` no other daemon may take the client over.
                self.inner().exits |= message.method() == Method::Exit;
                entries.one(message);
            }
            Ok(Parsed::Batch(members)) => entries.batch(members),
            // A broken frame asks for nothing, but its bytes still count as handled.
            Err(_) => {}
        }
        self.enter(upto, entries.0)
    }

    fn take_too_long(&self, upto: u64, glimpses: &[Glimpse]) -> bool {
        self.enter(upto, of_too_long(glimpses))
    }

    fn enter(&self, upto: u64, mut entries: Vec<JournalEntry>) -> bool {
        let mut inner = self.inner();
        if inner.hold != HoldState::Serving {
            // Another process may already read from this position.
            return false;
        }
        entries.push(JournalEntry::Taken { upto });
        if inner.append(entries).is_err() {
            // Without an entry, the next daemon would not know of the request, so the client is
            // released before the core sees it.
            inner.hold = HoldState::LetGo;
            drop(inner);
            self.changed.notify_waiters();
            return false;
        }
        // Stored after the entry: the reader may free input up to here.
        self.taken.store(upto, Ordering::Release);
        true
    }

    /// Frees memory while the client is idle.
    pub(crate) fn trim(&self) {
        let mut inner = self.inner();
        inner.buffer = Vec::new();
        if inner.hold == HoldState::Serving && inner.file.can_shrink() {
            let summary = inner.state.summary();
            if inner.file.renew(&[summary]).is_err() {
                inner.hold = HoldState::LetGo;
                drop(inner);
                self.changed.notify_waiters();
            }
        }
    }

    /// Records that a request is given to a second daemon, so that it never reaches a third.
    pub(crate) fn repeated(&self, id: &Id) -> io::Result<()> {
        self.inner().append(vec![JournalEntry::Repeated { id: id.clone() }])
    }

    /// Enters output up to this position, with the requests it answers and asks.
    pub(crate) fn write(&self, upto: u64, mut entries: Vec<JournalEntry>) -> io::Result<()> {
        let mut inner = self.inner();
        let was_open = !inner.state.open.is_empty();
        entries.push(JournalEntry::Written { upto });
        inner.append(entries)?;
        // Waiters look only for the last answer, so others need no notice.
        let is_all_answered = was_open && inner.state.open.is_empty();
        drop(inner);
        if is_all_answered {
            self.changed.notify_waiters();
        }
        Ok(())
    }

    /// Whether this answers a message that we repeated under our own id. Such an
    /// answer must not reach the client.
    pub(crate) fn swallow(&self, out: &Outgoing) -> bool {
        let is_response = matches!(out.kind(), OutgoingKind::Response { .. });
        let id = out.id().filter(|id| is_response && id.starts_with(PREFIX));
        let is_ours = id.is_some_and(|id| self.inner().own.swallow(id));
        if is_ours {
            self.changed.notify_waiters();
        }
        is_ours
    }

    /// Mints an id for a repeated message. [`swallow`](Self::swallow) consumes its answer.
    pub(crate) fn own_id(&self) -> Id {
        self.inner().own.mint()
    }

    fn inner(&self) -> LockGuard<'_, Inner> {
        self.inner.lock()
    }
}

impl InputTap for ClientJournal {
    fn start(&self) -> u64 {
        self.taken.load(Ordering::Acquire)
    }

    fn set_framing(&self, framing: Framing) {
        let mut inner = self.inner();
        if inner.state.framing != Some(framing) {
            let _ = inner.append(vec![JournalEntry::Speaks { framing }]);
        }
    }

    /// Admits an event to the core. Once a newer daemon waits for this client, the next request and
    /// everything after it stay unread for that daemon.
    fn admit(&self, event: &Event, upto: u64, is_succeeded: bool) -> bool {
        if is_succeeded && asks_something(event) {
            self.leaves_the_rest.store(true, Ordering::Relaxed);
        }
        match event {
            _ if self.is_closed() => false,
            Event::FromClient { frame, .. } => self.take(upto, frame),
            Event::ClientTooLong { glimpses, .. } => self.take_too_long(upto, glimpses),
            _ => true,
        }
    }

    fn is_closed(&self) -> bool {
        self.leaves_the_rest.load(Ordering::Relaxed)
    }
}

/// Whether the client expects an answer.
fn asks_something(event: &Event) -> bool {
    let is_request = |message: &Message| message.kind() == Kind::Request;
    match event {
        Event::FromClient { frame: Ok(Parsed::One(message)), .. } => is_request(message),
        Event::FromClient { frame: Ok(Parsed::Batch(members)), .. } => {
            members.iter().flatten().any(is_request)
        }
        Event::ClientTooLong { glimpses, .. } => glimpses.iter().any(|seen| seen.method.is_some()),
        _ => false,
    }
}

impl Inner {
    fn append(&mut self, entries: Vec<JournalEntry>) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        entries.iter().for_each(|entry| encode(entry, &mut buffer));
        self.file.append(&buffer)?;
        buffer.shrink_to(MAX_REPEATED_BYTES);
        // A single long `initialize` must not keep its memory for the client's whole life.
        self.buffer = buffer;
        // Memory changes only after the file has the entries: a failed append must leave the old state.
        entries.into_iter().for_each(|entry| self.state.enter(entry));
        self.file.show_open(self.state.open.len() as u32);
        if self.file.is_long() {
            self.file.renew(&[self.state.summary()])?;
        }
        Ok(())
    }
}

//! Journal of one client, kept where it outlives this process. The reader's tap enters what the client says before anybody
//! acts upon it; the output enters answers together with their bytes.

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
    /// The rest of the client's stream is not read: the next daemon reads it.
    leaves_the_rest: AtomicBool,
    changed: Notify,
}

struct Inner {
    file: Journal,
    state: JournalState,
    hold: HoldState,
    /// The client has said `exit`.
    exits: bool,
    /// Entries, encoded.
    buffer: Vec<u8>,
    own: OwnIds,
}

/// Whether the client's streams are still ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldState {
    Serving,
    /// We have let the client go; another may serve it.
    LetGo,
    /// The client wants nothing more.
    Over,
    /// The client has said `exit`: it does not wait for what is open, which is refused.
    Exited,
}

impl ClientJournal {
    /// Goes on with a journal that others have left.
    pub(crate) fn of(streams: &Streams) -> io::Result<Self> {
        let (mut file, appends) = streams.journal()?;
        let state = JournalState::of(&appends);
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

    /// Nothing more is read or written by us. The first call decides.
    pub(crate) fn close(&self, hold: HoldState) {
        let mut inner = self.inner();
        if inner.hold == HoldState::Serving {
            let is_exit = inner.exits && hold == HoldState::LetGo;
            inner.hold = if is_exit { HoldState::Exited } else { hold };
            drop(inner);
            self.changed.notify_waiters();
        }
    }

    /// Waits until the journal is closed.
    pub(crate) async fn closed(&self) -> HoldState {
        loop {
            let changed = self.changed.notified();
            match self.hold() {
                HoldState::Serving => changed.await,
                hold => return hold,
            }
        }
    }

    /// Waits until every request is answered.
    pub(crate) async fn settled(&self) {
        loop {
            let changed = self.changed.notified();
            if self.with_state(|state| state.open.is_empty()) {
                return;
            }
            changed.await;
        }
    }

    /// Waits until so many answers to repeated messages have come.
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
                self.inner().exits |= message.method() == Method::Exit;
                entries.one(message);
            }
            Ok(Parsed::Batch(members)) => entries.batch(members),
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
            return false;
        }
        entries.push(JournalEntry::Taken { upto });
        if inner.append(entries).is_err() {
            // Without memory for an entry nothing can be promised.
            inner.hold = HoldState::LetGo;
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

    /// Enters that a request is given to a core for the second time; it is not given to a third.
    pub(crate) fn repeated(&self, id: &Id) -> io::Result<()> {
        self.inner().append(vec![JournalEntry::Repeated { id: id.clone() }])
    }

    /// Enters what goes out, up to here, with all that it answers and asks.
    pub(crate) fn write(&self, upto: u64, mut entries: Vec<JournalEntry>) -> io::Result<()> {
        let mut inner = self.inner();
        let was_open = !inner.state.open.is_empty();
        entries.push(JournalEntry::Written { upto });
        inner.append(entries)?;
        let is_settled = was_open && inner.state.open.is_empty();
        drop(inner);
        if is_settled {
            self.changed.notify_waiters();
        }
        Ok(())
    }

    /// Whether this answers a message that was repeated under an id of ours. Nobody else is to see it.
    pub(crate) fn swallow(&self, out: &Outgoing) -> bool {
        let is_response = matches!(out.kind(), OutgoingKind::Response { .. });
        let id = out.id().filter(|id| is_response && id.starts_with(PREFIX));
        let is_ours = id.is_some_and(|id| self.inner().own.swallow(id));
        if is_ours {
            self.changed.notify_waiters();
        }
        is_ours
    }

    /// An id for a message that is repeated. Its answer is swallowed.
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

    /// Once another daemon succeeds us, the next request with all that follows is left to it, unread.
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

/// Whether a client wants an answer.
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
        self.buffer = buffer;
        entries.into_iter().for_each(|entry| self.state.enter(entry));
        self.file.show_open(self.state.open.len() as u32);
        if self.file.is_long() {
            self.file.renew(&[self.state.summary()])?;
        }
        Ok(())
    }
}

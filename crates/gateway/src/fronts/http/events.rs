//! Stored events of all sessions' streams, for clients that reconnect or are not connected yet. They
//! share one budget of bytes. When it is exceeded, events that were read on a finished stream go first;
//! then the session that holds most gives up its own, so no session loses anything while it holds less
//! than its share. A dropped answer is remembered as such. A question is kept until it is read, bounded
//! by the core's byte credits. Pure.

use super::body::Charge;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use switchboard_core::ClientId;
use switchboard_process::lock::{Lock, LockGuard};
use switchboard_protocol::RawId;

/// Cost of an event beside its message.
const EVENT_OVERHEAD_BYTES: usize = 256;
/// Limit for notifications that wait for a session without a stream.
const MAX_UNREAD_BYTES: usize = 1 << 20;
/// Questions of one session that are always kept. Far fewer can be open at a
/// time, so older ones have expired.
const MAX_QUESTIONS: usize = 4096;
/// Dropped answers that are remembered per session, and the longest id for that.
const MAX_DROPPED_ANSWERS: usize = 256;
const MAX_ID_BYTES: usize = 256;

/// Stream of a session, and event on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EventId {
    pub(crate) stream: u64,
    pub(crate) number: u64,
}

impl EventId {
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (stream, number) = text.trim().split_once('-')?;
        Some(Self { stream: stream.parse().ok()?, number: number.parse().ok()? })
    }
}

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}

/// Kind of an event's message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    Notice,
    Question,
    /// Answer to a request; the last one ends its stream.
    Answer {
        to: RawId,
        is_last: bool,
    },
}

/// Event to send again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ReplayedEvent {
    Message(EventId, Bytes),
    /// The answer to this request was dropped.
    Dropped(EventId, RawId),
}

/// Events of one session.
pub(crate) struct EventLog {
    store: Arc<EventStore>,
    client: ClientId,
    next: u64,
}

impl EventLog {
    pub(crate) fn new(store: Arc<EventStore>, client: ClientId) -> Self {
        Self { store, client, next: 1 }
    }

    /// Stores an event and numbers it. Its charge is held until the event is read or dropped, since there is
    /// no other copy of the message.
    pub(crate) fn note(
        &mut self,
        stream: u64,
        message: &Bytes,
        what: What,
        charge: Option<Charge>,
    ) -> EventId {
        let id = self.mint(stream);
        let kept = StoredEvent { message: message.clone(), what, charge, is_read: false, is_spent: false };
        let mut store = self.store.lock();
        store.change(self.client, |events| {
            if let What::Answer { is_last: true, .. } = kept.what {
                events.drop_questions(stream);
            }
            // Put before the limits are applied, so that a new event competes with the older ones.
            events.put(id, kept);
            events.keep_few_unread();
            events.keep_few_questions();
        });
        store.make_room();
        id
    }

    /// Number for an event without a message.
    pub(crate) fn mint(&mut self, stream: u64) -> EventId {
        let id = EventId { stream, number: self.next };
        self.next += 1;
        id
    }

    /// Events of a stream after this one.
    pub(crate) fn after(&self, id: EventId) -> Vec<ReplayedEvent> {
        self.again(id.stream, |number, _| number > id.number)
    }

    /// Events of a stream after this one, and unread ones.
    pub(crate) fn after_or_unread(&self, id: EventId) -> Vec<ReplayedEvent> {
        self.again(id.stream, |number, is_read| number > id.number || !is_read)
    }

    fn again(&self, stream: u64, is_wanted: impl Fn(u64, bool) -> bool) -> Vec<ReplayedEvent> {
        let store = self.store.lock();
        let Some(events) = store.sessions.get(&self.client) else { return Vec::new() };
        let kept = events.kept.range(all_of(stream)).filter(|(id, kept)| is_wanted(id.number, kept.is_read));
        // A dropped answer counts as read: only a client that resumes before it is told.
        let gone = events.gone.range(all_of(stream)).filter(|(id, _)| is_wanted(id.number, true));
        let mut again: Vec<(u64, ReplayedEvent)> = kept
            .map(|(id, kept)| (id.number, ReplayedEvent::Message(*id, kept.message.clone())))
            .chain(gone.map(|(id, to)| (id.number, ReplayedEvent::Dropped(*id, to.clone()))))
            .collect();
        // Kept and dropped events come from two tables, but clients need the order of their numbers.
        again.sort_unstable_by_key(|(number, _)| *number);
        again.into_iter().map(|(_, again)| again).collect()
    }

    /// Charge of a notification that is sent now; from here on the stream holds it.
    pub(crate) fn hand_out(&self, id: EventId) -> Option<Charge> {
        let mut charge = None;
        self.store.lock().change(self.client, |events| {
            events.alter(id, |kept| {
                // A question keeps its charge until it is read, and an answer has none in the log.
                if kept.what == What::Notice {
                    charge = kept.charge.take();
                }
            });
        });
        charge
    }

    /// Receipt to sign when the event has been read.
    pub(crate) fn receipt(&self, id: EventId) -> Receipt {
        Receipt { store: self.store.clone(), client: self.client, id }
    }

    pub(crate) fn clear(&mut self) {
        self.store.lock().remove(self.client);
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Reports that an event was read.
pub(crate) struct Receipt {
    store: Arc<EventStore>,
    client: ClientId,
    id: EventId,
}

impl Receipt {
    pub(crate) fn sign(self) {
        let mut store = self.store.lock();
        // The session may have ended while the bytes were on their way.
        if store.sessions.contains_key(&self.client) {
            store.change(self.client, |events| events.read(self.id));
            // A question counts against the budget once it is read.
            store.make_room();
        }
    }
}

/// Events of all sessions.
pub(crate) struct EventStore(Lock<Store>);

impl EventStore {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self(Lock::new(Store { limit, ..Store::default() })))
    }

    fn lock(&self) -> LockGuard<'_, Store> {
        self.0.lock()
    }
}

#[derive(Default)]
struct Store {
    limit: usize,
    held: usize,
    sessions: HashMap<ClientId, SessionEvents>,
    /// Sessions by stored bytes, and by bytes of spent events.
    by_held: BTreeSet<(usize, ClientId)>,
    by_spent: BTreeSet<(usize, ClientId)>,
}

impl Store {
    fn change(&mut self, client: ClientId, change: impl FnOnce(&mut SessionEvents)) {
        let events = self.sessions.entry(client).or_default();
        // Remembered, since both indexes are sorted by these numbers.
        let (held, spent) = (events.held, events.spent);
        change(events);
        self.held = self.held + events.held - held;
        move_to(&mut self.by_held, client, held, events.held);
        move_to(&mut self.by_spent, client, spent, events.spent);
    }

    fn make_room(&mut self) {
        while self.held > self.limit {
            // Spent events of any session go before unread ones of the largest.
            let Some(&(_, client)) = self.by_spent.last().or(self.by_held.last()) else { return };
            self.change(client, SessionEvents::drop_first);
        }
    }

    fn remove(&mut self, client: ClientId) {
        let Some(events) = self.sessions.remove(&client) else { return };
        self.held -= events.held;
        move_to(&mut self.by_held, client, events.held, 0);
        move_to(&mut self.by_spent, client, events.spent, 0);
    }
}

/// Updates an index, which lists only sessions that hold something.
fn move_to(list: &mut BTreeSet<(usize, ClientId)>, client: ClientId, before: usize, after: usize) {
    if before == after {
        return;
    }
    list.remove(&(before, client));
    if after > 0 {
        list.insert((after, client));
    }
}

/// Events of one session.
#[derive(Default)]
struct SessionEvents {
    kept: BTreeMap<EventId, StoredEvent>,
    /// Events in the order in which they are dropped; questions come last and are never dropped.
    order: BTreeSet<(Worth, u64, EventId)>,
    /// Dropped answers.
    gone: BTreeMap<EventId, RawId>,
    /// Bytes of events that may be dropped.
    held: usize,
    /// Bytes of spent events among them.
    spent: usize,
    /// Bytes of unread notifications among them.
    unread: usize,
    questions: usize,
}

struct StoredEvent {
    message: Bytes,
    what: What,
    charge: Option<Charge>,
    is_read: bool,
    /// The stream is finished and was read to its end.
    is_spent: bool,
}

/// Value of an event; the lowest is dropped first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    Spent,
    Read,
    /// On its way to a reading client.
    Copied,
    /// Notification without another copy.
    Unread,
    Answer,
    /// Neither counted here nor dropped.
    Question,
}

impl StoredEvent {
    fn worth(&self) -> Worth {
        match (&self.what, &self.charge) {
            _ if self.is_spent => Worth::Spent,
            // Read questions count like any event; the client has them.
            _ if self.is_read => Worth::Read,
            (What::Question, Some(_)) => Worth::Question,
            (What::Notice, Some(_)) => Worth::Unread,
            (What::Notice | What::Question, None) => Worth::Copied,
            (What::Answer { .. }, _) => Worth::Answer,
        }
    }

    fn size(&self) -> usize {
        self.message.len() + EVENT_OVERHEAD_BYTES
    }
}

fn all_of(stream: u64) -> std::ops::RangeInclusive<EventId> {
    EventId { stream, number: 0 }..=EventId { stream, number: u64::MAX }
}

impl SessionEvents {
    fn put(&mut self, id: EventId, kept: StoredEvent) {
        let worth = kept.worth();
        self.order.insert((worth, id.number, id));
        self.count(worth, kept.size(), usize::saturating_add);
        self.kept.insert(id, kept);
    }

    fn take(&mut self, id: EventId) -> Option<StoredEvent> {
        let kept = self.kept.remove(&id)?;
        let worth = kept.worth();
        self.order.remove(&(worth, id.number, id));
        self.count(worth, kept.size(), usize::saturating_sub);
        Some(kept)
    }

    fn count(&mut self, worth: Worth, size: usize, add: fn(usize, usize) -> usize) {
        match worth {
            Worth::Spent => self.spent = add(self.spent, size),
            Worth::Unread => self.unread = add(self.unread, size),
            Worth::Question => {
                // Questions are bounded by number and by byte credits, not by this budget.
                self.questions = add(self.questions, 1);
                return;
            }
            Worth::Read | Worth::Copied | Worth::Answer => {}
        }
        self.held = add(self.held, size);
    }

    fn read(&mut self, id: EventId) {
        let Some(mut kept) = self.take(id) else { return };
        kept.is_read = true;
        kept.charge = None;
        let is_last = matches!(kept.what, What::Answer { is_last: true, .. });
        self.put(id, kept);
        // The stream was read to its end, so its events are the first to go.
        if is_last {
            let stream: Vec<EventId> = self.kept.range(all_of(id.stream)).map(|(id, _)| *id).collect();
            for id in stream {
                self.alter(id, |kept| kept.is_spent = true);
            }
        }
    }

    /// Releases questions on a stream whose call has been answered: their answers are no longer awaited.
    fn drop_questions(&mut self, stream: u64) {
        if self.questions == 0 {
            return;
        }
        let open = self.kept.range(all_of(stream)).filter(|(_, kept)| kept.worth() == Worth::Question);
        // The ids are collected first, since `alter` changes the map.
        for id in open.map(|(id, _)| *id).collect::<Vec<EventId>>() {
            self.alter(id, |kept| kept.charge = None);
        }
    }

    fn alter(&mut self, id: EventId, change: impl FnOnce(&mut StoredEvent)) {
        if let Some(mut kept) = self.take(id) {
            change(&mut kept);
            self.put(id, kept);
        }
    }

    fn keep_few_unread(&mut self) {
        while self.unread > MAX_UNREAD_BYTES
            && let Some(id) = self.first_of(Worth::Unread)
        {
            self.drop_event(id);
        }
    }

    fn keep_few_questions(&mut self) {
        while self.questions > MAX_QUESTIONS
            && let Some(id) = self.first_of(Worth::Question)
        {
            // Without its charge a question is an ordinary event, which may be dropped.
            self.alter(id, |kept| kept.charge = None);
        }
    }

    /// First event in dropping order with at least this worth.
    fn first_of(&self, worth: Worth) -> Option<EventId> {
        let least = EventId { stream: 0, number: 0 };
        self.order.range((worth, 0, least)..).next().map(|(_, _, id)| *id)
    }

    fn drop_first(&mut self) {
        if let Some(&(_, _, id)) = self.order.first() {
            self.drop_event(id);
        }
    }

    fn drop_event(&mut self, id: EventId) {
        let Some(kept) = self.take(id) else { return };
        if let Some(charge) = kept.charge {
            charge.lose();
        }
        // The id is the client's, and may be of any length: a long one must not fill our memory.
        if let What::Answer { to, .. } = kept.what
            && to.as_bytes().len() <= MAX_ID_BYTES
        {
            self.gone.insert(id, to);
            if self.gone.len() > MAX_DROPPED_ANSWERS {
                self.gone.pop_first();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::inbox::{Inbox, InboxItems};
    use super::*;

    const ONE: u32 = 1;
    const OTHER: u32 = 2;

    fn id(text: &str) -> RawId {
        RawId::from_bytes(text.as_bytes())
    }

    fn answer() -> What {
        What::Answer { to: id("7"), is_last: true }
    }

    fn log(store: &Arc<EventStore>, client: u32) -> EventLog {
        EventLog::new(store.clone(), ClientId(client))
    }

    /// Message of this many bytes, including the overhead.
    fn of(size: usize) -> Bytes {
        vec![b'x'; size - EVENT_OVERHEAD_BYTES].into()
    }

    #[test]
    fn later_events_are_said_again_by_stream() {
        let mut log = log(&EventStore::new(10_000), ONE);
        let first = log.note(1, &"a".into(), What::Notice, None);
        log.note(2, &"other".into(), What::Notice, None);
        let second = log.note(1, &"b".into(), answer(), None);
        assert_eq!(log.after(first), [ReplayedEvent::Message(second, "b".into())]);
        assert_eq!(log.after(second), []);
        assert_eq!(EventId::read(&first.to_string()), Some(first));
        assert_eq!(EventId::read("nonsense"), None);
    }

    #[test]
    fn a_dropped_answer_is_remembered() {
        let store = EventStore::new(1000);
        let mut log = log(&store, ONE);
        let start = log.mint(1);
        log.note(1, &of(600), What::Notice, None);
        let dropped = log.note(1, &of(700), answer(), None);
        let last = log.note(1, &of(600), answer(), None);
        assert_eq!(
            log.after(start),
            [ReplayedEvent::Dropped(dropped, id("7")), ReplayedEvent::Message(last, of(600))]
        );
        let never = log.note(2, &of(2000), answer(), None);
        assert_eq!(log.after(EventId { stream: 2, number: 0 }), [ReplayedEvent::Dropped(never, id("7"))]);
        drop(log);
        let store = store.lock();
        assert_eq!((store.held, store.sessions.len(), store.by_held.len()), (0, 0, 0));
    }

    #[test]
    fn read_answers_make_room_for_others() {
        let store = EventStore::new(10_000);
        let (mut one, mut other) = (log(&store, ONE), log(&store, OTHER));
        for stream in 1..100 {
            let id = one.note(stream, &of(1000), answer(), None);
            one.receipt(id).sign();
        }
        let start = other.mint(1);
        let waiting: Vec<EventId> = (0..9).map(|_| other.note(1, &of(1000), answer(), None)).collect();
        for stream in 100..200 {
            let id = one.note(stream, &of(1000), answer(), None);
            one.receipt(id).sign();
        }
        let kept = waiting.iter().map(|id| ReplayedEvent::Message(*id, of(1000)));
        assert_eq!(other.after(start), kept.collect::<Vec<_>>());
    }

    #[test]
    fn largest_holder_gives_up_its_own() {
        let store = EventStore::new(10_000);
        let (mut one, mut other) = (log(&store, ONE), log(&store, OTHER));
        let start = other.mint(1);
        let kept: Vec<EventId> = (0..4).map(|_| other.note(1, &of(1000), answer(), None)).collect();
        for stream in 1..100 {
            one.note(stream, &of(1000), answer(), None);
        }
        let kept: Vec<ReplayedEvent> = kept.iter().map(|id| ReplayedEvent::Message(*id, of(1000))).collect();
        assert_eq!(other.after(start), kept);
        // Notifications go before answers, read ones before unread ones.
        let (read, unread) = (other.mint(2), other.mint(3));
        let id = other.note(2, &of(1000), What::Notice, None);
        other.receipt(id).sign();
        other.note(3, &of(1000), What::Notice, None);
        assert_eq!((other.after(read).len(), other.after(unread).len()), (0, 1));
        other.note(4, &of(1000), answer(), None);
        assert_eq!((other.after(unread).len(), other.after(start)), (0, kept));
    }

    #[test]
    fn questions_without_end_are_let_go() {
        let inbox: Arc<Inbox> = Arc::default();
        let mut log = log(&EventStore::new(1000), ONE);
        let start = log.mint(0);
        for _ in 0..MAX_QUESTIONS + 10 {
            log.note(0, &of(300), What::Question, charged(&inbox, 300));
        }
        assert_eq!(told(&inbox), (0, 10 * 300));
        assert_eq!(log.after(start).len(), MAX_QUESTIONS + 3, "there is room for three more");
    }

    fn charged(inbox: &Arc<Inbox>, count: usize) -> Option<Charge> {
        Some(Charge::new(ClientId(ONE), count, inbox.clone()))
    }

    /// Number of dropped notifications, and bytes given back.
    fn told(inbox: &Inbox) -> (usize, usize) {
        let mut items = InboxItems::default();
        inbox.take(&mut items);
        (items.dropped.len(), items.freed.iter().map(|(_, bytes)| bytes).sum())
    }

    #[test]
    fn notices_that_wait_are_few_and_counted() {
        let inbox: Arc<Inbox> = Arc::default();
        let mut log = log(&EventStore::new(16 << 20), ONE);
        let start = log.mint(0);
        for _ in 0..200 {
            log.note(0, &of(300 << 10), What::Notice, charged(&inbox, 300 << 10));
        }
        assert_eq!(log.after(start).len(), 3);
        assert_eq!(told(&inbox), (197, 197 * (300 << 10)));
        // A sent notification no longer waits here, and takes its charge along.
        let Some(ReplayedEvent::Message(first, _)) = log.after(start).into_iter().next() else {
            panic!("a message")
        };
        let charge = log.hand_out(first);
        log.note(0, &of(300 << 10), What::Notice, charged(&inbox, 300 << 10));
        assert_eq!((log.after(start).len(), told(&inbox)), (4, (0, 0)));
        drop(charge);
        log.clear();
        assert_eq!(told(&inbox), (0, 4 * (300 << 10)));
    }

    #[test]
    fn a_question_is_kept_until_it_is_read() {
        let inbox: Arc<Inbox> = Arc::default();
        let mut log = log(&EventStore::new(1000), ONE);
        let start = log.mint(0);
        let asked = log.note(0, &of(2000), What::Question, charged(&inbox, 2000));
        for _ in 0..10 {
            log.note(0, &of(900), What::Notice, charged(&inbox, 900));
        }
        assert_eq!(log.after(start)[0], ReplayedEvent::Message(asked, of(2000)));
        assert_eq!(told(&inbox).0, 9);
        log.receipt(asked).sign();
        assert_eq!(told(&inbox), (0, 2000));
        assert!(
            !log.after(start).contains(&ReplayedEvent::Message(asked, of(2000))),
            "it counts, and is too long"
        );
        // Once its call is answered, the question is released.
        log.note(1, &of(2000), What::Question, charged(&inbox, 2000));
        log.note(1, &of(400), answer(), None);
        assert_eq!(log.after(EventId { stream: 1, number: 0 }).len(), 1);
        assert_eq!(told(&inbox), (1, 2000 + 900));
    }
}

//! One client over HTTP: its open requests, its streams, and which message goes where. An answer goes to the request that
//! waits for it, what comes while a request is worked on goes before its answer, and everything else to the client's own
//! stream.

use super::body::{Charge, Parcel};
use super::events::{Again, EventId, EventLog, EventStore, What};
use super::frames::{dropped, event, joined, old_event};
use super::news::News;
use super::route::Target;
use crate::io::mailbox::Mailbox;
use crate::io::reader::ClientReader;
use bytes::Bytes;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use switchboard_core::{About, ClientId, MemberPath};
use switchboard_protocol::{Broken, Outgoing, OutgoingKind, Parsed, RawId};
use tokio::sync::{mpsc, oneshot};

/// Answers of no more bytes than this are not waited for.
const SHORT: usize = 4 << 10;
/// The client's own stream.
const OWN: u64 = 0;
/// After how many milliseconds one who has lost a stream should come back.
const RETRY: u32 = 500;

pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) client: ClientId,
    pub(crate) target: Target,
    /// The credentials that it was begun with: nobody else may use it.
    pub(crate) credentials: Option<Box<[u8]>>,
    pub(crate) manner: Manner,
    news: Arc<News>,
    gone: mpsc::UnboundedSender<String>,
    /// What is read out of its messages besides their envelopes.
    reader: tokio::sync::Mutex<ClientReader>,
    inside: Mutex<Inside>,
}

/// Who begins a session, and with whom.
pub(crate) struct Who {
    pub(crate) id: String,
    pub(crate) client: ClientId,
    pub(crate) target: Target,
    pub(crate) credentials: Option<Box<[u8]>>,
    pub(crate) manner: Manner,
    pub(crate) reader: ClientReader,
}

/// How a client is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Streamable,
    /// HTTP+SSE: all of it on one stream.
    OneStream,
}

struct Inside {
    /// Open requests, and the call that brought each.
    open: HashMap<RawId, u64>,
    calls: HashMap<u64, Call, BuildHasherDefault<OwnNumber>>,
    /// Where streams lead that somebody reads.
    streams: HashMap<u64, mpsc::UnboundedSender<Parcel>>,
    next: u64,
    log: EventLog,
    version: String,
    used: Instant,
    is_closed: bool,
}

/// Numbers that we give ourselves need no protection from those who would choose them.
#[derive(Default)]
struct OwnNumber(u64);

impl Hasher for OwnNumber {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// One POST with requests in it.
struct Call {
    missing: usize,
    is_batch: bool,
    takes_streams: bool,
    shape: Shape,
}

enum Shape {
    /// It may be answered whole as yet.
    Undecided {
        reply: oneshot::Sender<Reply>,
        answers: Vec<(RawId, Bytes)>,
        bytes: usize,
    },
    Stream,
}

/// What becomes of a call.
pub(crate) enum Reply {
    Whole(Parcel),
    Stream(mpsc::UnboundedReceiver<Parcel>),
}

/// Why a stream cannot be had.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoStream {
    /// It has one.
    Taken,
    Closed,
}

impl Session {
    pub(crate) fn new(
        who: Who,
        events: &Arc<EventStore>,
        news: Arc<News>,
        gone: mpsc::UnboundedSender<String>,
    ) -> Arc<Self> {
        let inside = Inside {
            open: HashMap::new(),
            calls: HashMap::default(),
            streams: HashMap::new(),
            next: OWN + 1,
            log: EventLog::new(events.clone(), who.client),
            version: String::new(),
            used: Instant::now(),
            is_closed: false,
        };
        let Who { id, client, target, credentials, manner, reader } = who;
        let reader = tokio::sync::Mutex::new(reader);
        let inside = Mutex::new(inside);
        Arc::new(Self { id, client, target, credentials, manner, news, gone, reader, inside })
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_version(&self, version: &str) {
        self.lock().version = version.to_owned();
    }

    /// The places that a frame names.
    pub(crate) async fn places(&self, frame: &Result<Parsed, Broken>) -> Vec<MemberPath> {
        if let Ok(reader) = self.reader.try_lock()
            && let Some(places) = reader.places_now(frame)
        {
            return places;
        }
        self.reader.lock().await.places(frame).await
    }

    /// Since when it has been of no use, if it is.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let inside = &mut *self.lock();
        // A stream that its client has left is still here until something would be said on it.
        inside.streams.retain(|_, stream| !stream.is_closed());
        if !inside.calls.is_empty() || !inside.streams.is_empty() {
            // It is in use, and only from when it is not any more does its time count.
            inside.used = Instant::now();
            return None;
        }
        Some(inside.used)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Its client has gone.
    pub(crate) fn leave(&self) {
        let _ = self.gone.send(self.id.clone());
    }

    /// Its client says something, and by which version: the answer to a handshake may have gone where it is not looked at.
    pub(crate) fn touch(&self, version: Option<&str>) {
        let mut inside = self.lock();
        inside.used = Instant::now();
        if let Some(version) = version.filter(|_| inside.version.is_empty()) {
            inside.version = version.to_owned();
        }
    }

    /// A call with these requests; nothing if one of their ids is in use.
    pub(crate) fn open_call(
        &self,
        ids: &[RawId],
        is_batch: bool,
        takes_streams: bool,
    ) -> Option<(u64, oneshot::Receiver<Reply>)> {
        let mut inside = self.lock();
        let is_twice = ids.iter().enumerate().any(|(at, id)| ids[..at].contains(id));
        if inside.is_closed || is_twice || ids.iter().any(|id| inside.open.contains_key(id)) {
            return None;
        }
        let number = inside.next;
        inside.next += 1;
        let (reply, answer) = oneshot::channel();
        let shape = Shape::Undecided { reply, answers: Vec::new(), bytes: 0 };
        inside.calls.insert(number, Call { missing: ids.len(), is_batch, takes_streams, shape });
        inside.open.extend(ids.iter().map(|id| (id.clone(), number)));
        inside.used = Instant::now();
        Some((number, answer))
    }

    /// Drops the call of one request, as if it had not been made. `false` if something was said of it already.
    pub(crate) fn drop_call(&self, id: &RawId) -> bool {
        let inside = &mut *self.lock();
        let Some(number) = inside.open.get(id).copied() else { return false };
        let is_whole = |call: &Call| !call.is_batch && matches!(call.shape, Shape::Undecided { .. });
        if !inside.calls.get(&number).is_some_and(is_whole) {
            return false;
        }
        inside.open.remove(id);
        inside.calls.remove(&number);
        true
    }

    /// It takes long: the client shall know that it is heard, and be able to come back for the answer.
    pub(crate) fn begin_stream(&self, call: u64) {
        let inside = &mut *self.lock();
        if inside.calls.get(&call).is_none_or(|call| !call.takes_streams) {
            return;
        }
        self.to_stream(inside, call);
    }

    /// A call can no longer be answered whole.
    fn to_stream(&self, inside: &mut Inside, number: u64) {
        let Some(call) = inside.calls.get_mut(&number) else { return };
        let Shape::Undecided { reply, answers, bytes } = std::mem::replace(&mut call.shape, Shape::Stream)
        else {
            return;
        };
        let (sender, parcels) = channel();
        // One who has gone may come back: what it gets is kept.
        if reply.send(Reply::Stream(parcels)).is_ok() {
            inside.streams.insert(number, sender);
        }
        self.prime(inside, number);
        // All of them are counted with the first.
        let counts = std::iter::once(bytes).chain(std::iter::repeat(0));
        for ((to, answer), count) in answers.into_iter().zip(counts) {
            self.say(inside, number, answer, What::Answer { to, is_last: false }, count);
        }
    }

    /// The first event of a stream says nothing but its number, so that it can be come back to from the beginning, and when.
    fn prime(&self, inside: &mut Inside, stream: u64) {
        // Older clients take an event without a message for a broken one.
        let first = match inside.version.as_str() >= "2025-11-25" {
            true => format!("id: {}\nretry: {RETRY}\ndata: \n\n", inside.log.mint(stream)).into(),
            false => Bytes::from_static(b": \n\n"),
        };
        self.put_raw(inside, stream, first);
    }

    /// The client's own stream.
    pub(crate) fn open_own(&self) -> Result<mpsc::UnboundedReceiver<Parcel>, NoStream> {
        let inside = &mut *self.lock();
        if inside.is_closed {
            return Err(NoStream::Closed);
        }
        if inside.streams.get(&OWN).is_some_and(|stream| !stream.is_closed()) {
            return Err(NoStream::Taken);
        }
        let (sender, parcels) = channel();
        inside.streams.insert(OWN, sender);
        inside.used = Instant::now();
        let last = EventId { stream: OWN, number: u64::MAX };
        self.say_again(inside, OWN, inside.log.after_or_unread(last));
        Ok(parcels)
    }

    /// Goes on with a stream after this event.
    pub(crate) fn resume(&self, after: EventId) -> Result<mpsc::UnboundedReceiver<Parcel>, NoStream> {
        let inside = &mut *self.lock();
        if inside.is_closed {
            return Err(NoStream::Closed);
        }
        let (sender, parcels) = channel();
        let again = match after.stream {
            OWN => inside.log.after_or_unread(after),
            _ => inside.log.after(after),
        };
        // Whoever read it before is gone, or is to be.
        inside.streams.insert(after.stream, sender);
        self.say_again(inside, after.stream, again);
        if after.stream != OWN && !inside.calls.contains_key(&after.stream) {
            // Nothing more comes.
            inside.streams.remove(&after.stream);
        }
        inside.used = Instant::now();
        Ok(parcels)
    }

    fn say_again(&self, inside: &Inside, stream: u64, again: Vec<Again>) {
        let Some(sender) = inside.streams.get(&stream) else { return };
        for again in again {
            let parcel = match again {
                Again::Message(id, message) => {
                    let charge = inside.log.hand_out(id);
                    Parcel::new(event(id, &message), charge).with_receipt(inside.log.receipt(id))
                }
                Again::Dropped(id, request) => Parcel::new(event(id, &dropped(&request)), None),
            };
            let _ = sender.send(parcel);
        }
    }

    /// The first words on the stream of an old client.
    pub(crate) fn say_endpoint(&self, path: &str) {
        let inside = &mut *self.lock();
        self.put_raw(inside, OWN, format!("event: endpoint\ndata: {path}\n\n").into());
    }

    fn charge(&self, count: usize) -> Option<Charge> {
        Some(Charge::new(self.client, count, self.news.clone()))
    }

    fn put_raw(&self, inside: &mut Inside, stream: u64, bytes: Bytes) {
        if let Some(sender) = inside.streams.get(&stream) {
            let _ = sender.send(Parcel::new(bytes, None));
        }
    }

    /// Says something on a stream, and keeps it for one who comes back.
    fn say(&self, inside: &mut Inside, stream: u64, message: Bytes, what: What, count: usize) {
        let is_open = inside.streams.get(&stream).is_some_and(|stream| !stream.is_closed());
        if !is_open {
            inside.streams.remove(&stream);
        }
        let charge = self.charge(count);
        let parcel = match self.manner {
            Manner::OneStream => Parcel::new(old_event(&message), charge),
            Manner::Streamable => {
                // The log has what nobody else holds: it waits there, and is counted.
                let (waits, goes) = match what {
                    What::Question => (charge, None),
                    What::Notice if !is_open => (charge, None),
                    What::Notice | What::Answer { .. } => (None, charge),
                };
                let id = inside.log.note(stream, &message, what, waits);
                if !is_open {
                    return;
                }
                Parcel::new(event(id, &message), goes).with_receipt(inside.log.receipt(id))
            }
        };
        if let Some(sender) = inside.streams.get(&stream) {
            let _ = sender.send(parcel);
        }
    }

    /// How many bytes are as good as gone.
    fn answer(&self, inside: &mut Inside, id: RawId, message: Bytes, count: usize) -> usize {
        let Some(number) = inside.open.remove(&id) else {
            // Of a request that came by another way.
            self.say(inside, OWN, message, What::Answer { to: id, is_last: false }, count);
            return 0;
        };
        inside.used = Instant::now();
        let Some(call) = inside.calls.get_mut(&number) else { return count };
        call.missing -= 1;
        let is_last = call.missing == 0;
        match &mut call.shape {
            Shape::Undecided { answers, bytes, .. } => {
                answers.push((id, message));
                *bytes += count;
                if !is_last {
                    return 0;
                }
            }
            Shape::Stream => self.say(inside, number, message, What::Answer { to: id, is_last }, count),
        }
        if !is_last {
            return 0;
        }
        // Nothing more comes on its stream.
        inside.streams.remove(&number);
        let Some(Call { shape: Shape::Undecided { reply, answers, bytes }, is_batch, .. }) =
            inside.calls.remove(&number)
        else {
            return 0;
        };
        // A short one fits into what the system holds for a connection, and each connection has one at a time: nobody need
        // come back to say that it has gone.
        let gone = if bytes <= SHORT { bytes } else { 0 };
        let _ = reply.send(Reply::Whole(Parcel::new(joined(answers, is_batch), self.charge(bytes - gone))));
        gone
    }

    /// Where something goes that answers nothing.
    fn stream_for(&self, inside: &mut Inside, about: &About) -> Option<u64> {
        let related = match about {
            About::Request(id) => inside.open.get(id).copied(),
            About::Nothing => None,
        };
        let takes =
            |inside: &Inside, number: &u64| inside.calls.get(number).is_some_and(|call| call.takes_streams);
        if let Some(number) = related.filter(|number| takes(inside, number)) {
            self.to_stream(inside, number);
            return Some(number);
        }
        if inside.streams.get(&OWN).is_some_and(|stream| !stream.is_closed()) {
            return Some(OWN);
        }
        // Better beside another request than not at all: it may be a question.
        let open = inside.calls.keys().copied().filter(|number| takes(inside, number)).max();
        if let Some(number) = open {
            self.to_stream(inside, number);
        }
        open
    }
}

impl Mailbox for Session {
    fn put(&self, out: Outgoing, about: About) -> usize {
        let is_response = matches!(out.kind(), OutgoingKind::Response { .. });
        let answered = out.id().filter(|_| is_response).map(RawId::from_bytes);
        let count = out.len();
        let what = if out.is_request() { What::Question } else { What::Notice };
        let message = Bytes::from(out.on_one_line().to_vec());
        let inside = &mut *self.lock();
        if inside.is_closed {
            return count;
        }
        if self.manner == Manner::OneStream {
            self.say(inside, OWN, message, what, count);
            return 0;
        }
        if let Some(id) = answered {
            return self.answer(inside, id, message, count);
        }
        // Without any stream it waits for the client's own.
        let stream = self.stream_for(inside, &about).unwrap_or(OWN);
        self.say(inside, stream, message, what, count);
        0
    }

    fn close(&self) {
        let inside = &mut *self.lock();
        inside.is_closed = true;
        inside.streams.clear();
        inside.calls.clear();
        inside.open.clear();
        inside.log.clear();
    }
}

/// A stream to one client. What waits in it is counted by the core, which gives a client that does not read nothing more.
#[expect(clippy::disallowed_methods, reason = "the core's byte credits bound it")]
fn channel() -> (mpsc::UnboundedSender<Parcel>, mpsc::UnboundedReceiver<Parcel>) {
    mpsc::unbounded_channel()
}

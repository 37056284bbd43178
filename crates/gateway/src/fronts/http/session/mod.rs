//! One HTTP client: its open requests and its streams.
//!
//! # Layout
//! - `delivery`: the way of each message to the client.

mod delivery;

use super::body::BodyPart;
use super::events::{EventLog, EventStore};
use super::inbox::Inbox;
use super::route::RouteTarget;
use super::slow::Streams;
use super::visitor::Visitor;
use crate::io::reader::ClientReader;
use bytes::Bytes;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::time::Instant;
use switchboard_core::{ClientId, MemberPath};
use switchboard_process::lock::{Lock, LockGuard};
use switchboard_protocol::{Broken, Parsed, RawId, Refusal};
use tokio::sync::{mpsc, oneshot};

/// Number of the client's own stream.
const OWN_STREAM: u64 = 0;

pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) client: ClientId,
    pub(crate) target: RouteTarget,
    /// The party that began the session; only it may use it.
    pub(crate) visitor: Visitor,
    pub(crate) transport: ClientTransport,
    inbox: Arc<Inbox>,
    gone: mpsc::UnboundedSender<String>,
    /// Reads the paths in the client's messages.
    reader: tokio::sync::Mutex<ClientReader>,
    inside: Lock<SessionState>,
}

/// Identity of a new session.
pub(crate) struct Who {
    pub(crate) id: String,
    pub(crate) client: ClientId,
    pub(crate) target: RouteTarget,
    pub(crate) visitor: Visitor,
    pub(crate) transport: ClientTransport,
    pub(crate) reader: ClientReader,
}

/// Transport of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientTransport {
    Streamable,
    /// HTTP+SSE: all messages on one stream.
    OneStream,
}

struct SessionState {
    /// Open requests, each with the number of its call.
    open: HashMap<RawId, u64>,
    calls: HashMap<u64, Call, BuildHasherDefault<OwnNumber>>,
    /// Open SSE streams by number.
    streams: HashMap<u64, mpsc::UnboundedSender<BodyPart>>,
    next: u64,
    log: EventLog,
    version: String,
    used: Instant,
    is_closed: bool,
}

/// Hasher for our own numbers, which no attacker can choose.
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

/// One POST with requests.
struct Call {
    /// Requests without an answer, except for cancelled ones of a batch.
    missing: usize,
    is_batch: bool,
    /// Whether the client has cancelled its only request. A late answer may come.
    is_cancelled: bool,
    takes_streams: bool,
    shape: Shape,
}

enum Shape {
    /// May still be answered as a whole.
    Undecided {
        reply: oneshot::Sender<CallOutcome>,
        answers: Vec<(RawId, Bytes)>,
        bytes: usize,
    },
    Stream,
}

/// Result of a call.
pub(crate) enum CallOutcome {
    /// With the reason, if it is one error of ours.
    Whole(BodyPart, Option<Refusal>),
    Stream(mpsc::UnboundedReceiver<BodyPart>),
}

/// Reason why a stream cannot be opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoStream {
    /// The session already has one.
    Taken,
    Closed,
}

impl Session {
    pub(crate) fn new(
        who: Who,
        events: &Arc<EventStore>,
        inbox: Arc<Inbox>,
        gone: mpsc::UnboundedSender<String>,
    ) -> Arc<Self> {
        let inside = SessionState {
            open: HashMap::new(),
            calls: HashMap::default(),
            streams: HashMap::new(),
            next: OWN_STREAM + 1,
            log: EventLog::new(events.clone(), who.client),
            version: String::new(),
            used: Instant::now(),
            is_closed: false,
        };
        let Who { id, client, target, visitor, transport, reader } = who;
        let reader = tokio::sync::Mutex::new(reader);
        let inside = Lock::new(inside);
        Arc::new(Self { id, client, target, visitor, transport, inbox, gone, reader, inside })
    }

    fn lock(&self) -> LockGuard<'_, SessionState> {
        self.inside.lock()
    }

    pub(crate) fn set_version(&self, version: &str) {
        self.lock().version = version.to_owned();
    }

    /// Paths that a frame names.
    pub(crate) async fn paths(&self, frame: &Result<Parsed, Broken>) -> Vec<MemberPath> {
        // Fast path: most frames name no path, or one that is cached.
        if let Ok(reader) = self.reader.try_lock()
            && let Some(paths) = reader.paths_now(frame)
        {
            return paths;
        }
        self.reader.lock().await.paths(frame).await
    }

    /// Since when the session has been idle; `None` if it is in use.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let inside = &mut *self.lock();
        // A stream whose client has left stays listed until the next send.
        inside.streams.retain(|_, stream| !stream.is_closed());
        // A cancelled call is stored until its session ends, but nobody waits for it.
        if inside.calls.values().any(|call| call.missing > 0 && !call.is_cancelled)
            || !inside.streams.is_empty()
        {
            // In use, so the idle time starts over.
            inside.used = Instant::now();
            return None;
        }
        Some(inside.used)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Reports that the client has left.
    pub(crate) fn leave(&self) {
        let _ = self.gone.send(self.id.clone());
    }

    /// Records activity of the client. The version header helps when the answer to the handshake
    /// was streamed and not inspected.
    pub(crate) fn touch(&self, version: Option<&str>) {
        let mut inside = self.lock();
        inside.used = Instant::now();
        if let Some(version) = version.filter(|_| inside.version.is_empty()) {
            inside.version = version.to_owned();
        }
    }

    /// Opens a call with these requests; `None` if an id is in use.
    pub(crate) fn open_call(
        &self,
        ids: &[RawId],
        is_batch: bool,
        takes_streams: bool,
    ) -> Option<(u64, oneshot::Receiver<CallOutcome>)> {
        let mut inside = self.lock();
        // JSON-RPC needs a unique id per open request; otherwise two calls would fight for one answer.
        let is_twice = ids.iter().enumerate().any(|(at, id)| ids[..at].contains(id));
        if inside.is_closed || is_twice || ids.iter().any(|id| inside.open.contains_key(id)) {
            return None;
        }
        let number = inside.next;
        inside.next += 1;
        let (reply, answer) = oneshot::channel();
        let shape = Shape::Undecided { reply, answers: Vec::new(), bytes: 0 };
        let call = Call { missing: ids.len(), is_batch, is_cancelled: false, takes_streams, shape };
        inside.calls.insert(number, call);
        inside.open.extend(ids.iter().map(|id| (id.clone(), number)));
        inside.used = Instant::now();
        Some((number, answer))
    }

    /// Drops the call of one request, as if it had not been made. `false` once a part of its answer was sent.
    pub(crate) fn drop_call(&self, id: &RawId) -> bool {
        let inside = &mut *self.lock();
        let Some(number) = inside.open.get(id).copied() else { return false };
        // A batch, or a stream that has begun, must be finished in the usual way.
        let is_whole = |call: &Call| !call.is_batch && matches!(call.shape, Shape::Undecided { .. });
        if !inside.calls.get(&number).is_some_and(is_whole) {
            return false;
        }
        inside.open.remove(id);
        inside.calls.remove(&number);
        true
    }
}

impl Streams for Session {
    /// The client sees that the call is alive, and can reconnect for the answer.
    fn begin_stream(&self, call: u64) {
        let inside = &mut *self.lock();
        if inside.calls.get(&call).is_none_or(|call| !call.takes_streams) {
            return;
        }
        self.to_stream(inside, call);
    }
}

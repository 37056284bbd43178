//! One client of the core behind requests that have no session: its open requests, each with its own response.
//! Must not know who asks.

use super::super::body::{BodyPart, Charge};
use super::super::frames::old_event;
use super::super::inbox::Inbox;
use super::super::slow::Streams;
use super::call::{CallGuard, Failure, Outcome};
use super::params::KnownParams;
use crate::io::mailbox::Mailbox;
use crate::io::reader::ClientReader;
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use switchboard_core::{About, ClientId, Event, MemberPath};
use switchboard_process::lock::{Lock, LockGuard};
use switchboard_protocol::{Broken, Method, Outgoing, OutgoingKind, Parsed, RawId, parse};
use tokio::sync::{mpsc, oneshot};

/// Longest answer that counts as sent at once.
const MAX_SHORT_ANSWER_BYTES: usize = 4 << 10;

/// Closed requests whose late answers a client waits for. With more, it takes no new requests. The core keeps fewer of a
/// modern client.
const MAX_ABANDONED: usize = 64;

pub(crate) struct StatelessClient {
    pub(super) id: ClientId,
    /// Shared by all clients of an owner.
    pub(super) params: Arc<KnownParams>,
    inbox: Arc<Inbox>,
    /// Reads the paths in the client's messages.
    reader: tokio::sync::Mutex<ClientReader>,
    inside: Lock<ClientState>,
}

struct ClientState {
    open: HashMap<RawId, OpenRequest>,
    next: u64,
    used: Instant,
    is_closed: bool,
}

struct OpenRequest {
    /// Tells requests with the same id apart.
    number: u64,
    takes_streams: bool,
    state: RequestState,
}

enum RequestState {
    /// Without a message so far.
    Waiting(oneshot::Sender<Outcome>),
    Streaming(mpsc::UnboundedSender<BodyPart>),
    /// The client has closed the response. The id stays in use until a late answer comes under it, or none can.
    Abandoned,
}

/// A request to be opened.
#[derive(Debug, Clone)]
pub(super) struct Opening {
    pub(super) id: RawId,
    pub(super) takes_streams: bool,
}

impl StatelessClient {
    pub(super) fn new(
        id: ClientId,
        params: Arc<KnownParams>,
        inbox: Arc<Inbox>,
        reader: ClientReader,
    ) -> Arc<Self> {
        let inside = ClientState { open: HashMap::new(), next: 0, used: Instant::now(), is_closed: false };
        let reader = tokio::sync::Mutex::new(reader);
        Arc::new(Self { id, params, inbox, reader, inside: Lock::new(inside) })
    }

    fn lock(&self) -> LockGuard<'_, ClientState> {
        self.inside.lock()
    }

    /// Opens a request; `None` if its id is in use, or the client takes no more.
    pub(super) fn open(
        self: &Arc<Self>,
        opening: &Opening,
    ) -> Option<(CallGuard, oneshot::Receiver<Outcome>)> {
        let mut inside = self.lock();
        if inside.is_closed || inside.is_worn_out() || inside.open.contains_key(&opening.id) {
            return None;
        }
        let number = inside.next;
        inside.next += 1;
        let (reply, answer) = oneshot::channel();
        let takes_streams = opening.takes_streams;
        let request = OpenRequest { number, takes_streams, state: RequestState::Waiting(reply) };
        inside.open.insert(opening.id.clone(), request);
        inside.used = Instant::now();
        Some((CallGuard::new(self.clone(), opening.id.clone(), number), answer))
    }

    /// Paths that a frame names.
    pub(super) async fn paths(&self, frame: &Result<Parsed, Broken>) -> Vec<MemberPath> {
        // Fast path: most frames name no path, or one that is cached.
        if let Ok(reader) = self.reader.try_lock()
            && let Some(paths) = reader.paths_now(frame)
        {
            return paths;
        }
        self.reader.lock().await.paths(frame).await
    }

    /// Handles a response that its client has closed: before the answer, that cancels the request.
    pub(super) fn abandon(&self, id: &RawId, number: u64) {
        let mut inside = self.lock();
        let Some(request) = inside.open.get_mut(id).filter(|request| request.number == number) else {
            return;
        };
        request.state = RequestState::Abandoned;
        inside.used = Instant::now();
        // Under the lock, so that the cancellation precedes any later request.
        self.cancel(id, "the client closed the response");
    }

    fn cancel(&self, id: &RawId, why: &str) {
        let id = String::from_utf8_lossy(id.as_bytes());
        self.say(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"{why}"}}}}"#
        ));
    }

    /// Passes a message of ours to the core, on behalf of the client.
    fn say(&self, message: String) {
        let frame = parse(message.into());
        self.inbox.said(Event::FromClient { client: self.id, frame, paths: Vec::new() });
    }

    /// Removes a request that the core has not heard of. `false` once a part of its answer was sent.
    pub(crate) fn drop_call(&self, id: &RawId) -> bool {
        let mut inside = self.lock();
        let is_waiting =
            inside.open.get(id).is_some_and(|request| matches!(request.state, RequestState::Waiting(_)));
        if is_waiting {
            inside.open.remove(id);
        }
        is_waiting
    }

    /// Since when the client has been idle; `None` if it is in use.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let inside = self.lock();
        (!inside.is_in_use()).then_some(inside.used)
    }

    /// Whether the client is to be ended: closed, or idle and of no more use.
    pub(super) fn is_spent(&self) -> bool {
        let inside = self.lock();
        inside.is_closed || (inside.is_worn_out() && !inside.is_in_use())
    }

    /// Lets no more requests in, unless the client is in use.
    pub(super) fn close_if_idle(&self) -> bool {
        let mut inside = self.lock();
        inside.is_closed |= !inside.is_in_use();
        inside.is_closed
    }

    fn charge(&self, count: usize) -> Option<Charge> {
        (count > 0).then(|| Charge::new(self.id, count, self.inbox.clone()))
    }

    /// Declines a server's request: there is no client to ask. Without an answer the server might wait for ever.
    fn decline(&self, out: &Outgoing) {
        let Some(id) = out.id() else { return };
        let id = String::from_utf8_lossy(id);
        self.say(match out.method() {
            Method::Ping => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
            _ => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"this client cannot be asked"}}}}"#
            ),
        });
    }

    /// Delivers a notification to the request that it is about. Returns the bytes that no longer wait.
    fn notify(&self, out: Outgoing, about: &About) -> usize {
        let (count, method) = (out.len(), out.method());
        let inside = &mut *self.lock();
        let About::Request(id) = about else { return count };
        let Some(request) = inside.open.get_mut(id).filter(|request| request.takes_streams) else {
            // Without a stream to carry it, a notification has no place.
            return count;
        };
        request.become_stream();
        let RequestState::Streaming(sender) = &request.state else { return count };
        let part = BodyPart::new(old_event(&on_one_line(out)), self.charge(count));
        // A failed send frees the bytes by dropping the charge.
        let _ = sender.send(part);
        if method == Method::Cancelled {
            // The server has ended the subscription; no answer follows.
            inside.open.remove(id);
            self.cancel(id, "the server ended the subscription");
        }
        0
    }
}

impl ClientState {
    fn is_in_use(&self) -> bool {
        self.open.values().any(|request| !matches!(request.state, RequestState::Abandoned))
    }

    /// Whether too many closed requests are still waited for.
    fn is_worn_out(&self) -> bool {
        let is_abandoned = |request: &&OpenRequest| matches!(request.state, RequestState::Abandoned);
        self.open.len() >= MAX_ABANDONED && self.open.values().filter(is_abandoned).count() >= MAX_ABANDONED
    }

    /// Delivers an answer. Returns the bytes that no longer wait.
    fn answer(&mut self, id: &RawId, answered: Answered, charge: impl Fn(usize) -> Option<Charge>) -> usize {
        let Answered { message, count, refusal, failure } = answered;
        let Some(request) = self.open.remove(id) else { return count };
        self.used = Instant::now();
        match request.state {
            RequestState::Waiting(reply) => {
                // A short answer fits into the connection's socket buffer, and needs no later notice.
                let gone = if count <= MAX_SHORT_ANSWER_BYTES { count } else { 0 };
                let part = BodyPart::new(message, charge(count - gone));
                let _ = reply.send(Outcome::Whole { part, refusal, failure });
                gone
            }
            RequestState::Streaming(sender) => {
                let _ = sender.send(BodyPart::new(old_event(&message), charge(count)));
                0
            }
            RequestState::Abandoned => count,
        }
    }
}

impl OpenRequest {
    /// Turns the response into a stream, if it is not one yet.
    fn become_stream(&mut self) {
        let (sender, parts) = channel();
        match std::mem::replace(&mut self.state, RequestState::Abandoned) {
            RequestState::Waiting(reply) => {
                // A failed send means that the connection has just been closed, which the guard reports.
                let _ = reply.send(Outcome::Stream(parts));
                self.state = RequestState::Streaming(sender);
            }
            other @ (RequestState::Streaming(_) | RequestState::Abandoned) => self.state = other,
        }
    }
}

impl Streams for StatelessClient {
    /// Comments on the stream then keep proxies from closing the connection.
    fn begin_stream(&self, call: u64) {
        let mut inside = self.lock();
        let request = inside.open.values_mut().find(|request| request.number == call);
        if let Some(request) = request.filter(|request| request.takes_streams) {
            request.become_stream();
        }
    }
}

/// An answer of the core.
struct Answered {
    message: Bytes,
    count: usize,
    refusal: Option<switchboard_protocol::Refusal>,
    failure: Option<Failure>,
}

impl Mailbox for StatelessClient {
    fn put(&self, out: Outgoing, about: About) -> usize {
        let count = out.len();
        match out.kind() {
            OutgoingKind::Request => self.decline(&out),
            OutgoingKind::Notification => return self.notify(out, &about),
            OutgoingKind::Response { failed } => {
                let Some(id) = out.id().map(RawId::from_bytes) else { return count };
                let refusal = out.reason();
                let message = on_one_line(out);
                let failure = failed.then(|| Failure::read(&message));
                let answered = Answered { message, count, refusal, failure };
                return self.lock().answer(&id, answered, |count| self.charge(count));
            }
            // No batch is ever passed on.
            OutgoingKind::BatchResponse => {}
        }
        count
    }

    fn no_answer(&self, id: &RawId) {
        let mut inside = self.lock();
        // Another request has the id if the answer came before the cancellation.
        if inside.open.get(id).is_some_and(|request| matches!(request.state, RequestState::Abandoned)) {
            inside.open.remove(id);
        }
    }

    fn close(&self) {
        let mut inside = self.lock();
        inside.is_closed = true;
        inside.open.clear();
    }
}

/// A message without line breaks, which would end the `data` field of an event.
fn on_one_line(out: Outgoing) -> Bytes {
    Bytes::from(out.on_one_line().to_vec())
}

/// Channel to one connection. The core counts the bytes in it and stops sending to a client that does not read.
#[expect(clippy::disallowed_methods, reason = "the core's byte credits bound it")]
fn channel() -> (mpsc::UnboundedSender<BodyPart>, mpsc::UnboundedReceiver<BodyPart>) {
    mpsc::unbounded_channel()
}

#[cfg(test)]
mod tests;

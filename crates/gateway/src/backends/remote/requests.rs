//! Messages to a remote server: taken from the mailbox and delivered, many at a time, in the order that matters.
//!
//! Requests go side by side. The handshake goes before all else; notifications keep their order; a cancellation goes
//! after what it cancels.

use super::Remote;
use super::body::RequestBody;
use super::fault::Fault;
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use switchboard_process::aside;
use switchboard_protocol::hunt::{self, Glimpse};
use switchboard_protocol::{Kind, Message, Method, Outgoing, Parsed, Part, RawId, parse};
use tokio::sync::{Notify, mpsc, watch};

/// Longer messages are only looked at for what is needed, and on another thread.
const MAX_INLINE_BYTES: usize = 256 << 10;
/// How long the answer to a cancelled request is still listened for. The server decides whether there is one.
const CANCELLED_ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a server may take to hear that we are ready before it is taken to have heard it.
const INITIALIZED_TIMEOUT: Duration = Duration::from_secs(10);

/// How long is waited for the stream on which the server speaks by itself. Some say nothing before they have something to
/// say.
const LISTEN_TIMEOUT: Duration = Duration::from_millis(500);

/// One message to the server.
#[derive(Clone)]
pub(super) struct RemoteRequest {
    pub(super) body: RequestBody,
    pub(super) method: Method,
    /// Of a request; others are not answered.
    pub(super) id: Option<RawId>,
    /// The whole of it, if it is short.
    pub(super) message: Option<Message>,
}

/// Requests that are on their way or being worked on, by their ids.
#[derive(Default)]
pub(super) struct InFlightRequests(HashMap<RawId, InFlightRequest>);

struct InFlightRequest {
    sent: watch::Receiver<bool>,
    cancelled: Arc<Notify>,
    /// The common stream of events by which its answer comes.
    elsewhere: Option<u32>,
    method: Method,
}

impl InFlightRequests {
    pub(super) fn arrived(&mut self, id: &RawId) {
        self.0.remove(id);
    }

    pub(super) fn has(&self, id: &RawId) -> bool {
        self.0.contains_key(id)
    }

    fn begin(&mut self, request: &RemoteRequest) -> Arc<Notify> {
        let cancelled = Arc::new(Notify::new());
        let entry = InFlightRequest {
            sent: request.body.sent(),
            cancelled: cancelled.clone(),
            elsewhere: None,
            method: request.method,
        };
        if let Some(id) = &request.id {
            self.0.insert(id.clone(), entry);
        }
        cancelled
    }

    /// It has been taken; the answer comes by this stream of events.
    pub(super) fn goes_on_elsewhere(&mut self, id: &RawId, stream: u32) {
        if let Some(entry) = self.0.get_mut(id) {
            entry.elsewhere = Some(stream);
        }
    }

    /// It was refused: no stream owes its answer.
    pub(super) fn is_refused(&mut self, id: &RawId) {
        if let Some(entry) = self.0.get_mut(id) {
            entry.elsewhere = None;
        }
    }

    /// Those whose answers this stream of events owes; they are taken out.
    pub(super) fn take_elsewhere(&mut self, stream: u32) -> Vec<RawId> {
        let gone = self.0.extract_if(|_, entry| entry.elsewhere == Some(stream));
        // Whoever looks for a sign of life is to find none.
        let gone = gone.filter(|(_, entry)| entry.method != Method::Ping);
        gone.map(|(id, _)| id).collect()
    }

    /// Nobody needs its answer any more. Gives what a cancellation has to wait for.
    fn cancel(&mut self, id: &RawId) -> Option<watch::Receiver<bool>> {
        let entry = self.0.remove(id)?;
        entry.cancelled.notify_one();
        Some(entry.sent)
    }
}

impl RemoteRequest {
    pub(super) async fn read(out: &Outgoing) -> Self {
        let body = RequestBody::of(out);
        let bytes = body.to_bytes();
        if bytes.len() <= MAX_INLINE_BYTES {
            return Self::short(body, bytes);
        }
        let Glimpse { id, method, is_answer, .. } = aside::run(move || hunt::look(&bytes)).await;
        let method = method.filter(|_| !is_answer);
        Self {
            body,
            id: id.filter(|_| method.is_some()),
            method: method.map_or(Method::Other, |name| Method::from_name(&name)),
            message: None,
        }
    }

    /// One that is known to be short.
    pub(super) fn of(out: &Outgoing) -> Self {
        let body = RequestBody::of(out);
        let bytes = body.to_bytes();
        Self::short(body, bytes)
    }

    fn short(body: RequestBody, bytes: Bytes) -> Self {
        let message = match parse(bytes) {
            Ok(Parsed::One(message)) => Some(message),
            Ok(Parsed::Batch(_)) | Err(_) => None,
        };
        let is_request = message.as_ref().is_some_and(|message| message.kind() == Kind::Request);
        Self {
            body,
            method: message.as_ref().map_or(Method::Other, Message::method),
            id: message.as_ref().filter(|_| is_request).and_then(Message::id),
            message,
        }
    }

    /// Sending it twice does no more than sending it once.
    pub(super) fn is_repeatable(&self) -> bool {
        self.id.is_none() || self.method.is_repeatable() || self.method == Method::Initialize
    }
}

/// Takes messages until no more come, and what must be waited for is done. Ends early if the handshake fails.
pub(super) async fn deliver_all(
    remote: &Arc<Remote>,
    mut messages: mpsc::UnboundedReceiver<Outgoing>,
) -> Result<(), Fault> {
    // Whoever still has one of these is not done.
    let (busy, mut idle) = mpsc::channel::<()>(1);
    let mut before: Option<watch::Receiver<bool>> = None;
    while let Some(out) = messages.recv().await {
        let request = RemoteRequest::read(&out).await;
        drop(out);
        if let Some(message) = &request.message {
            remote.state().repeated.note(message);
        }
        match request.method {
            Method::Initialize => {
                let greeted = remote.greet(&request).await;
                remote.settle(&request);
                greeted?;
            }
            Method::Initialized => {
                // Some have something to say as soon as they hear it.
                remote.begin_listening().await;
                // What follows must not come before it; but nobody has to be answered.
                let sent = tokio::time::timeout(INITIALIZED_TIMEOUT, remote.post(&request, None)).await;
                remote.settle(&request);
                remote.report(&request, sent.ok().and_then(Result::err));
                remote.listen_again().await;
            }
            _ if request.id.is_some() => {
                let cancelled = remote.state().in_flight.begin(&request);
                remote.spawn("exchange", remote.clone().ask_for_core(request, cancelled));
            }
            _ => {
                let after = [before.take(), remote.cancelled_by(&request)];
                before = Some(request.body.sent());
                remote.spawn("exchange", remote.clone().tell(request, after, busy.clone()));
            }
        }
    }
    drop(busy);
    let _ = idle.recv().await;
    Ok(())
}

impl Remote {
    /// What the server says by itself from now on must find someone who listens.
    async fn begin_listening(&self) {
        let number = self.session().number;
        self.listened.send_replace(number);
        if number > 0 && !self.is_legacy() {
            let mut answered = self.answered.subscribe();
            let _ =
                tokio::time::timeout(LISTEN_TIMEOUT, answered.wait_for(|(answered, _)| *answered >= number))
                    .await;
        }
    }

    /// A server may not want to be listened to before the handshake is complete.
    async fn listen_again(&self) {
        if *self.answered.borrow() == (self.session().number, true) {
            self.answered.send_replace((0, false));
            self.begin_listening().await;
        }
    }

    /// What a cancellation has to wait for; the one that is meant hears of it.
    fn cancelled_by(&self, request: &RemoteRequest) -> Option<watch::Receiver<bool>> {
        if request.method != Method::Cancelled {
            return None;
        }
        let id = RawId::from_bytes(request.message.as_ref()?.part(Part::RequestId)?);
        self.state().in_flight.cancel(&id)
    }

    /// A request: its answer, or an error in its place.
    async fn ask_for_core(self: Arc<Self>, request: RemoteRequest, cancelled: Arc<Notify>) {
        let mut sent = request.body.sent();
        let flushing = async {
            let _ = sent.wait_for(|sent| *sent).await;
            self.hub.flushed(self.peer(), request.body.len());
        };
        let asking = async {
            let posted = tokio::select! {
                posted = self.post(&request, None) => posted.map(drop),
                () = async { cancelled.notified().await; tokio::time::sleep(CANCELLED_ANSWER_TIMEOUT).await } => Ok(()),
            };
            request.body.settle();
            posted
        };
        let ((), posted) = tokio::join!(flushing, asking);
        self.report(&request, posted.err());
    }

    /// A notification or an answer.
    async fn tell(
        self: Arc<Self>,
        request: RemoteRequest,
        after: [Option<watch::Receiver<bool>>; 2],
        busy: mpsc::Sender<()>,
    ) {
        for mut earlier in after.into_iter().flatten() {
            let _ = earlier.wait_for(|sent| *sent).await;
        }
        let posted = self.post(&request, None).await;
        self.settle(&request);
        self.report(&request, posted.err());
        drop(busy);
    }

    /// Whatever became of it, it does not wait any more.
    fn settle(&self, request: &RemoteRequest) {
        request.body.settle();
        self.hub.flushed(self.peer(), request.body.len());
    }

    /// A request that failed is answered with why. Whoever looks for a sign of life is to find none.
    fn report(&self, request: &RemoteRequest, fault: Option<Fault>) {
        let Some(fault) = fault else { return };
        let name = request.method.name().unwrap_or("a message");
        self.note(&format!("{name} failed: {}", fault.words(&self.target).text));
        if let Some(id) = &request.id {
            self.state().in_flight.arrived(id);
            if request.method != Method::Ping {
                self.answer(id, &fault);
            }
        }
    }
}

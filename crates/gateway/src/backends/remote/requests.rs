//! Messages of the legacy era: taken from the mailbox and delivered concurrently, in the order that matters.
//!
//! Requests run side by side. The handshake comes first; notifications keep their order; a cancellation
//! follows the request it cancels.

use super::Remote;
use super::body::RequestBody;
use super::fault::Fault;
use super::modern;
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use switchboard_process::aside;
use switchboard_protocol::{Message, Method, Outgoing, Parsed, Part, RawId, parse};
use tokio::sync::{Notify, mpsc, watch};

/// Longest message that is parsed on the spot; messages that must be repeated are shorter.
const MAX_PARSED_BYTES: usize = 256 << 10;
/// Time to wait for the answer to a cancelled request, which the server may or may not send.
const CANCELLED_ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Time limit for the server to accept `initialized`.
const INITIALIZED_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit for the server's own stream to open. Some servers send no headers before their first event.
const LISTEN_TIMEOUT: Duration = Duration::from_millis(500);

/// One message to the server.
#[derive(Clone)]
pub(super) struct RemoteRequest {
    pub(super) body: RequestBody,
    pub(super) method: Method,
    /// Id of a request; other messages have no answer.
    pub(super) id: Option<RawId>,
    /// Not to be sent a second time, whatever its method.
    pub(super) is_once: bool,
}

/// Requests under way, by id.
#[derive(Default)]
pub(super) struct InFlightRequests(HashMap<RawId, InFlightRequest>);

struct InFlightRequest {
    sent: watch::Receiver<bool>,
    cancelled: Arc<Notify>,
    /// Number of the event stream that will carry the answer (2024-11-05).
    elsewhere: Option<u32>,
    method: Method,
}

impl InFlightRequests {
    /// Records an answer. Returns the method of the request.
    pub(super) fn arrived(&mut self, id: &RawId) -> Option<Method> {
        self.0.remove(id).map(|entry| entry.method)
    }

    pub(super) fn method(&self, id: &RawId) -> Option<Method> {
        self.0.get(id).map(|entry| entry.method)
    }

    pub(super) fn has(&self, id: &RawId) -> bool {
        self.0.contains_key(id)
    }

    pub(super) fn begin(&mut self, request: &RemoteRequest) -> Arc<Notify> {
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

    /// Records that the answer will come on this event stream.
    pub(super) fn goes_on_elsewhere(&mut self, id: &RawId, stream: u32) {
        if let Some(entry) = self.0.get_mut(id) {
            entry.elsewhere = Some(stream);
        }
    }

    /// Records a refusal: no stream owes the answer.
    pub(super) fn is_refused(&mut self, id: &RawId) {
        if let Some(entry) = self.0.get_mut(id) {
            entry.elsewhere = None;
        }
    }

    /// Removes and returns the requests whose answers were due on this stream.
    pub(super) fn take_elsewhere(&mut self, stream: u32) -> Vec<RawId> {
        let gone = self.0.extract_if(|_, entry| entry.elsewhere == Some(stream));
        // A ping stays unanswered: it is a health check, which must see that the server is gone.
        let gone = gone.filter(|(_, entry)| entry.method != Method::Ping);
        gone.map(|(id, _)| id).collect()
    }

    /// Drops a request whose answer is no longer needed. Returns the signal that
    /// its cancellation must wait for.
    fn cancel(&mut self, id: &RawId) -> Option<watch::Receiver<bool>> {
        let entry = self.0.remove(id)?;
        entry.cancelled.notify_one();
        Some(entry.sent)
    }
}

impl RemoteRequest {
    pub(super) fn of(out: &Outgoing) -> Self {
        let id = out.id().filter(|_| out.is_request()).map(RawId::from_bytes);
        Self { body: RequestBody::of(out), method: out.method(), id, is_once: false }
    }

    /// The parsed message, for methods whose content matters here.
    fn message(&self) -> Option<Message> {
        let counts = matches!(
            self.method,
            Method::Initialize
                | Method::Initialized
                | Method::SetLevel
                | Method::Subscribe
                | Method::Unsubscribe
                | Method::Cancelled
        );
        if !counts || self.body.len() > MAX_PARSED_BYTES {
            return None;
        }
        one(self.body.to_bytes())
    }

    /// The parsed message, on another thread if it is long.
    pub(super) async fn parsed(&self) -> Option<Message> {
        let bytes = self.body.to_bytes();
        match bytes.len() > MAX_PARSED_BYTES {
            true => aside::run(move || one(bytes)).await,
            false => one(bytes),
        }
    }

    /// Whether sending twice has the same effect as sending once.
    pub(super) fn is_repeatable(&self) -> bool {
        !self.is_once
            && (self.id.is_none() || self.method.is_repeatable() || self.method == Method::Initialize)
    }
}

fn one(bytes: Bytes) -> Option<Message> {
    match parse(bytes) {
        Ok(Parsed::One(message)) => Some(message),
        Ok(Parsed::Batch(_)) | Err(_) => None,
    }
}

/// Delivers messages of the legacy era until the mailbox closes and notifications are sent. Ends early if the handshake fails.
pub(super) async fn deliver(
    remote: &Arc<Remote>,
    first: Outgoing,
    messages: &mut mpsc::UnboundedReceiver<Outgoing>,
) -> Result<(), Fault> {
    // `idle` resolves once every clone of `busy` is dropped, that is, once every notification is sent.
    let (busy, mut idle) = mpsc::channel::<()>(1);
    let mut before: Option<watch::Receiver<bool>> = None;
    let mut next = Some(first);
    while let Some(out) = next.take() {
        let request = RemoteRequest::of(&out);
        drop(out);
        if let Some(message) = request.message() {
            remote.state().repeated.note(&message);
        }
        match request.method {
            Method::Initialize => {
                let greeted = remote.greet(&request).await;
                // Before the error is returned, since the byte credit must be released in any case.
                remote.release_credit(&request);
                greeted?;
            }
            Method::Initialized => {
                // Some servers send messages as soon as they receive `initialized`.
                remote.begin_listening().await;
                // Later messages must not overtake `initialized`, which itself has no answer.
                let sent = tokio::time::timeout(INITIALIZED_TIMEOUT, remote.post(&request, None)).await;
                remote.release_credit(&request);
                remote.report(&request, sent.ok().and_then(Result::err));
                remote.listen_again().await;
            }
            // The server has refused the handshake: without a session it may be a modern one.
            Method::Discover
                if request.id.is_some() && !remote.is_legacy() && remote.session().number == 0 =>
            {
                next = modern::deliver(remote, request, messages).await?;
                continue;
            }
            // The core asks whether the server is modern, too. Inside a session the question would prove nothing.
            Method::Discover if request.id.is_some() && !remote.is_legacy() => {
                let cancelled = remote.state().in_flight.begin(&request);
                remote.spawn("exchange", remote.clone().ask_modern(request, cancelled));
            }
            _ if request.id.is_some() => {
                // Registered here, in order: a cancellation that follows must find the request.
                let cancelled = remote.state().in_flight.begin(&request);
                remote.spawn("exchange", remote.clone().ask_for_core(request, cancelled));
            }
            _ => {
                // A notification waits for the one before it, and a cancellation also for its request.
                let after = [before.take(), remote.cancelled_by(&request)];
                before = Some(request.body.sent());
                remote.spawn("exchange", remote.clone().tell(request, after, busy.clone()));
            }
        }
        next = messages.recv().await;
    }
    // Our own clone would keep `idle` waiting.
    drop(busy);
    let _ = idle.recv().await;
    Ok(())
}

impl Remote {
    /// Opens the server's own stream, so that no message from now on is missed.
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

    /// Retries the stream: some servers refuse it before the handshake is complete.
    async fn listen_again(&self) {
        if *self.answered.borrow() == (self.session().number, true) {
            self.answered.send_replace((0, false));
            self.begin_listening().await;
        }
    }

    /// Signal that a cancellation must wait for; the cancelled request is told.
    pub(super) fn cancelled_by(&self, request: &RemoteRequest) -> Option<watch::Receiver<bool>> {
        if request.method != Method::Cancelled {
            return None;
        }
        let id = RawId::from_bytes(request.message()?.part(Part::RequestId)?);
        self.state().in_flight.cancel(&id)
    }

    /// Sends a request of the core.
    async fn ask_for_core(self: Arc<Self>, request: RemoteRequest, cancelled: Arc<Notify>) {
        let exchange = async {
            tokio::select! {
                posted = self.post(&request, None) => posted.map(drop),
                () = async { cancelled.notified().await; tokio::time::sleep(CANCELLED_ANSWER_TIMEOUT).await } => Ok(()),
            }
        };
        self.carry(&request, exchange).await;
    }

    /// Runs the exchange of a request of the core, which gets the answer or an error.
    pub(super) async fn carry(
        &self,
        request: &RemoteRequest,
        exchange: impl Future<Output = Result<(), Fault>>,
    ) {
        let mut sent = request.body.sent();
        let flushing = async {
            let _ = sent.wait_for(|sent| *sent).await;
            self.core.flushed(request.body.len());
        };
        let asking = async {
            let asked = exchange.await;
            // Also for a request that was never sent: `flushing` waits for this.
            request.body.mark_sent();
            asked
        };
        let ((), asked) = tokio::join!(flushing, asking);
        self.report(request, asked.err());
    }

    /// Sends a notification or an answer.
    async fn tell(
        self: Arc<Self>,
        request: RemoteRequest,
        after: [Option<watch::Receiver<bool>>; 2],
        busy: mpsc::Sender<()>,
    ) {
        for mut earlier in after.into_iter().flatten() {
            // An error means that the earlier message was dropped, and is no longer in the way.
            let _ = earlier.wait_for(|sent| *sent).await;
        }
        let posted = self.post(&request, None).await;
        self.release_credit(&request);
        self.report(&request, posted.err());
        // Held until here, since the farewell waits for all notifications.
        drop(busy);
    }

    /// Releases the message's byte credit, whatever its outcome.
    pub(super) fn release_credit(&self, request: &RemoteRequest) {
        request.body.mark_sent();
        self.core.flushed(request.body.len());
    }

    /// Logs a failure and answers the request with an error. A ping gets no answer, so that the
    /// health check sees the failure.
    pub(super) fn report(&self, request: &RemoteRequest, fault: Option<Fault>) {
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

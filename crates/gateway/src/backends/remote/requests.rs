//! Messages to a remote server: taken from the mailbox and delivered, many at a time, in the order that matters.
//!
//! Requests go side by side. The handshake goes before all else; notifications keep their order; a cancellation goes
//! after what it cancels.

use super::Remote;
use super::fault::Fault;
use super::parcel::Parcel;
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use switchboard_process::aside;
use switchboard_protocol::hunt::{self, Glimpse};
use switchboard_protocol::{Kind, Message, Method, Outgoing, Parsed, Part, RawId, parse};
use tokio::sync::{Notify, mpsc, watch};

/// Longer messages are only looked at for what is needed, and on another thread.
const LONG: usize = 256 << 10;
/// How long the answer to a cancelled request is still listened for. The server decides whether there is one.
const AFTERMATH: Duration = Duration::from_secs(60);

/// How long a server may take to hear that we are ready before it is taken to have heard it.
const CONFIRMING: Duration = Duration::from_secs(10);

/// How long is waited for the stream on which the server speaks by itself. Some say nothing before they have something to
/// say.
const LISTENING: Duration = Duration::from_millis(500);

/// One message to the server.
#[derive(Clone)]
pub(super) struct Letter {
    pub(super) parcel: Parcel,
    pub(super) method: Method,
    /// Of a request; others are not answered.
    pub(super) id: Option<RawId>,
    /// The whole of it, if it is short.
    pub(super) message: Option<Message>,
}

/// Requests that are on their way or being worked on, by their ids.
#[derive(Default)]
pub(super) struct Flights(HashMap<RawId, Flight>);

struct Flight {
    sent: watch::Receiver<bool>,
    cancelled: Arc<Notify>,
    /// The common stream of events by which its answer comes.
    elsewhere: Option<u32>,
    method: Method,
}

impl Flights {
    pub(super) fn arrived(&mut self, id: &RawId) {
        self.0.remove(id);
    }

    pub(super) fn has(&self, id: &RawId) -> bool {
        self.0.contains_key(id)
    }

    fn begin(&mut self, letter: &Letter) -> Arc<Notify> {
        let cancelled = Arc::new(Notify::new());
        let flight = Flight {
            sent: letter.parcel.sent(),
            cancelled: cancelled.clone(),
            elsewhere: None,
            method: letter.method,
        };
        if let Some(id) = &letter.id {
            self.0.insert(id.clone(), flight);
        }
        cancelled
    }

    /// It has been taken; the answer comes by this stream of events.
    pub(super) fn goes_on_elsewhere(&mut self, id: &RawId, stream: u32) {
        if let Some(flight) = self.0.get_mut(id) {
            flight.elsewhere = Some(stream);
        }
    }

    /// It was refused: no stream owes its answer.
    pub(super) fn is_refused(&mut self, id: &RawId) {
        if let Some(flight) = self.0.get_mut(id) {
            flight.elsewhere = None;
        }
    }

    /// Those whose answers this stream of events owes; they are taken out.
    pub(super) fn take_elsewhere(&mut self, stream: u32) -> Vec<RawId> {
        let gone = self.0.extract_if(|_, flight| flight.elsewhere == Some(stream));
        // Whoever looks for a sign of life is to find none.
        let gone = gone.filter(|(_, flight)| flight.method != Method::Ping);
        gone.map(|(id, _)| id).collect()
    }

    /// Nobody needs its answer any more. Gives what a cancellation has to wait for.
    fn cancel(&mut self, id: &RawId) -> Option<watch::Receiver<bool>> {
        let flight = self.0.remove(id)?;
        flight.cancelled.notify_one();
        Some(flight.sent)
    }
}

impl Letter {
    pub(super) async fn read(out: &Outgoing) -> Self {
        let parcel = Parcel::of(out);
        let bytes = parcel.to_bytes();
        if bytes.len() <= LONG {
            return Self::short(parcel, bytes);
        }
        let Glimpse { id, method, is_answer, .. } = aside::run(move || hunt::look(&bytes)).await;
        let method = method.filter(|_| !is_answer);
        Self {
            parcel,
            id: id.filter(|_| method.is_some()),
            method: method.map_or(Method::Other, |name| Method::from_name(&name)),
            message: None,
        }
    }

    /// One that is known to be short.
    pub(super) fn of(out: &Outgoing) -> Self {
        let parcel = Parcel::of(out);
        let bytes = parcel.to_bytes();
        Self::short(parcel, bytes)
    }

    fn short(parcel: Parcel, bytes: Bytes) -> Self {
        let message = match parse(bytes) {
            Ok(Parsed::One(message)) => Some(message),
            Ok(Parsed::Batch(_)) | Err(_) => None,
        };
        let is_request = message.as_ref().is_some_and(|message| message.kind() == Kind::Request);
        Self {
            parcel,
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

/// Takes letters until no more come, and what must be waited for is done. Ends early if the handshake fails.
pub(super) async fn deliver_all(
    remote: &Arc<Remote>,
    mut letters: mpsc::UnboundedReceiver<Outgoing>,
) -> Result<(), Fault> {
    // Whoever still has one of these is not done.
    let (busy, mut idle) = mpsc::channel::<()>(1);
    let mut before: Option<watch::Receiver<bool>> = None;
    while let Some(out) = letters.recv().await {
        let letter = Letter::read(&out).await;
        drop(out);
        if let Some(message) = &letter.message {
            remote.state().memory.note(message);
        }
        match letter.method {
            Method::Initialize => {
                let greeted = remote.greet(&letter).await;
                remote.settle(&letter);
                greeted?;
            }
            Method::Initialized => {
                // Some have something to say as soon as they hear it.
                remote.begin_listening().await;
                // What follows must not come before it; but nobody has to be answered.
                let sent = tokio::time::timeout(CONFIRMING, remote.post(&letter, None)).await;
                remote.settle(&letter);
                remote.report(&letter, sent.ok().and_then(Result::err));
                remote.listen_again().await;
            }
            _ if letter.id.is_some() => {
                let cancelled = remote.state().flights.begin(&letter);
                remote.spawn("exchange", remote.clone().ask_for_core(letter, cancelled));
            }
            _ => {
                let after = [before.take(), remote.cancelled_by(&letter)];
                before = Some(letter.parcel.sent());
                remote.spawn("exchange", remote.clone().tell(letter, after, busy.clone()));
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
                tokio::time::timeout(LISTENING, answered.wait_for(|(answered, _)| *answered >= number)).await;
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
    fn cancelled_by(&self, letter: &Letter) -> Option<watch::Receiver<bool>> {
        if letter.method != Method::Cancelled {
            return None;
        }
        let id = RawId::from_bytes(letter.message.as_ref()?.part(Part::RequestId)?);
        self.state().flights.cancel(&id)
    }

    /// A request: its answer, or an error in its place.
    async fn ask_for_core(self: Arc<Self>, letter: Letter, cancelled: Arc<Notify>) {
        let mut sent = letter.parcel.sent();
        let flushing = async {
            let _ = sent.wait_for(|sent| *sent).await;
            self.hub.flushed(self.peer(), letter.parcel.len());
        };
        let asking = async {
            let posted = tokio::select! {
                posted = self.post(&letter, None) => posted.map(drop),
                () = async { cancelled.notified().await; tokio::time::sleep(AFTERMATH).await } => Ok(()),
            };
            letter.parcel.settle();
            posted
        };
        let ((), posted) = tokio::join!(flushing, asking);
        self.report(&letter, posted.err());
    }

    /// A notification or an answer.
    async fn tell(
        self: Arc<Self>,
        letter: Letter,
        after: [Option<watch::Receiver<bool>>; 2],
        busy: mpsc::Sender<()>,
    ) {
        for mut earlier in after.into_iter().flatten() {
            let _ = earlier.wait_for(|sent| *sent).await;
        }
        let posted = self.post(&letter, None).await;
        self.settle(&letter);
        self.report(&letter, posted.err());
        drop(busy);
    }

    /// Whatever became of it, it does not wait any more.
    fn settle(&self, letter: &Letter) {
        letter.parcel.settle();
        self.hub.flushed(self.peer(), letter.parcel.len());
    }

    /// A request that failed is answered with why. Whoever looks for a sign of life is to find none.
    fn report(&self, letter: &Letter, fault: Option<Fault>) {
        let Some(fault) = fault else { return };
        let name = letter.method.name().unwrap_or("a message");
        self.note(&format!("{name} failed: {}", fault.words(&self.target).text));
        if let Some(id) = &letter.id {
            self.state().flights.arrived(id);
            if letter.method != Method::Ping {
                self.answer(id, &fault);
            }
        }
    }
}

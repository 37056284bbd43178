//! A backend that is a remote server, reached over HTTP. To the core it is a process like any other: started
//! (connected), written to, ended.
//!
//! # Layout
//! - `target`: address and headers; `client`: pools of connections; `core_side`: the core, seen from here.
//! - `body`: a message as a request body; `exchange`: one POST and its response; `retries`: their repetition.
//! - `modern`: messages to a modern server; `refusal`: answers made of its refusals; `tool_headers`: headers of its
//!   tools; `fetch_tools`: its tool list, for these headers.
//! - `requests`: messages to a legacy server, and their order; `post`: one of them, sent and answered.
//! - `streams`: event streams, and their resumption; `listen`: messages that the server sends by itself; `legacy`:
//!   transport of 2024-11-05.
//! - `session`: state that the server has about us; `renew`: its restoration; `lost`:
//!   recognition of a lost session.
//! - `fault`: failures and their texts; `budget`: retry limits.
//!
//! Must not know the meaning of messages, apart from the handshake and the setup that is repeated.

mod budget;
mod client;
mod core_side;
mod fault;
mod legacy;
mod requests;
mod listen;
mod lost;
mod body;
mod exchange;
mod post;
mod refusal;
mod renew;
mod retries;
mod session;
mod streams;
mod target;
mod tool_headers;
mod modern;
mod fetch_tools;

pub(crate) use client::Clients;
pub(crate) use target::Target;

use crate::backends::launch::Unready;
use crate::backends::{BackendOrder, BackendOrders};
use crate::config::ServerConfig;
use crate::environments::Vars;
use crate::hub::Hub;
use crate::io::mailbox::Mailbox;
use crate::io::reader::events;
use crate::io::task;
use budget::Budget;
use bytes::Bytes;
use core_side::{CoreSide, HubSide};
use fault::{Fault, FaultWords};
use modern::ModernState;
use requests::{InFlightRequests, RemoteRequest};
use reqwest::Url;
use session::{RemoteSession, RepeatedMessages};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use switchboard_core::{About, Event, Launch, Peer};
use switchboard_process::lock::{Lock, LockGuard};
use switchboard_protocol::{Dialect, Era, Frame, Kind, Message, Method, Outgoing, RawId};
use tokio::sync::{mpsc, oneshot, watch};

/// Time limit for the farewell to a server.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// One remote backend.
struct Remote {
    core: Box<dyn CoreSide>,
    launch: Launch,
    name: String,
    root: Option<String>,
    client: reqwest::Client,
    target: Target,
    /// Largest message that the server may send.
    limit: usize,
    state: Lock<RemoteState>,
    /// Held while a new session is made (legacy), or while the tools are fetched again (modern).
    renewing: tokio::sync::Mutex<()>,
    budget: Lock<Budget>,
    /// Number of the session whose stream is to be read.
    listened: watch::Sender<u32>,
    /// Number of the session whose stream was requested last, and whether that failed.
    answered: watch::Sender<(u32, bool)>,
    /// True at the end: all tasks of this backend stop.
    over: watch::Sender<bool>,
}

struct RemoteState {
    endpoint: Endpoint,
    /// Number of the latest event stream (2024-11-05).
    stream: u32,
    session: RemoteSession,
    repeated: RepeatedMessages,
    in_flight: InFlightRequests,
    /// Our own requests that await an answer.
    own: HashMap<RawId, oneshot::Sender<Message>>,
    asked: u32,
    /// `None` in the legacy era.
    modern: Option<ModernState>,
}

/// Address for messages.
#[derive(Clone, PartialEq, Eq)]
enum Endpoint {
    /// May differ from the config's address after a redirect.
    Streamable(Url),
    /// Address that the event stream named; `None` without a stream.
    Legacy(Option<Url>),
}

/// Queue of messages to send.
struct RemoteMailbox(Lock<Option<mpsc::UnboundedSender<Outgoing>>>);

impl Mailbox for RemoteMailbox {
    fn put(&self, out: Outgoing, _: About) -> usize {
        if let Some(sender) = &*self.0.lock() {
            // The receiver is gone once the backend is over.
            let _ = sender.send(out);
        }
        0
    }

    fn close(&self) {
        self.0.lock().take();
    }
}

/// Governs one remote backend from start to end.
pub(crate) async fn run(
    hub: Arc<Hub>,
    launch: Launch,
    server: &ServerConfig,
    root: Option<&Path>,
    surroundings: (&Vars, &Clients, usize),
    mut orders: BackendOrders,
) {
    let (vars, clients, limit) = surroundings;
    let (target, client) = match reach(server, root, vars, clients) {
        Ok(made) => made,
        // A config error stays until the config changes, so there is no retry.
        Err(Unready { reason, hint }) => return fail(&hub, launch, reason, hint, (false, None)),
    };
    hub.learn_secrets(Vec::new());
    #[expect(clippy::disallowed_methods, reason = "the core's byte credits are its limit")]
    let (sender, messages) = mpsc::unbounded_channel();
    let core = HubSide { hub: hub.clone(), peer: Peer::Backend(launch), name: server.name.clone() };
    let root = root.map(|root| root.to_string_lossy().into_owned());
    let remote =
        Arc::new(Remote::new(Box::new(core), launch, (server.name.clone(), root), (target, client), limit));
    // The mailbox must exist before the core hears of the start, since it answers with messages.
    hub.open_mailbox(Peer::Backend(launch), Arc::new(RemoteMailbox(Lock::new(Some(sender)))));
    // A remote server has no process here; 0 stands for none.
    hub.handle(Event::Spawned { launch, pid: 0 });
    remote.spawn("listening", remote.clone().keep_listening());
    let failed = deliver_until(&remote, messages, &mut orders).await.err();
    // Stops the tasks first, so that none of them reports anything after the end.
    remote.over.send_replace(true);
    match failed {
        Some(fault) => {
            let FaultWords { text, hint, retryable, .. } = fault.words(&remote.target);
            fail(&hub, launch, text, Some(hint), (retryable, fault.after()));
        }
        None => {
            let mut turn = hub.turn();
            turn.forget(launch);
            let (how, stderr) = ("it was closed".to_owned(), String::new());
            turn.handle(Event::BackendEnded { launch, how, stderr, hint: None });
        }
    }
}

/// Resolves the server's address and the client to reach it.
fn reach(
    server: &ServerConfig,
    root: Option<&Path>,
    vars: &Vars,
    clients: &Clients,
) -> Result<(Target, reqwest::Client), Unready> {
    let target = Target::prepare(server, root, vars)?;
    match clients.of(&target) {
        Ok(client) => Ok((target, client)),
        Err(error) => Err(Unready {
            reason: format!("cannot set up TLS: {}", fault::innermost(&error)),
            hint: Some("install this machine's certificates (ca-certificates)".to_owned()),
        }),
    }
}

/// Delivers messages until the order to stop, then says farewell. Ends early if the handshake fails.
async fn deliver_until(
    remote: &Arc<Remote>,
    messages: mpsc::UnboundedReceiver<Outgoing>,
    orders: &mut BackendOrders,
) -> Result<(), Fault> {
    let delivering = deliver_all(remote, messages);
    tokio::pin!(delivering);
    let order = tokio::select! {
        delivered = &mut delivering => {
            delivered?;
            // No message can follow, only the order to stop.
            orders.recv().await
        }
        order = orders.recv() => {
            // Messages from before the order are still sent.
            if let Some(grace) = order.as_ref().and_then(BackendOrder::grace) {
                let _ = tokio::time::timeout(grace.min(CLOSE_TIMEOUT), &mut delivering).await;
            }
            order
        }
    };
    remote.say_farewell(order).await;
    Ok(())
}

/// Delivers messages until the mailbox closes. The first one tells the era.
async fn deliver_all(
    remote: &Arc<Remote>,
    mut messages: mpsc::UnboundedReceiver<Outgoing>,
) -> Result<(), Fault> {
    let mut next = messages.recv().await;
    if let Some(first) = next.as_ref().filter(|first| first.method() == Method::Discover) {
        next = modern::deliver(remote, RemoteRequest::of(first), &mut messages).await?;
    }
    match next {
        Some(first) => requests::deliver(remote, first, &mut messages).await,
        None => Ok(()),
    }
}

/// Reports a failed start. `again` says whether a retry may succeed, and when, if that is known.
fn fail(
    hub: &Arc<Hub>,
    launch: Launch,
    reason: String,
    hint: Option<String>,
    again: (bool, Option<Duration>),
) {
    let (retryable, after) = again;
    let mut turn = hub.turn();
    turn.forget(launch);
    turn.handle(Event::NotReached { launch, reason, hint, retryable, after });
}

impl RemoteState {
    fn new(target: &Target) -> Self {
        let endpoint = match target.transport {
            crate::config::Transport::Sse => Endpoint::Legacy(None),
            crate::config::Transport::Auto | crate::config::Transport::Http => {
                Endpoint::Streamable(target.url.clone())
            }
        };
        Self {
            endpoint,
            stream: 0,
            session: RemoteSession::default(),
            repeated: RepeatedMessages::default(),
            in_flight: InFlightRequests::default(),
            own: HashMap::new(),
            asked: 0,
            modern: None,
        }
    }
}

impl Remote {
    fn new(
        core: Box<dyn CoreSide>,
        launch: Launch,
        names: (String, Option<String>),
        way: (Target, reqwest::Client),
        limit: usize,
    ) -> Self {
        let ((name, root), (target, client)) = (names, way);
        Self {
            core,
            launch,
            name,
            root,
            state: Lock::new(RemoteState::new(&target)),
            client,
            target,
            limit,
            renewing: tokio::sync::Mutex::default(),
            budget: Lock::new(Budget::new(Instant::now())),
            listened: watch::channel(0).0,
            answered: watch::channel((0, false)).0,
            over: watch::channel(false).0,
        }
    }

    fn state(&self) -> LockGuard<'_, RemoteState> {
        self.state.lock()
    }

    fn is_modern(&self) -> bool {
        self.state().modern.is_some()
    }

    fn session(&self) -> RemoteSession {
        self.state().session.clone()
    }

    /// Spawns a task that ends with this backend.
    fn spawn(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let mut over = self.over.subscribe();
        task::spawn(name, async move {
            tokio::select! {
                () = work => {}
                _ = over.wait_for(|over| *over) => {}
            }
        });
    }

    /// Writes a line into the server's own log.
    fn note(&self, text: &str) {
        self.core.log(format!("[switchboard] {}", self.target.scrub(text)));
    }

    /// Passes the server's message to the core. True if it holds the answer to `wanted`.
    async fn hear(&self, bytes: Bytes, wanted: Option<&RawId>) -> bool {
        let frame = Frame::Message(bytes);
        self.core.show(&frame);
        let events = events::understand_backend(self.launch, frame).await;
        let mut is_answered = false;
        for event in events {
            match self.claim(event, wanted, &mut is_answered) {
                Some(event) => self.core.handle(event),
                None => continue,
            }
        }
        // Backpressure: a server that leaves too much of our output unread is not read from.
        self.core.room().await;
        is_answered
    }

    /// Takes out answers to our own requests; returns all other events.
    fn claim(&self, event: Event, wanted: Option<&RawId>, is_answered: &mut bool) -> Option<Event> {
        let (launch, message) = match event {
            Event::FromBackend { launch, message } => (launch, self.as_answer(message, wanted)),
            event => return Some(event),
        };
        let (Kind::Response { .. }, Some(id)) = (message.kind(), message.id()) else {
            let about = wanted.and_then(|id| RawId::minted(id.as_bytes()));
            return Some(
                match about.filter(|_| message.method() == Method::LogMessage && self.is_modern()) {
                    Some(about) => Event::LogOfRequest { launch, about, message },
                    None => Event::FromBackend { launch, message },
                },
            );
        };
        *is_answered |= wanted == Some(&id);
        let (method, asker) = {
            let mut state = self.state();
            (state.in_flight.arrived(&id), state.own.remove(&id))
        };
        match (asker, method) {
            (Some(asker), _) => {
                // The asker may have stopped waiting.
                let _ = asker.send(message);
                None
            }
            (None, Some(Method::ToolsList)) => {
                Some(Event::FromBackend { launch, message: self.learn_tools(message) })
            }
            (None, Some(_) | None) => Some(Event::FromBackend { launch, message }),
        }
    }

    /// Answers a request with an error about its failure.
    fn answer(&self, id: &RawId, fault: &Fault) {
        let era = if self.is_modern() { Era::Modern } else { Era::Legacy };
        let answer = fault.answer(&self.target, &self.name, self.root.as_deref()).in_era(era);
        let bytes = answer.to_bytes(id, Dialect::Standard);
        self.tell_core(bytes);
    }

    /// Passes a message of ours to the core, in the same way as the server's own, so that the core treats it alike.
    fn tell_core(&self, bytes: Bytes) {
        for event in events::understand_short(self.launch, Frame::Message(bytes)) {
            self.core.handle(event);
        }
    }

    /// Id for a request of our own. The core's ids are bare numbers, so a quoted one cannot collide.
    fn next_id(&self) -> RawId {
        let mut state = self.state();
        state.asked += 1;
        RawId::from_bytes(format!("\"switchboard-{}\"", state.asked).as_bytes())
    }
}

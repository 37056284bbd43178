//! The core behind its lock. A [`Turn`] holds the lock for one or many events, puts the resulting messages into the
//! outboxes, and writes at its end. Must not know how a backend is started, or where a client comes from.
//!
//! # Layout
//! - `backends`: the trait of backends.
//! - `turn`: events in, actions out, under the lock.
//! - `reading`: the loop that reads a peer and passes its messages to the core.
//! - `quiet`: detection of idle peers.
//! - `alarm`: the core's timer; `memory`: measurements of processes.

mod backends;
mod turn;
pub(crate) mod reading;
mod quiet;
mod alarm;
mod memory;
#[cfg(test)]
mod tests;

pub(crate) use backends::{BackendSetting, Backends};
pub(crate) use turn::Turn;

use crate::io::mailbox::Mailbox;
use crate::io::outbox::Outbox;
use crate::io::output::Output;
use crate::io::task;
use crate::secrets;
use crate::telemetry::Telemetry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use switchboard_core::{Action, ClientId, Core, Event, Launch, Moment, Peer};
use switchboard_process::lock::Lock;
use switchboard_process::tree::Tree;
use switchboard_protocol::Framing;
use tokio::sync::Notify;

pub(crate) struct Hub {
    inside: Lock<Inside>,
    started: Instant,
    telemetry: Arc<Telemetry>,
    backends: Box<dyn Backends>,
    /// The core needs to be woken before the alarm's time.
    alarm: Notify,
    /// A process was started, or a limit changed, so memory should be measured soon.
    measure_soon: Notify,
    /// An outbox has room again.
    room: Notify,
    finished: Notify,
    /// Shutdown has begun.
    draining: Notify,
    is_ending: AtomicBool,
    /// Peers can run while we do.
    has_several_cores: bool,
}

struct Inside {
    core: Core,
    actions: Vec<Action>,
    /// Events that performed actions caused, for the core after the rest of its actions.
    caused: VecDeque<Event>,
    outboxes: BTreeMap<Peer, Outbox>,
    mailboxes: BTreeMap<Peer, Arc<dyn Mailbox>>,
    /// Process trees to measure.
    trees: BTreeMap<Launch, Tree>,
    /// Outboxes with new messages.
    dirty: Vec<Peer>,
    /// Time of the alarm.
    armed: Option<Moment>,
    finished: bool,
}

impl Hub {
    pub(crate) fn new(core: Core, backends: Box<dyn Backends>, telemetry: Arc<Telemetry>) -> Arc<Self> {
        let inside = Inside {
            core,
            actions: Vec::new(),
            caused: VecDeque::new(),
            outboxes: BTreeMap::new(),
            mailboxes: BTreeMap::new(),
            trees: BTreeMap::new(),
            dirty: Vec::new(),
            armed: None,
            finished: false,
        };
        Arc::new(Self {
            inside: Lock::new(inside),
            started: Instant::now(),
            telemetry,
            backends,
            alarm: Notify::new(),
            measure_soon: Notify::new(),
            room: Notify::new(),
            finished: Notify::new(),
            draining: Notify::new(),
            is_ending: AtomicBool::new(false),
            has_several_cores: std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1),
        })
    }

    /// Takes the lock for one or more events.
    pub(crate) fn turn(self: &Arc<Self>) -> Turn<'_> {
        // A poisoned lock cannot occur: a panic ends the process.
        let inside = self.inside.lock();
        let now = Moment::after_start(self.started.elapsed());
        Turn { hub: self, inside, now, has_written: false, desk: None }
    }

    pub(crate) fn handle(self: &Arc<Self>, event: Event) {
        self.turn().handle(event);
    }

    /// Adds to the secrets of this process, and shares all of them with the core.
    pub(crate) fn learn_secrets(self: &Arc<Self>, values: Vec<String>) {
        secrets::learn(values);
        self.turn().inside.core.set_secrets(secrets::known());
    }

    pub(crate) fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }

    /// Creates a peer's outbox, with the task that writes leftovers once the peer is writable.
    pub(crate) fn open_outbox(self: &Arc<Self>, peer: Peer, output: impl Into<Output>, framing: Framing) {
        let mut outbox = Outbox::new(output.into(), framing);
        // The task holds the output itself, not the outbox, which belongs to the lock.
        let (hub, output, left) = (self.clone(), outbox.output(), outbox.left());
        let task = task::spawn("outbox", async move {
            loop {
                left.notified().await;
                // A later write, or the reader, finds that the peer is gone.
                if output.writable().await.is_err() {
                    return;
                }
                // The end of this turn writes the leftovers.
                hub.turn().touch(peer);
            }
        });
        outbox.set_task(task.abort_handle());
        self.turn().inside.outboxes.insert(peer, outbox);
    }

    /// Registers a peer without a byte stream.
    pub(crate) fn open_mailbox(self: &Arc<Self>, peer: Peer, mailbox: Arc<dyn Mailbox>) {
        self.turn().inside.mailboxes.insert(peer, mailbox);
    }

    /// Reports bytes that have left a mailbox.
    pub(crate) fn flushed(self: &Arc<Self>, peer: Peer, bytes: usize) {
        self.handle(Event::Flushed { peer, bytes });
        // After the event, since waiters look at the core's new count.
        self.room.notify_waiters();
    }

    /// Backpressure: waits while a peer leaves too much unread for more to be read from it.
    pub(crate) async fn wait_for_room(self: &Arc<Self>, peer: Peer) {
        loop {
            // Registered before the check, so a notice between check and wait is not missed.
            let room = self.room.notified();
            if !self.turn().inside.core.is_clogged(peer) {
                return;
            }
            room.await;
        }
    }

    /// Waits for the core's end, and for up to `patience` until the client has its output.
    pub(crate) async fn finished(self: &Arc<Self>, client: ClientId, patience: Duration) {
        self.over().await;
        // The result is irrelevant: a client that does not read loses its last messages.
        let _ = tokio::time::timeout(patience, self.written(Peer::Client(client))).await;
    }

    /// Waits until shutdown begins. One waiter only.
    pub(crate) async fn draining(&self) {
        self.draining.notified().await;
    }

    /// Whether new requests are refused, without taking the lock.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    pub(crate) fn is_serving(self: &Arc<Self>) -> bool {
        self.turn().inside.core.is_serving()
    }

    /// Waits until the core has finished.
    pub(crate) async fn over(self: &Arc<Self>) {
        loop {
            let finished = self.finished.notified();
            if self.turn().inside.finished {
                return;
            }
            finished.await;
        }
    }

    pub(crate) async fn written(self: &Arc<Self>, peer: Peer) {
        loop {
            let room = self.room.notified();
            // The lock is released before waiting: the writer needs it.
            let output = {
                let turn = self.turn();
                let Some(outbox) = turn.inside.outboxes.get(&peer) else { return };
                outbox.is_empty().then(|| outbox.output())
            };
            let Some(output) = output else {
                room.await;
                continue;
            };
            return output.drained().await;
        }
    }
}

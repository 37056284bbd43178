//! The core, and the hands that do what it says. One lock: a [`Turn`] holds it, asks the core about one or
//! many events, puts what comes out into the outboxes, and writes at its end.

use crate::backends::Plan;
use crate::backends::process::{self, Order, Setting};
use crate::handed::way::Way;
use crate::keeping::Keeping;
use crate::link;
use crate::mailbox::Mailbox;
use crate::outbox::{Left, Outbox};
use crate::paths as places;
use crate::task;
use crate::telemetry::{Desk, Telemetry};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use switchboard_core::status::Status;
use switchboard_core::{
    About, Action, Change, ClientId, Core, Done, Event, Fact, Launch, MEASURE_OFTEN, Moment, Peer, ServerId,
    StandbyState, Surroundings,
};
use switchboard_process::aside;
use switchboard_process::tree::Tree;
use switchboard_process::warden::Swept;
use switchboard_protocol::{Frame, Framing, Outgoing};
use tokio::sync::{Notify, mpsc};

/// So many short messages to one peer are written together: enough to make a system call cheap, and few enough for the
/// other side to begin while the rest is still looked at.
const TOGETHER: usize = 16;

/// Longer lists are made out on another thread, so that they do not hold up everyone else.
const SHORT_LISTS: usize = 32 << 10;

pub(crate) struct Hub {
    inside: Mutex<Inside>,
    started: Instant,
    telemetry: Arc<Telemetry>,
    plan: Plan,
    /// The core wants to be woken earlier than the alarm is set for.
    alarm: Notify,
    /// A process was started, or a limit changed: memory is to be measured soon.
    measure_soon: Notify,
    /// An outbox has room again.
    room: Notify,
    finished: Notify,
    /// We have begun to end.
    draining: Notify,
    is_ending: AtomicBool,
    keeping: Arc<Keeping>,
}

struct Inside {
    core: Core,
    actions: Vec<Action>,
    outboxes: BTreeMap<Peer, Outbox>,
    mailboxes: BTreeMap<Peer, Arc<dyn Mailbox>>,
    controls: BTreeMap<Launch, mpsc::Sender<Order>>,
    /// What to measure.
    trees: BTreeMap<Launch, Tree>,
    /// Outboxes with something new in them.
    dirty: Vec<Peer>,
    /// What the alarm is set for.
    armed: Option<Moment>,
    finished: bool,
}

impl Hub {
    pub(crate) fn new(core: Core, plan: Plan, telemetry: Arc<Telemetry>) -> Arc<Self> {
        let inside = Inside {
            core,
            actions: Vec::new(),
            outboxes: BTreeMap::new(),
            mailboxes: BTreeMap::new(),
            controls: BTreeMap::new(),
            trees: BTreeMap::new(),
            dirty: Vec::new(),
            armed: None,
            finished: false,
        };
        Arc::new(Self {
            inside: Mutex::new(inside),
            started: Instant::now(),
            telemetry,
            plan,
            alarm: Notify::new(),
            measure_soon: Notify::new(),
            room: Notify::new(),
            finished: Notify::new(),
            draining: Notify::new(),
            is_ending: AtomicBool::new(false),
            keeping: Arc::default(),
        })
    }

    /// Takes the lock for one or more events.
    pub(crate) fn turn(self: &Arc<Self>) -> Turn<'_> {
        // Nobody sees a lock that a panic has left: it ends the process.
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        Turn { hub: self, inside, now: Moment::after_start(self.started.elapsed()), desk: None }
    }

    pub(crate) fn handle(self: &Arc<Self>, event: Event) {
        self.turn().handle(event);
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Cleans up behind runs that were killed with all that watched over them.
    pub(crate) async fn sweep(&self) -> Vec<Swept> {
        match &self.plan {
            Plan::Processes(processes) => processes.warden.sweep().await,
            Plan::Daemon(_) | Plan::Nothing => Vec::new(),
        }
    }

    pub(crate) async fn close_warden(&self) {
        match &self.plan {
            Plan::Processes(processes) => processes.warden.close().await,
            Plan::Daemon(_) | Plan::Nothing => {}
        }
    }

    pub(crate) fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }

    /// Gives a peer its outbox, and the outbox the task that writes what is left behind.
    pub(crate) fn open_outbox(self: &Arc<Self>, peer: Peer, way: impl Into<Way>, framing: Framing) {
        let mut outbox = Outbox::new(way.into(), framing);
        let (hub, way, left) = (self.clone(), outbox.way(), outbox.left());
        let task = task::spawn("outbox", async move {
            loop {
                left.notified().await;
                if way.writable().await.is_err() {
                    return;
                }
                hub.turn().touch(peer);
            }
        });
        outbox.set_task(task.abort_handle());
        self.turn().inside.outboxes.insert(peer, outbox);
    }

    /// Gives a peer that is no stream its place.
    pub(crate) fn open_mailbox(self: &Arc<Self>, peer: Peer, mailbox: Arc<dyn Mailbox>) {
        self.turn().inside.mailboxes.insert(peer, mailbox);
    }

    /// Bytes have left a mailbox.
    pub(crate) fn flushed(self: &Arc<Self>, peer: Peer, bytes: usize) {
        self.handle(Event::Flushed { peer, bytes });
        self.room.notify_waiters();
    }

    /// Waits while a peer leaves so much unread that nothing more should be read from it.
    pub(crate) async fn wait_for_room(self: &Arc<Self>, peer: Peer) {
        loop {
            let room = self.room.notified();
            if !self.turn().inside.core.is_clogged(peer) {
                return;
            }
            room.await;
        }
    }

    /// Waits until the core has said that all is done, and the client has what was meant for it.
    pub(crate) async fn finished(self: &Arc<Self>, client: ClientId, patience: Duration) {
        self.over().await;
        let _ = tokio::time::timeout(patience, self.written(Peer::Client(client))).await;
    }

    /// Waits until all that was to be written down is, for a while.
    pub(crate) async fn all_kept(&self, patience: Duration) {
        self.keeping.finish(patience).await;
    }

    /// Waits until we begin to end. For one who waits.
    pub(crate) async fn draining(&self) {
        self.draining.notified().await;
    }

    /// Whether no new requests are taken, without the lock.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    pub(crate) fn is_serving(self: &Arc<Self>) -> bool {
        self.turn().inside.core.is_serving()
    }

    /// Waits until the core has said that all is done.
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
            // The lock is let go before anything is waited for: whoever writes needs it.
            let way = {
                let turn = self.turn();
                let Some(outbox) = turn.inside.outboxes.get(&peer) else { return };
                outbox.is_empty().then(|| outbox.way())
            };
            let Some(way) = way else {
                room.await;
                continue;
            };
            return way.drained().await;
        }
    }

    /// Measures the memory of backends as often as the core wants it, and soon after each start.
    pub(crate) async fn keep_measuring(self: Arc<Self>) {
        loop {
            let every = {
                let turn = self.turn();
                // Remote servers have no processes here.
                let has_trees = !turn.inside.trees.is_empty();
                turn.inside.core.measure_every().filter(|_| has_trees)
            };
            match every {
                Some(often) if often <= MEASURE_OFTEN => tokio::time::sleep(often).await,
                every => self.start_or(every).await,
            }
            self.measure().await;
        }
    }

    /// Waits until this time is over, or a process has been there for a moment. `None` is for ever.
    async fn start_or(&self, every: Option<Duration>) {
        let time = async {
            match every {
                Some(every) => tokio::time::sleep(every).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = time => {}
            () = self.measure_soon.notified() => tokio::time::sleep(MEASURE_OFTEN).await,
        }
    }

    /// Looks once.
    pub(crate) async fn measure(self: &Arc<Self>) {
        let (launches, trees): (Vec<Launch>, Vec<Tree>) = {
            let turn = self.turn();
            turn.inside.trees.iter().map(|(launch, tree)| (*launch, tree.clone())).unzip()
        };
        if launches.is_empty() {
            return;
        }
        let sizes = aside::run(move || Tree::measure_all(&trees)).await;
        let bytes = launches.into_iter().zip(sizes).filter_map(|(launch, size)| Some((launch, size?)));
        self.handle(Event::Measured { bytes: bytes.collect() });
    }

    /// Wakes the core when it wants to be woken.
    pub(crate) async fn keep_time(self: Arc<Self>) {
        loop {
            let alarm = self.alarm.notified();
            let wake = {
                let mut turn = self.turn();
                let wake = turn.inside.core.wake();
                turn.inside.armed = wake;
                wake
            };
            match wake {
                None => alarm.await,
                Some(moment) => {
                    let instant = self.started + moment.since_start();
                    tokio::select! {
                        () = alarm => {}
                        () = tokio::time::sleep_until(instant.into()) => self.handle(Event::Tick),
                    }
                }
            }
        }
    }
}

/// A stretch of work under the lock. Its end writes what the events brought forth.
pub(crate) struct Turn<'a> {
    hub: &'a Arc<Hub>,
    inside: MutexGuard<'a, Inside>,
    now: Moment,
    /// Where facts are handed in; held from the first one to the end of the turn.
    desk: Option<Desk<'a>>,
}

impl<'a> Turn<'a> {
    /// What is asked now is for the next daemon.
    pub(crate) fn is_succeeded(&self) -> bool {
        self.inside.core.is_succeeded()
    }

    pub(crate) fn handle(&mut self, event: Event) {
        let inside = &mut *self.inside;
        inside.core.handle(self.now, event, &mut inside.actions);
        self.perform_all();
    }

    pub(crate) fn is_serving(&self) -> bool {
        self.inside.core.is_serving()
    }

    /// Fixes how a peer is spoken to.
    pub(crate) fn set_framing(&mut self, peer: Peer, framing: Framing) {
        if let Some(outbox) = self.inside.outboxes.get_mut(&peer) {
            outbox.set_framing(framing);
        }
    }

    /// For those who asked to see what is said.
    pub(crate) fn show(&mut self, peer: Peer, frame: &Frame) {
        let Frame::Message(bytes) = frame else { return };
        let from = || match peer {
            Peer::Client(client) => client.to_string(),
            Peer::Backend(launch) => launch.backend.to_string(),
        };
        match peer {
            Peer::Client(client) if self.hub.telemetry.wants_bodies_of(client) => {
                self.desk().take_body(Some(client), from(), bytes);
            }
            Peer::Client(_) | Peer::Backend(_) if self.hub.telemetry.wants_bodies() => {
                self.desk().take_body(None, from(), bytes);
            }
            Peer::Client(_) | Peer::Backend(_) => {}
        }
    }

    /// What goes to a client whose window asked to see it: what servers say may be for others too.
    fn show_answer(&mut self, client: ClientId, out: &Outgoing) {
        if self.hub.telemetry.wants_bodies_of(client) {
            let bytes = out.to_vec();
            self.desk().take_body(Some(client), format!("switchboard to {client}"), &bytes);
        }
    }

    fn desk(&mut self) -> &mut Desk<'a> {
        self.desk.get_or_insert_with(|| self.hub.telemetry.desk())
    }

    /// Marks an outbox as having something to write.
    pub(crate) fn touch(&mut self, peer: Peer) {
        if !self.inside.dirty.contains(&peer) {
            self.inside.dirty.push(peer);
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::ToClient { client, out, about } => {
                self.show_answer(client, &out);
                self.put(Peer::Client(client), out, about);
            }
            Action::ToBackend { launch, out } => self.put(Peer::Backend(launch), out, About::Nothing),
            Action::Disconnect { client } => {
                self.flush(Peer::Client(client));
                self.forget_client(client);
            }
            Action::Report(fact) => {
                if let Fact::Draining { .. } = fact {
                    self.hub.draining.notify_one();
                }
                self.desk().take(fact);
            }
            Action::Start { launch, server, framing, root, in_home, environment } => {
                let (control, orders) = mpsc::channel(4);
                self.inside.controls.insert(launch, control);
                let root = root.map(PathBuf::from);
                let setting = Setting { server, in_home, environment, framing, root };
                let hub = self.hub.clone();
                match &self.hub.plan {
                    Plan::Processes(_) => {
                        task::spawn("backend", process::run(hub, launch, setting, orders));
                    }
                    Plan::Daemon(_) => {
                        task::spawn("link", link::run(hub, launch, orders));
                    }
                    // Without a server nothing is started.
                    Plan::Nothing => {}
                }
            }
            Action::LookUp { client, inquiry, paths } => {
                let hub = self.hub.clone();
                task::spawn("lookup", async move {
                    let look = move || paths.iter().map(|path| places::canonical(Path::new(path))).collect();
                    let roots = aside::run(look).await;
                    hub.handle(Event::RootsLookedUp { client, inquiry, roots });
                });
            }
            Action::ReadOffer { launch, round, raw } if raw.len() <= SHORT_LISTS => {
                let offer = Arc::new(raw.read());
                self.handle(Event::OfferRead { launch, round, offer });
            }
            Action::ReadOffer { launch, round, raw } => {
                let hub = self.hub.clone();
                task::spawn("offer", async move {
                    let offer = Arc::new(aside::run(move || raw.read()).await);
                    hub.handle(Event::OfferRead { launch, round, offer });
                });
            }
            Action::StoreOffer { server, key, offer } => {
                if let Plan::Processes(processes) = &self.hub.plan
                    && let Some(server) = processes.register.server(server)
                {
                    self.hub.keeping.offer(processes.shelf.clone(), server, key, offer);
                }
            }
            Action::StoreRecord { server, record } => {
                if let Plan::Processes(processes) = &self.hub.plan
                    && let Some(config) = processes.register.server(server)
                {
                    self.hub.keeping.record(processes.launches.clone(), (server, config), record);
                }
            }
            Action::Stop { launch, how } => {
                let peer = Peer::Backend(launch);
                self.flush(peer);
                // Its input is closed: the first and politest request to end.
                self.shut(peer);
                if let Some(control) = self.inside.controls.get(&launch) {
                    // A full channel holds orders to end already.
                    let _ = control.try_send(Order::Stop(how));
                }
            }
            Action::Finished => {
                self.inside.finished = true;
                self.hub.finished.notify_waiters();
            }
        }
    }

    /// A process is gone; nothing can be said to it any more.
    pub(crate) fn forget(&mut self, launch: Launch) {
        self.shut(Peer::Backend(launch));
        self.inside.controls.remove(&launch);
        self.inside.trees.remove(&launch);
    }

    /// A client is gone: nothing can be said to it any more.
    pub(crate) fn forget_client(&mut self, client: ClientId) {
        self.shut(Peer::Client(client));
    }

    pub(crate) fn status(&mut self) -> Status {
        // Ages are counted from what the core takes for now, which is the last event.
        self.handle(Event::Tick);
        self.inside.core.status()
    }

    /// Starts a server without a client.
    pub(crate) fn stand_by(
        &mut self,
        server: ServerId,
        surroundings: Surroundings,
    ) -> Result<(), &'static str> {
        let inside = &mut *self.inside;
        let done = inside.core.stand_by(self.now, server, surroundings, &mut inside.actions);
        self.perform_all();
        done
    }

    pub(crate) fn end_all_standbys(&mut self) {
        let inside = &mut *self.inside;
        inside.core.end_all_standbys(self.now, &mut inside.actions);
        self.perform_all();
    }

    pub(crate) fn standby_state(&self, server: ServerId) -> StandbyState {
        self.inside.core.standby_state(server)
    }

    /// Does what the owner says.
    pub(crate) fn order(
        &mut self,
        server: ServerId,
        root: Option<&str>,
        order: switchboard_core::Order,
    ) -> Done {
        let inside = &mut *self.inside;
        let done = inside.core.order(self.now, server, root, order, &mut inside.actions);
        self.perform_all();
        done
    }

    /// Takes over a new config.
    /// From now on the core tells where each request goes, or does not.
    pub(crate) fn report_routes(&mut self, wanted: bool) {
        self.inside.core.report_routes(wanted);
    }

    pub(crate) fn reconfigure(&mut self, change: Change) {
        let inside = &mut *self.inside;
        inside.core.reconfigure(self.now, change, &mut inside.actions);
        self.hub.measure_soon.notify_one();
        self.perform_all();
    }

    fn perform_all(&mut self) {
        let mut actions = std::mem::take(&mut self.inside.actions);
        for action in actions.drain(..) {
            self.perform(action);
        }
        self.inside.actions = actions;
    }

    pub(crate) fn note_tree(&mut self, launch: Launch, tree: Tree) {
        self.inside.trees.insert(launch, tree);
        self.hub.measure_soon.notify_one();
    }

    /// Nothing more can be said to a process, or heard from it. If it is not being stopped already it is ended,
    /// and those who watch it report that: whoever waits for it must not wait in vain.
    pub(crate) fn cut_off(&mut self, launch: Launch) {
        let was_open = self.shut(Peer::Backend(launch));
        if let Some(control) = self.inside.controls.get(&launch).filter(|_| was_open) {
            let _ = control.try_send(Order::CutOff);
        }
    }

    /// Something of the gateway's own, when the core has no more to say.
    pub(crate) fn say(&mut self, client: ClientId, out: Outgoing) {
        self.put(Peer::Client(client), out, About::Nothing);
    }

    fn put(&mut self, peer: Peer, out: Outgoing, about: About) {
        if let Some(outbox) = self.inside.outboxes.get_mut(&peer) {
            outbox.put(out);
            if outbox.gathered() >= TOGETHER {
                self.flush(peer);
            } else {
                self.touch(peer);
            }
        } else if let Some(mailbox) = self.inside.mailboxes.get(&peer) {
            let bytes = mailbox.put(out, about);
            if bytes > 0 {
                self.handle(Event::Flushed { peer, bytes });
            }
        }
    }

    /// Closes the way to a peer. `true` if it was open.
    fn shut(&mut self, peer: Peer) -> bool {
        let mailbox = self.inside.mailboxes.remove(&peer);
        if let Some(mailbox) = &mailbox {
            mailbox.close();
        }
        self.inside.outboxes.remove(&peer).is_some() || mailbox.is_some()
    }

    /// Writes what the events so far have brought forth, as far as it goes.
    pub(crate) fn write(&mut self) {
        while let Some(peer) = self.inside.dirty.pop() {
            self.flush(peer);
        }
    }

    fn flush(&mut self, peer: Peer) {
        let Some(outbox) = self.inside.outboxes.get_mut(&peer) else { return };
        let (bytes, left) = outbox.flush();
        if bytes > 0 {
            self.handle(Event::Flushed { peer, bytes });
        }
        match (left, peer) {
            (Left::Nothing, _) => self.hub.room.notify_waiters(),
            (Left::Something, _) => {}
            (Left::Broken, Peer::Client(client)) => {
                self.hub.room.notify_waiters();
                self.handle(Event::ClientLost { client });
            }
            (Left::Broken, Peer::Backend(launch)) => self.cut_off(launch),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.write();
        if !self.inside.core.is_serving() {
            self.hub.is_ending.store(true, Ordering::Relaxed);
        }
        let wake = self.inside.core.wake();
        if wake.is_some_and(|wake| self.inside.armed.is_none_or(|armed| wake < armed)) {
            self.inside.armed = wake;
            self.hub.alarm.notify_one();
        }
    }
}

//! One sequence of work under the hub's lock: events go into the core, and its
//! actions are performed in order.

use super::{BackendSetting, Hub, Inside};
use crate::io::outbox::Left;
use crate::io::task;
use crate::paths;
use crate::telemetry::Desk;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use switchboard_core::catalogue::RawOffer;
use switchboard_core::pins::Pins;
use switchboard_core::status::Status;
use switchboard_core::{
    About, Action, Change, ClientId, Done, Event, Fact, Launch, Moment, Peer, ServerId, StandbyState,
    Surroundings,
};
use switchboard_process::aside;
use switchboard_process::tree::Tree;
use switchboard_protocol::shown_token::without_tokens;
use switchboard_protocol::{Frame, Framing, Outgoing};

/// Short messages to one peer that are written together: enough to make system calls cheap, few enough for
/// the other side to start while the rest is still being handled.
const MAX_GATHERED_MESSAGES: usize = 16;

/// Longer lists are parsed on another thread, so that they do not hold up other clients.
const MAX_INLINE_LIST_BYTES: usize = 32 << 10;

/// A sequence of work under the lock. Dropping it writes the resulting messages.
pub(crate) struct Turn<'a> {
    pub(super) hub: &'a Arc<Hub>,
    pub(super) inside: MutexGuard<'a, Inside>,
    pub(super) now: Moment,
    /// Whether a message was put into an outbox in this turn.
    pub(super) has_written: bool,
    /// Recipient of facts, opened with the first fact and held until the end of the turn.
    pub(super) desk: Option<Desk<'a>>,
}

impl<'a> Turn<'a> {
    /// Whether requests from now on are left to the next daemon.
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

    /// Sets the framing of a peer's output.
    pub(crate) fn set_framing(&mut self, peer: Peer, framing: Framing) {
        if let Some(outbox) = self.inside.outboxes.get_mut(&peer) {
            outbox.set_framing(framing);
        }
    }

    /// Logs a message's body, where that is enabled.
    pub(crate) fn show(&mut self, peer: Peer, frame: &Frame) {
        let Frame::Message(bytes) = frame else { return };
        let from = || match peer {
            Peer::Client(client) => client.to_string(),
            Peer::Backend(launch) => launch.backend.to_string(),
        };
        // Tokens are removed before the text is looked at in any other way: redaction only knows usual spellings.
        match peer {
            // A window with its own log wants bodies there, whatever the daemon's own log shows.
            Peer::Client(client) if self.hub.telemetry.wants_bodies_of(client) => {
                self.desk().take_body(Some(client), from(), &without_tokens(bytes));
            }
            Peer::Client(_) | Peer::Backend(_) if self.hub.telemetry.wants_bodies() => {
                self.desk().take_body(None, from(), &without_tokens(bytes));
            }
            Peer::Client(_) | Peer::Backend(_) => {}
        }
    }

    /// Logs the body of a message to a client whose window asked for it. Messages from servers are not logged
    /// for a window, since they may concern other clients.
    fn show_answer(&mut self, client: ClientId, out: &Outgoing) {
        if self.hub.telemetry.wants_bodies_of(client) {
            let bytes = out.to_vec();
            self.desk().take_body(Some(client), format!("switchboard to {client}"), &bytes);
        }
    }

    fn desk(&mut self) -> &mut Desk<'a> {
        self.desk.get_or_insert_with(|| self.hub.telemetry.desk())
    }

    /// Marks an outbox for writing at the end of the turn.
    pub(crate) fn touch(&mut self, peer: Peer) {
        // A turn touches few peers, so a linear search is fast.
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
            Action::NoAnswer { client, id } => {
                if let Some(mailbox) = self.inside.mailboxes.get(&Peer::Client(client)) {
                    mailbox.no_answer(&id);
                }
            }
            Action::ToBackend { launch, out } => self.put(Peer::Backend(launch), out, About::Nothing),
            Action::Disconnect { client } => {
                // Writes the last messages before the outbox is dropped.
                self.flush(Peer::Client(client));
                self.forget_client(client);
            }
            Action::Report(fact) => {
                if let Fact::Draining { .. } = fact {
                    // A permit is stored if the task that accepts connections is not waiting
                    // at this moment.
                    self.hub.draining.notify_one();
                }
                self.desk().take(fact);
            }
            Action::Start { launch, server, framing, root, in_home, environment } => {
                let root = root.map(PathBuf::from);
                let setting = BackendSetting { server, in_home, environment, framing, root };
                self.hub.backends.start(self.hub, launch, setting);
            }
            Action::LookUp { client, inquiry, paths } => self.look_up(client, inquiry, paths),
            Action::ReadOffer { launch, round, raw } => self.read_offer(launch, round, raw),
            Action::StoreOffer { server, key, offer } => self.hub.backends.store_offer(server, key, offer),
            Action::StoreRecord { server, record } => self.hub.backends.store_record(server, record),
            Action::StorePins { server, news } => self.hub.backends.store_pins(server, news),
            Action::Stop { launch, how } => {
                let peer = Peer::Backend(launch);
                self.flush(peer);
                // Closing stdin is the first and gentlest request to end.
                self.shut(peer);
                self.hub.backends.stop(launch, how);
            }
            Action::Finished => {
                // Set before the notice, since waiters check the flag when they wake.
                self.inside.finished = true;
                self.hub.finished.notify_waiters();
            }
        }
    }

    /// Resolves roots on disk, on another thread.
    fn look_up(&self, client: ClientId, inquiry: u32, paths: Vec<String>) {
        let hub = self.hub.clone();
        task::spawn("lookup", async move {
            // The disk may be a slow network mount, and the lock must not wait for it.
            let look = move || paths.iter().map(|path| paths::canonical(Path::new(path))).collect();
            let roots = aside::run(look).await;
            hub.handle(Event::RootsLookedUp { client, inquiry, roots });
        });
    }

    fn read_offer(&mut self, launch: Launch, round: u32, raw: Box<RawOffer>) {
        if raw.len() <= MAX_INLINE_LIST_BYTES {
            // Short lists are read within this turn: another thread would cost more than the parsing.
            let offer = Arc::new(raw.read());
            return self.inside.caused.push_back(Event::OfferRead { launch, round, offer });
        }
        let hub = self.hub.clone();
        task::spawn("offer", async move {
            let offer = Arc::new(aside::run(move || raw.read()).await);
            hub.handle(Event::OfferRead { launch, round, offer });
        });
    }

    /// Forgets a backend that has ended: nothing more is written to it.
    pub(crate) fn forget(&mut self, launch: Launch) {
        self.shut(Peer::Backend(launch));
        self.hub.backends.forget(launch);
        self.inside.trees.remove(&launch);
    }

    /// Forgets a client that has left: nothing more is written to it.
    pub(crate) fn forget_client(&mut self, client: ClientId) {
        self.shut(Peer::Client(client));
    }

    pub(crate) fn status(&mut self) -> Status {
        // The core measures ages from its latest event, so it needs a current one.
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

    /// Performs an order of the owner.
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

    /// Applies what the owner has approved.
    pub(crate) fn adopt_pins(&mut self, server: ServerId, stored: &Pins) {
        let inside = &mut *self.inside;
        inside.core.adopt_pins(self.now, server, stored, &mut inside.actions);
        self.perform_all();
    }

    /// Turns reports of each request's route on or off.
    pub(crate) fn report_routes(&mut self, wanted: bool) {
        self.inside.core.report_routes(wanted);
    }

    /// Applies a new config.
    pub(crate) fn reconfigure(&mut self, change: Change) {
        let inside = &mut *self.inside;
        inside.core.reconfigure(self.now, change, &mut inside.actions);
        // New limits may already be exceeded.
        self.hub.measure_soon.notify_one();
        self.perform_all();
    }

    pub(super) fn perform_all(&mut self) {
        loop {
            // Taking the list keeps its allocation without borrowing it.
            let mut actions = std::mem::take(&mut self.inside.actions);
            for action in actions.drain(..) {
                self.perform(action);
            }
            self.inside.actions = actions;
            // Events that the actions caused come after the whole list: a `Stop` that one of them leads to must not
            // overtake the `Start` behind it, since a backend that is not known yet cannot be stopped.
            let Some(event) = self.inside.caused.pop_front() else { return };
            let inside = &mut *self.inside;
            inside.core.handle(self.now, event, &mut inside.actions);
        }
    }

    pub(crate) fn note_tree(&mut self, launch: Launch, tree: Tree) {
        self.inside.trees.insert(launch, tree);
        self.hub.measure_soon.notify_one();
    }

    /// Ends a backend that closed its input or output, unless it is being stopped already. Its task then
    /// reports the end, so that open requests get an answer.
    pub(crate) fn cut_off(&mut self, launch: Launch) {
        if self.shut(Peer::Backend(launch)) {
            self.hub.backends.cut_off(launch);
        }
    }

    /// Sends a message of the gateway's own, after the core has finished.
    pub(crate) fn say(&mut self, client: ClientId, out: Outgoing) {
        self.put(Peer::Client(client), out, About::Nothing);
    }

    fn put(&mut self, peer: Peer, out: Outgoing, about: About) {
        if let Some(outbox) = self.inside.outboxes.get_mut(&peer) {
            outbox.put(out);
            // The first message wakes the other side, which then works on it while the rest is still looked at.
            let is_first = !std::mem::replace(&mut self.has_written, true);
            if outbox.gathered() >= MAX_GATHERED_MESSAGES || (is_first && self.hub.has_several_cores) {
                self.flush(peer);
            } else {
                self.touch(peer);
            }
        } else if let Some(mailbox) = self.inside.mailboxes.get(&peer) {
            let bytes = mailbox.put(out, about);
            // A mailbox that keeps the message reports its bytes later.
            if bytes > 0 {
                self.inside.caused.push_back(Event::Flushed { peer, bytes });
            }
        }
    }

    /// Frees memory of an idle peer.
    pub(crate) fn trim(&mut self, peer: Peer) {
        if let Some(outbox) = self.inside.outboxes.get_mut(&peer) {
            outbox.trim();
        }
    }

    /// Closes the output to a peer. `true` if it was open.
    fn shut(&mut self, peer: Peer) -> bool {
        let mailbox = self.inside.mailboxes.remove(&peer);
        if let Some(mailbox) = &mailbox {
            mailbox.close();
        }
        self.inside.outboxes.remove(&peer).is_some() || mailbox.is_some()
    }

    /// Writes the messages of all events so far, without waiting.
    pub(crate) fn write(&mut self) {
        loop {
            // A flush may cause events that touch more peers.
            self.perform_all();
            let Some(peer) = self.inside.dirty.pop() else { return };
            self.flush(peer);
        }
    }

    /// Writes to a peer. The core learns of the result once all actions of its list are performed.
    fn flush(&mut self, peer: Peer) {
        let Some(outbox) = self.inside.outboxes.get_mut(&peer) else { return };
        let (bytes, left) = outbox.flush();
        if bytes > 0 {
            self.inside.caused.push_back(Event::Flushed { peer, bytes });
        }
        match (left, peer) {
            (Left::Nothing, _) => self.hub.room.notify_waiters(),
            // The outbox's own task waits until the peer is writable.
            (Left::Something, _) => {}
            (Left::Broken, Peer::Client(client)) => {
                // Tasks that wait for this client's output would otherwise wait for ever.
                self.hub.room.notify_waiters();
                self.inside.caused.push_back(Event::ClientLost { client });
            }
            (Left::Broken, Peer::Backend(launch)) => self.cut_off(launch),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Written first: a flush may cause events, which change what the rest of this function looks at.
        self.write();
        if !self.inside.core.is_serving() {
            self.hub.is_ending.store(true, Ordering::Relaxed);
        }
        let wake = self.inside.core.wake();
        // Only an earlier wake-up needs a notice; a later one is found when the alarm goes off.
        if wake.is_some_and(|wake| self.inside.armed.is_none_or(|armed| wake < armed)) {
            self.inside.armed = wake;
            self.hub.alarm.notify_one();
        }
    }
}

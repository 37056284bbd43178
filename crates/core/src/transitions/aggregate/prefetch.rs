//! Starts that continue after their client has left, if the server's lists are not stored yet. Some clients
//! leave before a slow server is ready, and would never see its tools. A stand-in holds the client's lease
//! until the lists are stored; it has no connection, so nothing is sent to it.

use crate::backends::{AfterStop, Backend, BackendState};
use crate::clients::{Client, Greeting, Role};
use crate::core::{Core, Followup};
use crate::ids::{BackendId, ClientId, ServerId};
use crate::messages::initialized_notice;
use crate::moment::Moment;
use std::time::Duration;
use switchboard_protocol::Method;

/// Limit on starts of one backend: one per framing, and one more.
const MAX_STARTS: u32 = 4;

/// Time limit for the lists of a server that is ready.
const LISTS_TIMEOUT: Duration = Duration::from_secs(5);

impl Core {
    /// Keeps the starts of a leaving client going, where the lists are still unknown.
    pub(crate) fn keep_starts(&mut self, client: ClientId) {
        // A program for a single client ends with it.
        if !self.lives_on() || !self.is_running() {
            return;
        }
        let is_its = |c: &&Client| c.id() == client || (c.is_delegate() && c.connection() == client);
        for leaving in self.clients.values().filter(is_its).map(|c| c.id()).collect::<Vec<ClientId>>() {
            self.keep_start(leaving);
        }
    }

    fn keep_start(&mut self, leaving: ClientId) {
        let Some(c) = self.clients.get(&leaving) else { return };
        let is_wanted =
            c.settings().stores_lists && c.profile().is_some() && self.offer_for(leaving).is_none();
        let Some(b) = c.home().filter(|_| is_wanted).and_then(|home| self.backends.get(&home)) else {
            return;
        };
        // One is enough for lists that would be stored under the same key.
        let at_same_root = |other: &Client| {
            let root = other.home().and_then(|home| self.backends.get(&home)).map(|other| &other.key().root);
            !c.settings().launch_uses_root || root == Some(&b.key().root)
        };
        let has_one = self.clients.values().any(|other| {
            other.is_prefetch()
                && !other.is_lost()
                && other.server() == c.server()
                && other.profile() == c.profile()
                && (!c.is_modern() || other.principal() == c.principal())
                && at_same_root(other)
        });
        // With no linger time, a running backend is not kept for its lists.
        let must_go =
            b.handshake().has_welcome() && self.settings.linger.is_some_and(|linger| linger.is_zero());
        if has_one || must_go || !self.is_on_its_way(b) {
            return;
        }
        let Some(greeting) = self.greeting_of(c, b) else { return };
        // Its client did not wait for it.
        let late = Some(c.server()).filter(|_| c.is_delegate() && self.is_late(b));
        let (backend, root) = (b.id(), b.key().root.clone());
        // A ready server answers soon, or not at all.
        let within = match b.handshake().has_welcome() {
            true => LISTS_TIMEOUT,
            false => c.settings().start_timeout * (MAX_STARTS + 1),
        };
        let until = self.clock.now() + within;
        let id = self.numbers.new_delegate();
        let new = self.newcomer(id, c.server(), c.settings().clone());
        let stand_in = c.prefetch(new, greeting, until, (root, backend));
        self.clients.insert(id, stand_in);
        if let Some(server) = late {
            self.plan_retry(server, true);
        }
        self.clock.wake_at(until);
        // A private backend would end with its owner.
        if let Some(b) = self.backends.get_mut(&backend) {
            b.replace_owner(leaving, id);
        }
        // The client may have left before it sent `initialized`, without which some servers list nothing.
        self.confirm_early(backend);
        // A ready backend was only asked what its client wanted to know.
        if let Some(launch) = self.backends.get(&backend).and_then(Backend::launch) {
            self.fetch_offer(launch);
        }
    }

    /// Whether a backend runs, is starting, or waits for room.
    pub(crate) fn is_on_its_way(&self, b: &Backend) -> bool {
        let is_coming = match b.state() {
            BackendState::Starting { .. } | BackendState::Ready { .. } | BackendState::Backoff { .. } => true,
            BackendState::Stopping { then, .. } => !matches!(then, AfterStop::Rest | AfterStop::GiveWay),
            BackendState::Stopped => self.backends.waits_for_room(b.id()),
            BackendState::Failed { .. } => false,
        };
        is_coming && !b.is_retired()
    }

    /// The messages of a client's handshake, with `initialized` added if missing.
    fn greeting_of(&self, c: &Client, b: &Backend) -> Option<Greeting> {
        let open = || {
            let own = self.pending.iter().find(|(_, p)| p.is_of(c.id()) && p.method() == Method::Initialize);
            let (minted, pending) = own?;
            pending.waiting().or(pending.sent()).or_else(|| b.handshake().words_of(minted)).cloned()
        };
        let greeting = match c.greeting() {
            Some(greeting) => greeting.clone(),
            None => Greeting::new(open()?, None),
        };
        Some(greeting.complete_with(initialized_notice))
    }

    /// Ends the stand-ins of a backend whose lists are stored, or will not come.
    pub(crate) fn end_prefetches(&mut self, backend: BackendId) {
        let is_one = |client: &ClientId| self.clients.get(client).is_some_and(Client::is_prefetch);
        for client in self.lessees(backend).filter(is_one).collect::<Vec<ClientId>>() {
            self.lose(client);
        }
    }

    /// Ends the stand-ins of a changed server: lists of the old entry are useless.
    pub(crate) fn retire_prefetches(&mut self, server: ServerId, why: &'static str) {
        let is_one = |c: &&Client| c.server() == server && c.is_prefetch() && !c.is_lost();
        let own = self.clients.values().filter(is_one).map(|c| (c.id(), c.home()));
        for (client, home) in own.collect::<Vec<(ClientId, Option<BackendId>)>>() {
            self.lose(client);
            if let Some(backend) = home {
                self.followups.push(Followup::EndDeserted { backend, why });
            }
        }
    }

    pub(super) fn next_prefetch_end(&self) -> Option<Moment> {
        self.prefetches().map(|(_, until)| until).min()
    }

    pub(super) fn tick_prefetches(&mut self) {
        let over =
            self.prefetches().filter(|(_, until)| *until <= self.clock.now()).map(|(client, _)| client);
        for client in over.collect::<Vec<ClientId>>() {
            self.lose(client);
        }
    }

    fn prefetches(&self) -> impl Iterator<Item = (ClientId, Moment)> {
        self.clients.values().filter(|c| !c.is_lost()).filter_map(|c| match *c.role() {
            Role::Prefetch { until } => Some((c.id(), until)),
            Role::Plain | Role::Aggregate(_) | Role::Delegate { .. } | Role::Standby => None,
        })
    }
}

//! Servers that run without a client, by order of the owner or with `lazy: false`. A stand-in holds the lease: it makes the
//! handshake and asks for the lists, nothing else, so that the process has no user. Clients join it by the usual rules.

use crate::answers::NoStandby;
use crate::backends::BackendState;
use crate::clients::{Client, Greeting};
use crate::core::{Core, Followup};
use crate::event::{Action, Surroundings};
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId, ServerId};
use crate::messages::{initialized_notice, own_message};
use crate::moment::Moment;
use crate::routing::{Decision, decide};
use crate::settings::Scope;
use crate::transitions::Route;
use serde_json::{Value, json};

/// The version of a handshake for which no client has set an example.
const DEFAULT_PROTOCOL_VERSION: &str = "2025-11-25";

/// How far a server has come that was started without a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandbyState {
    /// Nothing is to run.
    None,
    Starting,
    Ready,
    Failed,
}

impl Core {
    /// Starts a server without a client and keeps it, until [`crate::Order::Stop`]. An error says why that cannot be.
    pub fn stand_by(
        &mut self,
        now: Moment,
        server: ServerId,
        surroundings: Surroundings,
        actions: &mut Vec<Action>,
    ) -> Result<(), &'static str> {
        self.transition(now, actions, |core| core.try_standby(server, surroundings))
    }

    fn try_standby(&mut self, server: ServerId, surroundings: Surroundings) -> Result<(), &'static str> {
        let done = self.make_standby(server, surroundings).map_err(NoStandby::text);
        if let (Err(why), Some(known)) = (done, self.servers.get(server))
            && !known.is_held()
        {
            let name = known.name().to_owned();
            self.report(Fact::NotStarted { server: name, why });
        }
        done
    }

    /// How far those of a server have come; the worst of them.
    pub fn standby_state(&self, server: ServerId) -> StandbyState {
        let homes = self.standbys().filter(|c| c.server() == server).map(|c| c.home());
        let state = |home: Option<BackendId>| match home.and_then(|home| self.backends.get(&home)) {
            None => StandbyState::Failed,
            Some(b) => match b.state() {
                BackendState::Ready { .. } if b.handshake().has_welcome() => StandbyState::Ready,
                BackendState::Ready { .. }
                | BackendState::Starting { .. }
                | BackendState::Stopping { .. } => StandbyState::Starting,
                BackendState::Stopped if self.backends.waits_for_room(b.id()) => StandbyState::Starting,
                BackendState::Stopped | BackendState::Backoff { .. } | BackendState::Failed { .. } => {
                    StandbyState::Failed
                }
            },
        };
        let rank = |state: &StandbyState| match state {
            StandbyState::None => 0,
            StandbyState::Ready => 1,
            StandbyState::Starting => 2,
            StandbyState::Failed => 3,
        };
        homes.map(state).max_by_key(rank).unwrap_or(StandbyState::None)
    }

    fn make_standby(&mut self, server: ServerId, surroundings: Surroundings) -> Result<(), NoStandby> {
        self.may_stand_by(server)?;
        let Some(known) = self.servers.get(server) else { return Err(NoStandby::Removed) };
        let settings = known.settings().clone();
        let origin = self.origin_of(surroundings);
        // An instance at no workspace would be of no use to clients that have one.
        let has_root =
            matches!(decide(&origin.known, &[], self.settings.roots.policy), Decision::Root { .. });
        if !has_root && (self.scope_of(server) != Scope::Global || settings.needs_root) {
            return Err(NoStandby::NoRoot);
        }
        let is_it = |c: &&Client| c.server() == server && c.known().pinned == origin.known.pinned;
        let there = self.standbys().find(is_it).map(|c| c.id());
        if let Some(there) = there {
            self.keep_running(there, true);
            return Ok(());
        }
        let greeting = self.own_greeting(server).ok_or(NoStandby::Removed)?;
        let id = self.numbers.new_delegate();
        let standby = Client::standby(self.newcomer(id, server, settings), origin, greeting);
        self.clients.insert(id, standby);
        self.note_standby();
        self.keep_running(id, true);
        Ok(())
    }

    /// Whether a process that is started now can be of use to the clients that come.
    fn may_stand_by(&self, server: ServerId) -> Result<(), NoStandby> {
        let Some(known) = self.servers.get(server).filter(|known| !known.is_removed()) else {
            return Err(NoStandby::Removed);
        };
        match () {
            () if known.is_held() => Err(NoStandby::Held),
            () if self.is_private(server) => Err(NoStandby::Private),
            () if known.record().asks_roots && !known.settings().is_split() => Err(NoStandby::AsksRoots),
            () => Ok(()),
        }
    }

    /// The handshake of the last kind of client that came, so that the next of them finds what it would have started itself.
    fn own_greeting(&self, server: ServerId) -> Option<Greeting> {
        let example = self.servers.get(server)?.offers().newest_profile();
        let read = |profile: &str| {
            let (version, capabilities) = profile.split_once(' ')?;
            let version: Value = serde_json::from_str(version).ok()?;
            Some((version, serde_json::from_str::<Value>(capabilities).ok()?))
        };
        let (version, capabilities) =
            example.and_then(read).unwrap_or((json!(DEFAULT_PROTOCOL_VERSION), json!({})));
        let capabilities = if capabilities.is_object() { capabilities } else { json!({}) };
        let name = json!({ "name": "switchboard", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": name });
        let text = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        Some(Greeting::new(own_message(text.to_string().into())?, initialized_notice()))
    }

    /// Sees to it that a standby has a process.
    fn keep_running(&mut self, client: ClientId, is_ordered: bool) {
        let home = match self.clients.get(&client).and_then(|c| c.home()) {
            Some(home) if self.backends.contains(home) => home,
            _ => match self.settle_home(client) {
                Route::To(home) => home,
                Route::Wait | Route::Refused(_) => return,
            },
        };
        let Some(b) = self.backends.get(&home) else { return };
        match b.state() {
            // One that could not be started is not tried again by itself.
            BackendState::Stopped if b.launches() == 0 || is_ordered || b.has_answered() => {
                self.ensure_started(home)
            }
            BackendState::Failed { until, .. } if *until <= self.clock.now() => self.ensure_started(home),
            BackendState::Failed { until, .. } => self.clock.wake_at(*until),
            BackendState::Stopped
            | BackendState::Starting { .. }
            | BackendState::Ready { .. }
            | BackendState::Stopping { .. }
            | BackendState::Backoff { .. } => {}
        }
        if let Some(launch) = self.backends.get(&home).and_then(|b| b.launch()) {
            self.fetch_offer(launch);
        }
    }

    /// Moves standbys on that have lost their process, and ends those that are of no use any more.
    pub(crate) fn check_standbys(&mut self) {
        if !self.followups.take_standby_check() || !self.is_running() {
            return;
        }
        for client in self.standbys().map(|c| c.id()).collect::<Vec<ClientId>>() {
            let Some(c) = self.clients.get(&client) else { continue };
            let (server, home, name) = (c.server(), c.home(), c.settings().name.clone());
            match self.may_stand_by(server) {
                Ok(()) => self.keep_running(client, false),
                Err(why) => {
                    self.lose(client);
                    if why == NoStandby::AsksRoots
                        && let Some(home) = home.filter(|home| self.real_lessees(*home).next().is_none())
                    {
                        // It was told that it has none.
                        self.separate(home, None, "it asks for its client's roots, and has no client");
                    }
                    self.report(Fact::NotStarted { server: name, why: why.text() });
                }
            }
        }
    }

    /// When the next of them is tried again after it crashed too often.
    pub(crate) fn next_standby_start(&self) -> Option<Moment> {
        let until = |c: &Client| self.backends.get(&c.home()?)?.cooldown_end();
        self.standbys().filter_map(until).min()
    }

    /// Standbys at a backend that takes no more clients, or is another's alone, leave it.
    pub(crate) fn release_standbys(&mut self, backend: BackendId) {
        let is_there = |c: &&Client| c.holds_lease_on(backend);
        for client in self.standbys().filter(is_there).map(|c| c.id()).collect::<Vec<ClientId>>() {
            self.leave(client, backend);
        }
        self.followups.push(Followup::CheckStandbys);
    }

    /// The owner stops a server, everywhere or at one root.
    pub(crate) fn end_standbys(&mut self, server: ServerId, root: Option<&str>) {
        let is_meant = |c: &&Client| {
            let at = c.home().and_then(|home| self.backends.get(&home)).and_then(|b| b.root());
            c.server() == server && (root.is_none() || at == root || c.known().pinned.as_deref() == root)
        };
        for client in self.standbys().filter(is_meant).map(|c| c.id()).collect::<Vec<ClientId>>() {
            self.lose(client);
        }
    }

    /// Another daemon takes our place: what nobody uses need not run here any more.
    pub fn end_all_standbys(&mut self, now: Moment, actions: &mut Vec<Action>) {
        self.transition(now, actions, |core| {
            for client in core.standbys().map(|c| c.id()).collect::<Vec<ClientId>>() {
                core.lose(client);
            }
        });
    }

    /// A backend that is kept without clients.
    pub(crate) fn is_standing_by(&self, backend: BackendId) -> bool {
        self.standbys().any(|c| c.holds_lease_on(backend))
    }

    fn standbys(&self) -> impl Iterator<Item = &Client> {
        // Delegates and stand-ins have numbers of their own, beyond those of connections.
        let own = self.has_standbys().then(|| self.clients.range(ClientId(ClientId::FIRST_DELEGATE)..));
        own.into_iter().flatten().map(|(_, c)| c).filter(|c| !c.is_lost() && c.is_standby())
    }
}

//! Servers that run without a client, by order of the owner or with `lazy: false`. A stand-in holds the
//! lease: it only makes the handshake and requests the lists, so that the process has no user. Clients join
//! it by the usual rules.

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

/// Protocol version of a handshake without an example from a client.
const DEFAULT_PROTOCOL_VERSION: &str = "2025-11-25";

/// Progress of a server that was started without a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandbyState {
    /// No standby is ordered.
    None,
    Starting,
    Ready,
    Failed,
}

impl Core {
    /// Starts a server without a client and keeps it running, until [`crate::Order::Stop`]. The error is the
    /// reason why that is impossible.
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
        // The owner who stopped a server needs no report about it.
        if let (Err(why), Some(known)) = (done, self.servers.get(server))
            && !known.is_held()
        {
            let name = known.name().to_owned();
            self.report(Fact::NotStarted { server: name, why });
        }
        done
    }

    /// Progress of a server's stand-ins; the worst of them.
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
        // An instance without a workspace would be useless to clients that have one.
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

    /// Whether a process started now can be useful to later clients.
    fn may_stand_by(&self, server: ServerId) -> Result<(), NoStandby> {
        let Some(known) = self.servers.get(server).filter(|known| !known.is_removed()) else {
            return Err(NoStandby::Removed);
        };
        match () {
            () if known.is_held() => Err(NoStandby::Held),
            () if self.is_private(server) => Err(NoStandby::Private),
            () if known.settings().asks_roots(known.record()) && !known.settings().is_split() => {
                Err(NoStandby::AsksRoots)
            }
            () => Ok(()),
        }
    }

    /// The handshake of the most recent kind of client, so that the next of its kind finds what it would have
    /// started itself.
    fn own_greeting(&self, server: ServerId) -> Option<Greeting> {
        let example = self.servers.get(server)?.offers().newest_profile();
        let read = |profile: &str| {
            let (version, capabilities) = profile.split_once(' ')?;
            let version: Value = serde_json::from_str(version).ok()?;
            Some((version, serde_json::from_str::<Value>(capabilities).ok()?))
        };
        let (version, capabilities) =
            example.and_then(read).unwrap_or((json!(DEFAULT_PROTOCOL_VERSION), json!({})));
        // Shared capabilities are left out of a profile, as null.
        let capabilities = if capabilities.is_object() { capabilities } else { json!({}) };
        let name = json!({ "name": "switchboard", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": name });
        let text = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        Some(Greeting::new(own_message(text.to_string().into())?, initialized_notice()))
    }

    /// Makes sure that a stand-in has a process.
    fn keep_running(&mut self, client: ClientId, is_ordered: bool) {
        let home = match self.clients.get(&client).and_then(|c| c.home()) {
            Some(home) if self.backends.contains(home) => home,
            _ => match self.find_home(client) {
                Route::To(home) => home,
                Route::Wait | Route::Refused(_) => return,
            },
        };
        let Some(b) = self.backends.get(&home) else { return };
        match b.state() {
            // A server that could not be started is not retried by itself.
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

    /// Restarts stand-ins that have lost their process, and ends those that are useless.
    pub(crate) fn check_standbys(&mut self) {
        if !self.is_running() {
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
                        // The process was told that there are no roots, so it is of no use to clients that have some.
                        self.separate(home, None, "it asks for its client's roots, and has no client");
                    }
                    self.report(Fact::NotStarted { server: name, why: why.text() });
                }
            }
        }
    }

    /// Time of the next attempt after too many crashes.
    pub(crate) fn next_standby_start(&self) -> Option<Moment> {
        let until = |c: &Client| self.backends.get(&c.home()?)?.cooldown_end();
        self.standbys().filter_map(until).min()
    }

    /// Removes stand-ins from a backend that accepts no more clients, or has become private.
    pub(crate) fn release_standbys(&mut self, backend: BackendId) {
        let is_there = |c: &&Client| c.holds_lease_on(backend);
        for client in self.standbys().filter(is_there).map(|c| c.id()).collect::<Vec<ClientId>>() {
            self.leave(client, backend);
        }
        self.followups.push(Followup::CheckStandbys);
    }

    /// Ends the stand-ins of a server that its owner stops, everywhere or at one root.
    pub(crate) fn end_standbys(&mut self, server: ServerId, root: Option<&str>) {
        let is_meant = |c: &&Client| {
            let at = c.home().and_then(|home| self.backends.get(&home)).and_then(|b| b.root());
            c.server() == server && (root.is_none() || at == root || c.known().pinned.as_deref() == root)
        };
        for client in self.standbys().filter(is_meant).map(|c| c.id()).collect::<Vec<ClientId>>() {
            self.lose(client);
        }
    }

    /// Ends all stand-ins, since another daemon takes our place.
    pub fn end_all_standbys(&mut self, now: Moment, actions: &mut Vec<Action>) {
        self.transition(now, actions, |core| {
            for client in core.standbys().map(|c| c.id()).collect::<Vec<ClientId>>() {
                core.lose(client);
            }
        });
    }

    /// Whether a backend is kept without clients.
    pub(crate) fn is_standing_by(&self, backend: BackendId) -> bool {
        self.standbys().any(|c| c.holds_lease_on(backend))
    }

    fn standbys(&self) -> impl Iterator<Item = &Client> {
        // Delegates and stand-ins have their own range of numbers, above those of connections.
        let own = self.has_standbys().then(|| self.clients.range(ClientId(ClientId::FIRST_DELEGATE)..));
        own.into_iter().flatten().map(|(_, c)| c).filter(|c| !c.is_lost() && c.is_standby())
    }
}

//! A new config. Servers with unchanged settings are not affected. Clients of a changed server get another
//! backend with their next request, and their subscriptions move along; the old backends finish their
//! requests and end.

use crate::access::{AuditPolicy, IdentityLimits, Rights, ServerLimits};
use crate::answers::Cause;
use crate::backends::Backend;
use crate::catalogue::Naming;
use crate::core::{Core, Followup};
use crate::environment::Environment;
use crate::event::Action;
use crate::ids::{BackendId, ClientId, ServerId};
use crate::moment::Moment;
use crate::pending::Listens;
use crate::routing::{NamedBy, NamedPath, Policy};
use crate::servers::Server;
use crate::settings::{Aggregates, ClientEra, Pool, Scope, ServerSettings};
use crate::transitions::Route;
use std::sync::Arc;
use std::time::Duration;
use switchboard_protocol::Method;
use switchboard_protocol::dialect::LearntDialect;

/// The difference between two configs.
#[derive(Debug, Clone)]
pub struct Change {
    /// New, changed and removed servers. A new one has the next number.
    pub servers: Vec<(ServerId, Option<ServerSettings>)>,
    /// Servers of which only names and filters changed. Their instances are not affected.
    pub shown: Vec<(ServerId, Arc<Naming>)>,
    /// Servers of which only the limits on calls changed. Their instances are not affected either.
    pub call_limits: Vec<(ServerId, Option<Arc<ServerLimits>>)>,
    pub identity_limits: IdentityLimits,
    /// Rights of clients with a profile, by its name.
    pub profiles: Vec<(String, Arc<Rights>)>,
    /// The environments of those servers' clients, since the settings decide which variables reach a server.
    pub environments: Vec<(ClientId, ServerId, Environment)>,
    pub pool: Pool,
    pub policy: Policy,
    /// For clients that connect from now on.
    pub dialect: LearntDialect,
    /// For requests that decide it from now on.
    pub client_era: ClientEra,
    pub shutdown_grace: Duration,
    pub linger: Option<Duration>,
    pub aggregates: Aggregates,
    pub audit: AuditPolicy,
}

/// A client's subscription, and the path to its backend; `None` for the client's home.
type Wanted = (Option<NamedPath>, Vec<u8>);

impl Core {
    /// Applies a new config.
    pub fn reconfigure(&mut self, now: Moment, change: Change, actions: &mut Vec<Action>) {
        self.transition(now, actions, |core| core.take_over(change));
    }

    fn take_over(&mut self, change: Change) {
        self.settings.pool = change.pool;
        self.settings.roots.policy = change.policy;
        self.settings.dialect = change.dialect;
        self.settings.client_era = change.client_era;
        self.settings.shutdown_grace = change.shutdown_grace;
        self.settings.linger = change.linger;
        self.settings.audit = change.audit;
        self.settings.aggregates = change.aggregates;
        self.settings.identity_limits = change.identity_limits;
        // Deadlines may be earlier than before.
        self.clock.wake_at(self.clock.now());
        // Before the servers change: clients that move find their new backend by these.
        for (client, server, environment) in change.environments {
            self.set_environment(client, server, environment);
        }
        for (id, settings) in change.servers {
            match settings {
                Some(settings) => self.servers.configure(id, settings, self.clock.now()),
                None => {
                    if let Some(server) = self.servers.get_mut(id) {
                        server.remove();
                    }
                }
            }
            self.retire(id);
            // The gateway orders stand-ins again, with the new variables.
            self.end_standbys(id, None);
        }
        for (id, limits) in change.call_limits {
            if let Some(server) = self.servers.get_mut(id) {
                server.set_call_limits(limits);
            }
        }
        for (id, naming) in change.shown {
            let held = self.servers.get(id).and_then(|server| server.settings().naming.tools.held.clone());
            let naming = if held.is_some() { Arc::new(naming.holding(held)) } else { naming };
            self.rename(id, naming);
        }
        self.set_profiles(change.profiles);
        self.renew_delegates();
        self.followups.push(Followup::CheckStandbys);
    }

    /// Applies other names and filters to a server and its clients. Its instances are not affected.
    pub(crate) fn rename(&mut self, id: ServerId, naming: Arc<Naming>) {
        let Some(server) = self.servers.get_mut(id) else { return };
        let before = server.rename(&naming);
        let settings = server.settings().clone();
        // Clients that still have to move from an older config get these settings when they do.
        let has_it = |other: &Arc<ServerSettings>| Arc::ptr_eq(&other.naming, &before);
        for b in self.backends.values_mut().filter(|b| b.server() == id && has_it(b.settings())) {
            b.rename(&settings);
        }
        let mut changed = Vec::new();
        for c in self.clients.values_mut().filter(|c| c.server() == id && has_it(c.settings())) {
            changed.push((c.id(), c.naming().clone()));
            let own = self.narrowings.naming(&naming, &c.identity().rights);
            c.set_settings(settings.clone(), own);
        }
        self.shown_otherwise(&changed);
    }

    pub(crate) fn is_gone(&self, server: ServerId) -> bool {
        self.servers.get(server).is_some_and(Server::is_removed)
    }

    /// Retires all instances of a server: no client may join them, and their clients move.
    fn retire(&mut self, server: ServerId) {
        let is_gone = self.is_gone(server);
        let own: Vec<BackendId> = self.backends.of_server(server).map(|b| b.id()).collect();
        for backend in own {
            let Some(b) = self.backends.get_mut(&backend) else { continue };
            let (runs, is_retired) = (b.has_process(), b.is_retired());
            if !is_retired {
                b.retire(why(is_gone));
            }
            // A running process finishes what it has; without one, nobody would answer. A handshake may have stayed
            // at a backend that an earlier change has retired.
            if runs && !is_retired {
                self.tell_of_loss(backend, why(is_gone));
                // They would never finish.
                self.end_listens(Listens::At(backend));
            } else if !runs && is_gone {
                self.fail_all(backend, &Cause::Removed);
            }
        }
        self.retire_prefetches(server, why(is_gone));
        for c in self.clients.values().filter(|c| c.server() == server) {
            self.followups.push(Followup::Move { client: c.id() });
        }
    }

    /// Moves the clients that are due, unless a shutdown has begun.
    pub(crate) fn move_clients(&mut self) {
        if self.is_running() {
            self.run_present(|it| matches!(it, Followup::Move { .. }));
        }
    }

    /// Moves a client. A client in a handshake completes it first.
    pub(crate) fn move_if_greeted(&mut self, client: ClientId) {
        match self.clients.get(&client).filter(|c| !c.is_lost()) {
            Some(c) if c.awaits_greeting() => self.followups.push(Followup::Move { client }),
            Some(_) => self.move_client(client),
            None => {}
        }
    }

    pub(crate) fn move_client(&mut self, client: ClientId) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        let Some(server) = self.servers.get(c.server()) else { return };
        let (id, is_gone) = (c.server(), server.is_removed());
        let before = c.naming().clone();
        if !is_gone {
            let settings = server.settings().clone();
            let naming = self.narrowings.naming(&settings.naming, &c.identity().rights);
            c.set_settings(settings, naming);
        }
        let is_filtered_anew = before.resources != c.naming().resources;
        let (home, settings) = (c.home(), server.settings().clone());
        let changed = home.and_then(|home| self.backends.get(&home));
        let changed = changed.filter(|b| !Arc::ptr_eq(b.settings(), &settings));
        let welcome = changed.and_then(|b| b.handshake().welcome().cloned());
        let old = self.backends.values().filter(|b| b.server() == id && self.must_leave(client, b));
        let old: Vec<BackendId> = old.map(|b| b.id()).collect();
        let mut wanted = Vec::new();
        for backend in old {
            let Some(b) = self.backends.get(&backend) else { continue };
            let path = path_to(b).filter(|_| home != Some(backend));
            // Unchanged settings: the clients are being separated.
            let is_same = Arc::ptr_eq(b.settings(), &settings);
            wanted.extend(b.subscriptions().of_client(client).into_iter().map(|uri| (path.clone(), uri)));
            let is_global = self.scope_of(id) == Scope::Global;
            let (retired, root, is_same) =
                (b.retirement(), b.key().root.clone(), is_same && b.key().in_home == is_global);
            // Unsent requests go to the new process, under its settings.
            if !is_gone || !b.has_process() {
                self.park_waiting(client, backend, path);
            }
            self.leave(client, backend);
            if is_same && home == Some(backend) {
                // At the same path as before, whatever has been learnt since.
                let other = self.lease(client, root);
                self.set_home(client, other);
            }
            if let Some(why) = retired {
                self.followups.push(Followup::EndDeserted { backend, why });
            }
        }
        self.rest_retired(id);
        self.refuse_hidden(&[client]);
        self.unpark(client);
        if is_gone {
            return;
        }
        if let Some(welcome) = welcome {
            self.lists_changed(client, &welcome);
        }
        if is_filtered_anew {
            wanted.retain(|(_, uri)| self.may_subscribe(client, uri));
        }
        self.subscribe_anew(client, wanted);
        if self.clients.get(&client).is_some_and(|c| c.is_delegate()) {
            self.rouse_if_unknown(client);
        }
    }

    /// Parks a client's queued requests at a backend that it must leave; they are routed again, to the same path.
    pub(crate) fn park_at(&mut self, client: ClientId, backend: BackendId) {
        let home = self.clients.get(&client).and_then(|c| c.home());
        let path = self.backends.get(&backend).and_then(path_to).filter(|_| home != Some(backend));
        self.park_waiting(client, backend, path);
    }

    /// Parks a client's requests that wait for a process which will not come.
    pub(crate) fn park_waiting(&mut self, client: ClientId, backend: BackendId, path: Option<NamedPath>) {
        let Some(b) = self.backends.get(&backend) else { return };
        // The client has left the era in which its requests were accepted: no other process would hear of it first.
        let is_stranded = self.clients.get(&client).is_some_and(|c| c.is_new())
            && b.handshake().greeting().is_some_and(|greeting| greeting.is_ours());
        for minted in b.queue().requests().collect::<Vec<u64>>() {
            let Some(pending) = self.pending.get_mut(minted) else { continue };
            // A handshake stays: its client moves once it is complete.
            if !pending.is_of(client) || pending.method() == Method::Initialize {
                continue;
            }
            if is_stranded {
                self.unqueue(backend, minted);
                let error = self.cause(Some(backend), &Cause::Ungreeted);
                self.fail_one(minted, &error);
                continue;
            }
            pending.unroute();
            self.unqueue(backend, minted);
            self.park(client, minted, path.iter().cloned().collect());
        }
    }

    /// Ends backoff and cooldown of retired backends without queued requests.
    fn rest_retired(&mut self, server: ServerId) {
        let may_rest = |b: &&mut Backend| b.server() == server && b.is_retired() && b.queue().is_empty();
        for b in self.backends.values_mut().filter(may_rest) {
            if !b.has_process() {
                b.mark_stopped();
            }
        }
        self.forget_unused();
    }

    fn subscribe_anew(&mut self, client: ClientId, wanted: Vec<Wanted>) {
        for (path, uri) in wanted {
            let route = match path {
                Some(path) => self.route_by(client, &[path]),
                None => match self.clients.get(&client).and_then(|c| c.home()) {
                    Some(home) => Route::To(home),
                    None => self.find_home(client),
                },
            };
            if let Route::To(backend) = route {
                self.subscribe_for(client, backend, uri);
                self.ensure_started(backend);
            }
        }
    }
}

/// Reason why an instance ends.
fn why(is_gone: bool) -> &'static str {
    if is_gone { "it is no longer in the config" } else { "its settings have changed" }
}

/// The path that leads to a backend.
fn path_to(b: &Backend) -> Option<NamedPath> {
    let root = b.key().root.clone()?;
    Some(NamedPath { named_by: NamedBy::Uri, path: root.clone(), project: Some(root) })
}

//! The backend for a client's message: by the paths that it names, otherwise the client's home.

use crate::answers::Cause;
use crate::backends::{Backend, BackendKey};
use crate::clients::RootsStage;
use crate::core::{Core, Followup};
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId};
use crate::pending::{NOWHERE, Pending, Unrouted};
use crate::routing::{Decision, NamedPath, decide};
use crate::settings::Scope;
use crate::transitions::{Forget, names_task};
use switchboard_protocol::{ErrorAnswer, Message, Method, Part};

/// Result of routing a request.
#[derive(Debug)]
pub(crate) enum Route {
    To(BackendId),
    /// Not known yet: the client's roots or handshake are pending.
    Wait,
    Refused(ErrorAnswer),
}

impl Core {
    pub(crate) fn route(&mut self, client: ClientId, message: &Message, paths: &[NamedPath]) -> Route {
        // A task lives in one process; only that one can answer.
        if let Some(task) = message.part(Part::TaskId).filter(|_| names_task(message.method()))
            && let Some(backend) = self.backend_of_task(client, task)
        {
            return Route::To(backend);
        }
        let Some(c) = self.clients.get(&client) else { return Route::Wait };
        let is_split = c.settings().is_split() && c.known().pinned.is_none();
        let is_undecided = c.awaits_greeting() || c.roots_stage() == RootsStage::Asked;
        let goes_by_roots = is_split || c.home().is_none();
        // A ping needs no workspace.
        if goes_by_roots && is_undecided && message.method() != Method::Ping {
            return Route::Wait;
        }
        if is_split && !paths.is_empty() {
            return self.route_by(client, paths);
        }
        match c.home() {
            // The client moves when its handshake is complete.
            Some(home) if self.backends.get(&home).is_some_and(|b| self.must_leave(client, b)) => Route::Wait,
            Some(home) => self.route_by_roots(client, home, message.method()),
            None => match self.find_home(client) {
                Route::To(home) => self.route_by_roots(client, home, message.method()),
                other => other,
            },
        }
    }

    pub(crate) fn route_by(&mut self, client: ClientId, paths: &[NamedPath]) -> Route {
        let Some(c) = self.clients.get_mut(&client) else { return Route::Wait };
        let (root, why) = match decide(c.known(), paths, self.settings.roots.policy) {
            Decision::Root { root, why } => (Some(root), Some(why)),
            Decision::Fallback if !c.settings().needs_root => (None, None),
            Decision::Fallback | Decision::Nowhere => return Route::Refused(self.no_root(client)),
        };
        if let Some(root) = &root {
            c.note_root(root);
        }
        // Reported when a client comes to a root for the first time.
        if c.lease_at(&root).is_none() {
            let text = why
                .map_or_else(|| "no workspace is known for this request".to_owned(), |why| why.to_string());
            self.report(Fact::RootChosen {
                client: self.connection_of(client),
                root: root.clone(),
                why: text,
            });
        }
        Route::To(self.lease(client, root))
    }

    /// Finds the backend for messages that name no path.
    pub(crate) fn find_home(&mut self, client: ClientId) -> Route {
        let Some(c) = self.clients.get(&client) else { return Route::Wait };
        if self.scope_of(c.server()) == Scope::Global {
            let known = c.known();
            // Not the working folder: a global instance must not depend on which window came first.
            let root = known.pinned.as_ref().or(known.default.as_ref()).or(known.given.first());
            // Only the launch itself needs a root.
            let is_wanted = c.settings().launch_uses_root || c.settings().needs_root;
            let root = root.filter(|_| is_wanted).cloned();
            if root.is_none() && c.settings().needs_root {
                return Route::Refused(self.no_root(client));
            }
            let home = self.lease(client, root);
            self.set_home(client, home);
            return Route::To(home);
        }
        match self.route_by(client, &[]) {
            Route::To(home) => {
                self.set_home(client, home);
                Route::To(home)
            }
            other => other,
        }
    }

    pub(crate) fn set_home(&mut self, client: ClientId, home: BackendId) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        let before = c.set_home(home);
        // A client that has yet to name its roots may still move.
        let is_final = !c.has_roots() || c.roots_stage() == RootsStage::Told;
        let has_root = self.backends.get(&home).is_some_and(|b| b.key().root.is_some());
        if before != Some(home) && !has_root && is_final && c.settings().is_split() {
            self.report(Fact::Fallback { client: self.connection_of(client) });
        }
    }

    /// The backend of a client at a root, found or created.
    pub(crate) fn lease(&mut self, client: ClientId, root: Option<String>) -> BackendId {
        // The lease may outlive its backend, which was removed as unused.
        if let Some(taken) = self.clients.get(&client).and_then(|c| c.lease_at(&root))
            && self.backends.contains(taken)
        {
            return taken;
        }
        let key = self.key_of(client, root.clone());
        let found = self.find(client, &key).or_else(|| self.take_early(client, &key));
        let backend = found.unwrap_or_else(|| self.create(client, key));
        if let Some(c) = self.clients.get_mut(&client) {
            c.take_lease(root, backend);
            if c.has_too_many_leases() {
                self.give_up_leases(client);
            }
        }
        self.replace_poorer(client, backend);
        self.confirm_early(backend);
        self.keep_level(backend, None);
        // The backend may have started when its lists, and changes of them, were not needed.
        if let Some(launch) = self.backends.get(&backend).and_then(Backend::launch) {
            self.fetch_offer(launch);
        }
        if self.is_modern(backend)
            && let Some(launch) = self.backends.get(&backend).and_then(Backend::initialized_launch)
        {
            self.listen_ourselves(launch);
        }
        backend
    }

    /// A new private home for a client.
    pub(crate) fn lease_apart(&mut self, client: ClientId, root: Option<String>) -> BackendId {
        let key = BackendKey { owner: Some(client), ..self.key_of(client, root.clone()) };
        let backend = self.create(client, key);
        if let Some(c) = self.clients.get_mut(&client) {
            c.take_lease(root, backend);
        }
        self.set_home(client, backend);
        backend
    }

    /// Drops idle leases of a client that goes through many workspaces.
    fn give_up_leases(&mut self, client: ClientId) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        let is_idle = |b: &Backend| b.is_stopped() && b.queue().is_empty() && b.subscriptions().is_empty();
        let backends = &self.backends;
        c.give_up_idle_leases(|backend| backends.get(&backend).is_none_or(is_idle));
        self.forget_unused();
    }

    pub(crate) fn key_of(&self, client: ClientId, root: Option<String>) -> BackendKey {
        let Some(c) = self.clients.get(&client) else {
            return BackendKey { root, in_home: false, profile: None, principal: None, owner: None };
        };
        let profile = c.profile().cloned();
        let principal = (!self.is_for_everybody(c.server(), c.era())).then_some(c.principal());
        // A client without a handshake has no known capabilities, so it cannot share a backend.
        let is_private = profile.is_none() || self.is_private(c.server());
        let in_home = self.scope_of(c.server()) == Scope::Global;
        BackendKey { root, in_home, profile, principal, owner: is_private.then_some(client) }
    }

    pub(crate) fn only_lessee(&self, backend: BackendId) -> Option<ClientId> {
        let mut lessees = self.lessees(backend);
        lessees.next().filter(|_| lessees.next().is_none())
    }

    /// Holds a request until it can be routed.
    pub(crate) fn park(&mut self, client: ClientId, minted: u64, paths: Vec<NamedPath>) {
        if let Some(c) = self.clients.get_mut(&client) {
            c.park(Unrouted { minted, paths });
        }
    }

    /// Routes the parked requests again, in order.
    pub(crate) fn unpark(&mut self, client: ClientId) {
        if self.ending.is_stopping() {
            // The shutdown answers all of it in a moment.
            return;
        }
        let Some(c) = self.clients.get_mut(&client) else { return };
        // Requests that must go on waiting are parked again, in the same order.
        for Unrouted { minted, paths } in c.take_parked() {
            let Some(message) = self.pending.get(minted).and_then(|pending| pending.waiting()).cloned()
            else {
                continue;
            };
            if let Some(error) = self.hidden_since(client, &message) {
                self.fail_one(minted, &error);
                continue;
            }
            match self.route(client, &message, &paths) {
                Route::To(backend) if self.pending.get(minted).is_some_and(Pending::is_undecided) => {
                    self.decide(minted, backend, paths);
                }
                Route::To(backend) if self.is_unsubscribed_for(client, backend, &message) => {
                    self.conclude_empty(minted);
                }
                Route::To(backend) => {
                    let refusal = self.why_not_now(client, backend, &message);
                    match refusal {
                        Some(error) => self.fail_one(minted, &error),
                        None => self.hand_to(minted, backend),
                    }
                }
                Route::Wait => self.park(client, minted, paths),
                Route::Refused(error) => self.fail_one(minted, &error),
            }
        }
    }

    pub(crate) fn fail_one(&mut self, minted: u64, error: &ErrorAnswer) {
        if let Some(pending) = self.close(minted) {
            self.fail(&pending, error);
        }
        self.check_drained();
    }

    /// Fails all parked requests.
    pub(crate) fn fail_parked(&mut self, cause: &Cause) {
        let error = self.cause(None, cause);
        for minted in self.pending.ids(|pending| pending.backend() == NOWHERE) {
            self.fail_one(minted, &error);
        }
    }

    /// Ends all leases of a client that is gone, while others continue.
    pub(crate) fn leave_all(&mut self, client: ClientId) {
        let Some(c) = self.clients.get(&client) else { return };
        // Including backends where it worked earlier and left tasks or subscriptions.
        let is_known = |b: &&Backend| {
            let has_task = b.tasks().has_client(client) || b.held_tasks().has_client(client);
            c.holds_lease_on(b.id()) || has_task || b.subscriptions().has_client(client)
        };
        let backends: Vec<BackendId> = self.backends.values().filter(is_known).map(|b| b.id()).collect();
        for backend in backends {
            self.leave(client, backend);
        }
        self.forget_unused();
    }

    /// Leaves a backend after a repeated handshake, unless the client came back to it.
    pub(crate) fn leave_if_elsewhere(&mut self, client: ClientId, backend: BackendId) {
        let holds_lease = |c: &crate::clients::Client| c.holds_lease_on(backend);
        if !self.clients.get(&client).is_some_and(holds_lease) {
            self.leave(client, backend);
        }
    }

    /// Returns a lease. A private backend ends with it.
    pub(crate) fn leave(&mut self, client: ClientId, backend: BackendId) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.give_back_lease(backend);
        let is_lost = c.is_lost();
        // Values of a departed client may be secrets, and are not kept longer than needed.
        self.forget_values(backend, Forget::Values);
        let is_free = self.lessees(backend).next().is_none();
        if is_lost {
            self.forget_remote_tasks(client, backend);
        }
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let over = b.subscriptions_mut().remove_client(client);
        // A client that only moved elsewhere still waits for its tasks here.
        if is_lost {
            b.tasks_mut().forget_client(client, self.clock.now());
            b.held_tasks_mut().forget_client(client, self.clock.now());
        }
        // The linger time counts from now.
        b.touch(self.clock.now());
        self.wake_for_linger();
        let Some(b) = self.backends.get(&backend) else { return };
        let is_over =
            b.owner() == Some(client) || (is_free && (b.is_retired() || b.handshake().is_ungreeted()));
        if is_over {
            let why = b.retirement().unwrap_or("its client has left it");
            self.followups.push(Followup::EndDeserted { backend, why });
        } else if let Some(launch) = b.ready_launch() {
            self.unsubscribe(launch, client, over);
            // The roots of the leaving client may be the ones that were waited for.
            self.answer_roots(launch);
        }
    }
}

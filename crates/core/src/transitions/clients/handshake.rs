//! The handshake. The first client of a backend makes it, and gets the server's own answer; later clients get
//! the same answer. The client's messages are stored, and replayed to every new process.

use crate::core::Core;
use crate::fact::{Fact, Outcome};
use crate::ids::{BackendId, ClientId, Launch};
use crate::messages::own_result;
use crate::pending::{Asker, Pending};
use crate::routing::NamedPath;
use crate::servers::Server;
use crate::settings::Scope;
use crate::transitions::Route;
use serde_json::json;
use switchboard_protocol::{Dialect, Message, Method, Outgoing, Part, Patch, RawId, dialect};

impl Core {
    /// The backend for a handshake, which names the client's capabilities and perhaps its roots.
    pub(crate) fn route_handshake(
        &mut self,
        client: ClientId,
        initialize: &Message,
        roots: &[NamedPath],
    ) -> Route {
        let server = self.clients.get(&client).map(|c| c.server());
        let goes_by_root = server.is_some_and(|server| self.scope_of(server) != Scope::Global);
        let Some(c) = self.clients.get_mut(&client) else { return Route::Wait };
        c.declare(initialize);
        let has_roots = c.has_roots();
        c.set_first_roots(roots.iter().map(|path| path.path.clone()).collect());
        let before = c.take_home();
        let leases = c.take_leases();
        let found = self.find_home_from(client, before);
        // Left only now, so that a backend which still fits keeps running.
        for backend in leases {
            self.leave_if_elsewhere(client, backend);
        }
        match found {
            // Its roots come later, and decide the server.
            Route::Refused(_) if has_roots && goes_by_root => Route::Wait,
            found => found,
        }
    }

    /// Reuses a backend that no one else uses, instead of creating a second one.
    fn find_home_from(&mut self, client: ClientId, before: Option<BackendId>) -> Route {
        let Some(before) = before else { return self.find_home(client) };
        let known = self.backends.get(&before).map(|b| b.key().root.clone());
        let is_mine = self.lessees(before).next().is_none();
        let Some(root) = known.filter(|_| is_mine) else { return self.find_home(client) };
        let key = self.key_of(client, root.clone());
        let is_there = self.find(client, &key).is_some_and(|other| other != before);
        // Clients that could share it may bring variables that it lacks.
        let wanted = self.environment_for(client, &key);
        let Some(b) = self.backends.get_mut(&before).filter(|b| !is_there && b.environment().serves(&wanted))
        else {
            let found = self.find_home(client);
            self.leave(client, before);
            return found;
        };
        b.set_key(key);
        if let Some(c) = self.clients.get_mut(&client) {
            c.take_lease(root, before);
        }
        let found = self.find_home(client);
        if !matches!(found, Route::To(home) if home == before) {
            self.leave(client, before);
        }
        found
    }

    /// Makes a client's handshake: with the server, or with the server's answer to another client.
    pub(crate) fn greet(
        &mut self,
        client: ClientId,
        backend: BackendId,
        id: RawId,
        batch: Option<u32>,
        initialize: Message,
    ) {
        let Some(b) = self.backends.get(&backend) else { return };
        // A client that repeats its handshake alone wants the server to see it; with others around, the
        // stored answer must do.
        let is_again =
            b.handshake().greeted_by() == Some(client) && self.only_lessee(backend) == Some(client);
        let (is_known, is_coming) = (b.handshake().has_welcome() && !is_again, b.handshake().is_under_way());
        if is_known && !b.handshake().is_under_way() {
            let minted = self.accept(client, backend, id, batch, initialize);
            return self.welcome(minted, backend);
        }
        // A known answer needs no process.
        if !is_known && let Some(error) = self.why_not_now(client, backend, &initialize) {
            return self.refuse(client, &id, batch, &initialize, &error);
        }
        let minted = self.accept(client, backend, id, batch, initialize.clone());
        if is_coming && self.only_lessee(backend) != Some(client) {
            if let Some(b) = self.backends.get_mut(&backend) {
                b.handshake_mut().wait(minted);
            }
            return;
        }
        self.make_handshake(minted, backend, initialize);
    }

    fn make_handshake(&mut self, minted: u64, backend: BackendId, initialize: Message) {
        if let Some(b) = self.backends.get_mut(&backend) {
            b.handshake_mut().begin(minted, initialize);
        }
        self.hand_to(minted, backend);
    }

    /// Answers a handshake with the server's answer to another client.
    fn welcome(&mut self, minted: u64, backend: BackendId) {
        let Some(answer) = self.backends.get(&backend).and_then(|b| b.handshake().welcome().cloned()) else {
            return;
        };
        let Some(pending) = self.close(minted) else { return };
        let &Asker::Client { client, ref id, batch } = pending.asker() else { return };
        let Some(initialize) = pending.waiting() else { return };
        let Some(c) = self.clients.get_mut(&client) else { return };
        // Read before `answer_handshake`, after which it is no longer early.
        let early = c.confirmed_early().cloned();
        c.answer_handshake(initialize);
        let mut out = Outgoing::of(&answer);
        out.replace(answer.span(Part::Id), Patch::Id(id.clone()));
        dialect::translate(&answer, c.dialect(), &mut out);
        self.answer(client, id, batch, out);
        self.conclude(&pending, Outcome::Ok);
        self.forget_early(backend, client, early);
        self.confirm_early(backend);
        // After the answer, since a client expects no request before it.
        self.ask_roots_if_wanted(client);
        self.unpark(client);
    }

    /// Withdraws a client's early `initialized`, which was queued with its handshake.
    pub(crate) fn forget_early(&mut self, backend: BackendId, client: ClientId, early: Option<Message>) {
        if let (Some(early), Some(b)) = (early, self.backends.get_mut(&backend)) {
            b.handshake_mut().forget_early(client);
            b.queue_mut().remove_notification(&early);
        }
    }

    /// Sends `initialized` to a process that has not received it, if one of its clients has sent it
    /// elsewhere, or before its handshake was answered.
    pub(crate) fn confirm_early(&mut self, backend: BackendId) {
        self.complete_greeting(backend);
        let Some(b) = self.backends.get(&backend) else { return };
        let Some(launch) = b.ready_launch() else { return };
        // A client in its handshake sends its own.
        if b.handshake().is_under_way() || b.handshake().is_initialized() {
            return;
        }
        if let Some(message) = b.handshake().confirmation().cloned() {
            self.confirm_to(launch, None, &message);
            self.restore(launch);
        }
    }

    /// Completes the stored handshake with another client's `initialized`.
    pub(crate) fn complete_greeting(&mut self, backend: BackendId) {
        if !self.backends.get(&backend).is_some_and(|b| b.handshake().lacks_confirmation()) {
            return;
        }
        let words = |client: ClientId| self.clients.get(&client)?.greeting()?.initialized().cloned();
        let found = self.speakers(backend).into_iter().find_map(words);
        if let (Some(b), Some(initialized)) = (self.backends.get_mut(&backend), found) {
            b.handshake_mut().complete(&initialized);
        }
    }

    /// Answers handshakes that waited for a process with its answer to the replayed one.
    pub(crate) fn welcome_waiting(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get(&backend) else { return };
        let only = self.only_lessee(backend);
        // A client that repeats its handshake is heard by the server, as it would be without us.
        let is_again = only.is_some() && b.handshake().greeted_by() == only;
        let first = b.handshake().under_way().filter(|_| !is_again);
        let Some(minted) = first else { return };
        // The answer to the replayed handshake serves this one too, so the server must not see it.
        self.unqueue(backend, minted);
        let Some(b) = self.backends.get_mut(&backend) else { return };
        b.handshake_mut().end();
        for minted in std::iter::once(minted).chain(b.handshake_mut().take_waiting()) {
            self.welcome(minted, backend);
        }
    }

    /// Handles the server's answer to a handshake.
    pub(crate) fn greeted(
        &mut self,
        launch: Launch,
        client: ClientId,
        pending: &Pending,
        answer: &Message,
        failed: bool,
    ) {
        let after = self.clock.now().since(pending.accepted());
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        let Some(c) = self.clients.get_mut(&client) else { return };
        // A client that has left meanwhile leaves its handshake to later clients.
        let own = b.handshake_mut().end();
        let said = pending.sent().cloned().or(own);
        let Some(initialize) = said.filter(|_| !failed) else {
            b.handshake_mut().refused(client);
            return c.fail_handshake();
        };
        c.answer_handshake(&initialize);
        let greeting = c.greeting().cloned();
        let greeted = b.handshake_mut().answered(client, greeting, c.is_initialized(), answer.clone());
        if let Some(origin) = self.origin(launch.backend) {
            origin.set_welcome(answer.clone());
        }
        self.welcomed(launch.backend);
        self.learn_offer(launch.backend, Method::Initialize, answer);
        self.report(Fact::Ready { backend: launch.backend, after, restarted: false });
        if greeted.is_first && greeted.is_initialized {
            self.restore(launch);
        }
    }

    /// Continues with requests that waited for a handshake.
    pub(crate) fn after_greeting(&mut self, backend: BackendId, client: ClientId) {
        let is_known = self.backends.get(&backend).is_some_and(|b| b.handshake().has_welcome());
        if is_known {
            let later = self.backends.get_mut(&backend).map(|b| b.handshake_mut().take_waiting());
            for minted in later.unwrap_or_default() {
                self.welcome(minted, backend);
            }
            self.confirm_early(backend);
            self.keep_level(backend, None);
        } else {
            self.next_greeter(backend);
        }
        self.let_early_go(backend);
        self.ask_roots_if_wanted(client);
        self.unpark(client);
    }

    /// Gives a backend without a handshake the one of a client that was greeted elsewhere.
    pub(crate) fn adopt_greeting(&mut self, backend: BackendId) {
        if self.backends.get(&backend).is_none_or(|b| !b.handshake().is_ungreeted()) {
            return;
        }
        let words = |client: ClientId| {
            let greeting = self.clients.get(&client).and_then(|c| c.greeting())?;
            Some((client, greeting.clone()))
        };
        let found = self.speakers(backend).into_iter().find_map(words);
        if let (Some((client, greeting)), Some(b)) = (found, self.backends.get_mut(&backend)) {
            b.handshake_mut().adopt(greeting, client);
        }
    }

    /// Clients of a backend, including those that moved away but have requests queued here.
    pub(crate) fn speakers(&self, backend: BackendId) -> Vec<ClientId> {
        let mut waiting: Vec<ClientId> =
            self.pending.wanted_at(backend).filter_map(Pending::client).collect();
        // The table of requests has no order, and a run must be repeatable.
        waiting.sort();
        self.lessees(backend).chain(waiting).collect()
    }

    /// Whether a request must wait until its backend has seen a handshake. A client that has made none need
    /// not wait: the server decides what to do with its requests.
    pub(crate) fn is_too_early(&self, minted: u64) -> bool {
        let Some(pending) = self.pending.get(minted) else { return false };
        let Some(client) = pending.client() else { return false };
        let is_greeted = self.clients.get(&client).is_some_and(|c| c.is_greeted());
        is_greeted
            && !matches!(pending.method(), Method::Ping | Method::Initialize)
            && self.backends.get(&pending.backend()).is_some_and(|b| b.handshake().is_ungreeted())
    }

    /// Sends another client's handshake to a process that refused the first.
    pub(crate) fn greet_anew(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get_mut(&backend) else { return };
        if b.handshake().is_under_way() {
            return;
        }
        let Some(launch) = b.begin_handshake_again(self.clock.now()) else { return };
        self.adopt_greeting(backend);
        self.make_ready(launch);
    }

    /// Lets other clients try after a failed handshake. Done at the end of the event, since the failure may
    /// be about to decide the fate of the process.
    pub(crate) fn greet_next_client(&mut self, backend: BackendId, client: ClientId) {
        self.next_greeter(backend);
        self.let_early_go(backend);
        self.unpark(client);
    }

    /// Continues with requests that waited for another client's handshake, or makes their own client's.
    fn let_early_go(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get(&backend).filter(|b| b.is_ready()) else {
            return;
        };
        if !b.handshake().is_under_way() && b.queue().requests().any(|minted| self.is_too_early(minted)) {
            return self.greet_anew(backend);
        }
        self.let_go(backend);
    }

    fn next_greeter(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get_mut(&backend) else { return };
        if b.handshake().under_way().is_some_and(|minted| self.pending.get(minted).is_some()) {
            // One of the waiting handshakes is in progress already.
            return;
        }
        b.handshake_mut().end();
        while let Some(minted) =
            self.backends.get_mut(&backend).and_then(|b| b.handshake_mut().next_waiting())
        {
            // Clients may have left while their handshakes waited.
            let initialize = self.pending.get(minted).and_then(|pending| pending.waiting()).cloned();
            if let Some(initialize) = initialize {
                self.make_handshake(minted, backend, initialize);
                return self.limit_wait_for_start(minted, backend);
            }
        }
    }

    /// Shortens the deadline of a handshake that came while there was a process, and now waits for the next
    /// one: it gets no more time than others that do.
    fn limit_wait_for_start(&mut self, minted: u64, backend: BackendId) {
        let latest = self.clock.now() + self.settings_of(backend).start_timeout * 2;
        let pending = self.pending.get_mut(minted).filter(|pending| pending.waiting().is_some());
        if let Some(pending) = pending.filter(|pending| pending.deadline() > latest) {
            pending.set_deadline(latest);
            self.clock.wake_at(latest);
        }
    }

    /// Handles `initialized`, the second half of the handshake.
    pub(crate) fn client_initialized(&mut self, client: ClientId, message: &Message) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        // The stored message and the queued one share their bytes, by which `forget_early` recognises it.
        let message = &message.detached();
        c.confirm_handshake(message);
        let is_answered = c.is_greeted();
        let home = c.home();
        for backend in c.leases().collect::<Vec<BackendId>>() {
            let Some(b) = self.backends.get_mut(&backend) else { continue };
            if is_answered {
                b.handshake_mut().complete(message);
            }
            let is_ready = b.is_ready();
            let is_others = b.handshake().is_initialized_by_other(client);
            // While another client makes the handshake, or it is repeated, this client's `initialized` is not
            // the one that counts.
            let is_own = b
                .handshake()
                .under_way()
                .is_none_or(|minted| self.pending.get(minted).is_some_and(|pending| pending.is_of(client)));
            let is_new = b.handshake().is_ungreeted() || b.handshake().greeted_by() == Some(client);
            // The client may have been greeted elsewhere: a backend without a handshake gets this along with it.
            let may_hear = if is_answered { !b.handshake().is_ungreeted() } else { is_own };
            match b.launch().filter(|_| is_ready) {
                Some(launch) if !is_others && may_hear => {
                    let is_first = !b.handshake().is_initialized();
                    b.handshake_mut().set_early(Some(client).filter(|_| !is_answered));
                    self.confirm_to(launch, Some(client), message);
                    if is_first && is_answered {
                        self.restore(launch);
                    }
                }
                // The new process gets it with the replayed handshake.
                None if is_answered => {}
                // In order with the handshake that it belongs to.
                None if home == Some(backend) && is_own && is_new && !b.queue().is_empty() => {
                    let mut out = Outgoing::of(message);
                    dialect::translate(message, Dialect::Standard, &mut out);
                    b.queue_mut().push_notification(out);
                    b.handshake_mut().set_early(Some(client));
                }
                Some(_) | None => {}
            }
        }
        self.ask_roots_if_wanted(client);
    }

    /// Greets a client whose server cannot be started before its roots are known: clients name their roots
    /// only after the handshake.
    pub(crate) fn greet_alone(
        &mut self,
        client: ClientId,
        id: &RawId,
        batch: Option<u32>,
        initialize: Message,
    ) {
        let version = initialize
            .part(Part::Params)
            .and_then(|params| serde_json::from_slice::<serde_json::Value>(params).ok())
            .and_then(|params| params.get("protocolVersion").cloned())
            .unwrap_or(json!("2025-06-18"));
        let Some(c) = self.clients.get(&client) else { return };
        let origin = self.servers.get(c.server());
        let welcome = origin.and_then(Server::welcome);
        let result = welcome.and_then(|welcome| welcome.part(Part::Result));
        let known = result.and_then(|result| serde_json::from_slice::<serde_json::Value>(result).ok());
        let result = known.unwrap_or_else(|| {
            json!({
                "protocolVersion": version,
                "capabilities": {
                    "tools": { "listChanged": true },
                    "prompts": { "listChanged": true },
                    "resources": { "listChanged": true },
                },
                "serverInfo": { "name": c.settings().name, "version": env!("CARGO_PKG_VERSION") },
            })
        });
        let minted = self.accept(client, crate::pending::NOWHERE, id.clone(), batch, initialize.clone());
        let Some(pending) = self.close(minted) else { return };
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.answer_handshake(&initialize);
        let answer = own_result(id, c.dialect(), &result.to_string());
        self.answer(client, id, batch, answer);
        self.conclude(&pending, Outcome::Ok);
    }
}

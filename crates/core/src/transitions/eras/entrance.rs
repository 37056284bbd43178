//! The era of a client. `initialize` makes it legacy, and a request that declares a modern version makes it modern;
//! `server/discover` alone decides nothing, since clients of both eras send it first. A client that declares nothing at
//! all is served as the oldest kind of client.

use crate::answers::Overload;
use crate::backends::Backend;
use crate::clients::{Client, Greeting, Profile};
use crate::core::Core;
use crate::ids::{BackendId, ClientId, Principal, ServerId};
use crate::messages::{initialized_notice, own_message};
use crate::pending::{Asker, EraWait, NOWHERE, Pending, Unrouted};
use crate::routing::NamedPath;
use crate::settings::ClientEra;
use crate::transitions::eras::answering::is_for_us;
use switchboard_protocol::modern::{self, Declaration};
use switchboard_protocol::prune;
use switchboard_protocol::{Era, ErrorAnswer, Message, Method, Part};

/// What becomes of a request.
enum Entry {
    Open,
    /// The eras of these servers must be known first.
    Waits(Vec<ServerId>),
    Refused(ErrorAnswer),
}

/// Whether a client of several servers waits for the eras of those that are not known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unknown {
    MustBeKnown,
    /// They have had their time. What they speak is found out with their lists.
    MayStay,
}

impl Core {
    /// Decides the era of a client, or checks that the request fits it. Returns the request if it is to be handled now.
    pub(crate) fn enter(
        &mut self,
        client: ClientId,
        message: Message,
        batch: Option<u32>,
        paths: Vec<NamedPath>,
    ) -> Option<(Message, Vec<NamedPath>)> {
        let id = message.id()?;
        // The other Switchboard decides the era, but the end of its connection is told by this one.
        if let Some(c) = self.clients.get_mut(&client).filter(|c| c.settings().relays) {
            c.set_modern_errors(message.has(Part::MetaVersion));
        }
        let message = undeclared_handshake(message);
        match self.entry(client, &message, Unknown::MustBeKnown) {
            Entry::Open => return Some((message, paths)),
            Entry::Refused(error) => self.refuse(client, &id, batch, &message, &error),
            Entry::Waits(servers) => {
                let until = self.patience(client, &message);
                let minted = self.accept(client, NOWHERE, id, batch, message);
                if let Some(until) = until {
                    self.clock.wake_at(until);
                }
                let request = Unrouted { minted, paths };
                self.era_waits.push(EraWait { client, request, servers, until });
            }
        }
        None
    }

    fn entry(&mut self, client: ClientId, message: &Message, unknown: Unknown) -> Entry {
        let Some(c) = self.clients.get(&client) else { return Entry::Open };
        // Another Switchboard decides; or every request is refused for the same reason.
        if c.settings().relays || self.refusal().is_some() || self.why_not(client).is_some() {
            return Entry::Open;
        }
        let is_legacy = !c.speaks_modern() && !c.is_new() && !c.is_greeted_by_us();
        match message.method() {
            Method::Initialize => {
                let is_greeted = c.is_greeted_by_us();
                if !is_legacy {
                    self.refuse_unsent(client);
                }
                // What was started for it so far was greeted with other words.
                if is_greeted {
                    self.leave_era(client);
                }
                return Entry::Open;
            }
            Method::Alive | Method::Servers | Method::Shutdown => return Entry::Open,
            _ if is_legacy => return Entry::Open,
            // Its rights exclude the server, so not even a start may tell that it exists.
            _ if c.is_plain() && !c.may_use_server() => return Entry::Open,
            _ => {}
        }
        let is_served = self.settings.client_era == ClientEra::Auto;
        match message.method() {
            // Not as a client without a handshake: it would make one, if it is told.
            _ if message.has(Part::MetaVersion) && !is_served => Entry::Refused(self.not_modern(message)),
            // The usual case: nothing is copied.
            _ if message.has(Part::MetaVersion) && c.speaks_modern() && c.has_declared(message) => {
                Entry::Open
            }
            _ if message.has(Part::MetaVersion) => match Declaration::of(message) {
                Ok(declaration) => self.modern_entry(client, &declaration, unknown),
                Err(why) => Entry::Refused(self.undeclared(&why)),
            },
            Method::Discover | Method::Ping => Entry::Open,
            _ if c.speaks_modern() => {
                Entry::Refused(self.undeclared(&modern::Undeclared::Missing(modern::VERSION)))
            }
            _ if !c.is_new() => Entry::Open,
            // A second handshake has failed, and the first is still open.
            _ if self.is_greeting(client) => Entry::Open,
            _ => {
                if let Some(initialize) = own_message(modern::plain_initialize().into()) {
                    self.greet_ourselves(client, initialize);
                }
                Entry::Open
            }
        }
    }

    fn modern_entry(&mut self, client: ClientId, declaration: &Declaration, unknown: Unknown) -> Entry {
        let is_alone = !self.has_aggregate(client);
        let servers = self.servers_behind(client);
        let is_unknown = |server: &ServerId| self.era_of(*server).is_none();
        // A single server is asked by the first request itself.
        let must_wait = !is_alone && unknown == Unknown::MustBeKnown;
        let mut waits: Vec<ServerId> =
            servers.iter().copied().filter(|it| must_wait && is_unknown(it)).collect();
        for server in &waits {
            match self.probe_era(client, *server, declaration) {
                Err(error) if is_alone => return Entry::Refused(error),
                Ok(()) | Err(_) => {}
            }
        }
        // A start may have failed at once, and a process may have told already.
        waits.retain(|server| self.era_of(*server).is_none() && self.is_probed(*server));
        if !waits.is_empty() {
            return Entry::Waits(waits);
        }
        let Some(initialize) = own_message(declaration.initialize().into()) else { return Entry::Open };
        let crowded = |server: &&ServerId| {
            let server = *server;
            let settings = self.servers.get(*server).map(|server| server.settings());
            let profile = settings.and_then(|settings| Client::profile_of(&initialize, settings));
            profile.is_some_and(|profile| self.is_crowded(client, *server, &profile))
        };
        let speaks_modern = |server: &&ServerId| self.era_of(**server) != Some(Era::Legacy);
        if servers.iter().filter(speaks_modern).any(|server| crowded(&server)) {
            return Entry::Refused(self.overloaded(None, Overload::Profiles(MAX_PROFILES)));
        }
        match servers.first() {
            Some(&server) if is_alone && self.is_translated_at(server) => {
                self.greet_translated(client, declaration, initialize);
            }
            Some(_) | None => self.greet_ourselves(client, initialize),
        }
        Entry::Open
    }

    /// Whether modern clients of a server are translated: it speaks only the legacy era.
    pub(crate) fn is_translated_at(&self, server: ServerId) -> bool {
        self.era_of(server) == Some(Era::Legacy)
    }

    /// Greets a modern client of a legacy server: to the server it is a client of the legacy era. `greeting`: that of a
    /// modern server.
    fn greet_translated(&mut self, client: ClientId, declaration: &Declaration, greeting: Message) {
        let Some(initialize) = own_message(declaration.legacy_initialize(0).into()) else { return };
        if self.clients.get(&client).is_some_and(|c| c.is_modern()) {
            self.leave_era(client);
        }
        if let Some(c) = self.clients.get_mut(&client) {
            c.adopt(Greeting::translation(initialize.clone(), initialized_notice(), greeting));
        }
        let _ = self.route_handshake(client, &initialize, &[]);
        self.subscribe_again(client);
    }

    /// Has the messages of a modern client translated from now on, since its server turned out to be a legacy one. What it
    /// has sent to a backend of the server goes to another one, in the same workspace.
    pub(super) fn turn_legacy(&mut self, client: ClientId, backend: BackendId) {
        let root = self.backends.get(&backend).and_then(|b| b.key().root.clone());
        let own =
            |p: &Pending| p.backend() == backend && p.is_wanted() && p.waiting().is_some() && p.is_of(client);
        let waiting = self.pending.ids(own);
        let greeting = self.clients.get(&client).and_then(|c| c.greeting()).map(|it| it.initialize().clone());
        let declaration = greeting.as_ref().and_then(|greeting| Declaration::of(greeting).ok());
        let (Some(greeting), Some(declaration)) = (greeting, declaration) else { return };
        waiting.iter().for_each(|minted| self.unqueue(backend, *minted));
        let is_plain = self.clients.get(&client).is_some_and(|c| c.is_plain());
        match is_plain {
            true => self.greet_translated(client, &declaration, greeting),
            false => self.replace_greeting(client, &declaration, greeting),
        }
        let home = self.lease(client, root);
        self.set_home(client, home);
        for minted in waiting {
            self.go_on_translated(client, home, minted);
        }
    }

    /// The same for a delegate, whose greeting is that of its client.
    fn replace_greeting(&mut self, client: ClientId, declaration: &Declaration, greeting: Message) {
        let Some(initialize) = own_message(declaration.legacy_initialize(0).into()) else { return };
        self.leave_era(client);
        if let Some(c) = self.clients.get_mut(&client) {
            c.adopt(Greeting::translation(initialize.clone(), initialized_notice(), greeting));
            c.declare(&initialize);
        }
    }

    /// Sends a request that has waited for a modern server to a legacy one, or answers it in place of one.
    fn go_on_translated(&mut self, client: ClientId, home: BackendId, minted: u64) {
        let Some(message) = self.pending.get(minted).and_then(|p| p.waiting().cloned()) else { return };
        if message.method() == Method::Listen && self.is_welcomed(client) {
            return self.open_waiting_listen(client, minted, message);
        }
        if let Some(error) = self.why_not_now(client, home, &message) {
            return self.fail_one(minted, &error);
        }
        if !is_for_us(&message) {
            return self.hand_to(minted, home);
        }
        let permit = self.pending.get_mut(minted).and_then(Pending::take_permit);
        let Some(pending) = self.close(minted) else { return self.end_permit(permit) };
        let Asker::Client { id, batch, .. } = pending.asker().clone() else {
            return self.end_permit(permit);
        };
        // Accepted again, so the first acceptance is undone.
        self.one_fewer(client);
        match self.translated_request(client, &id, batch, message) {
            Some(message) => {
                let minted = self.accept(client, home, id, batch, message);
                self.give_permit(minted, permit);
                self.hand_to(minted, home);
            }
            None => self.end_permit(permit),
        }
    }

    /// Keeps a subscription that has waited for a modern server.
    pub(super) fn open_waiting_listen(&mut self, client: ClientId, minted: u64, message: Message) {
        let Some(pending) = self.close(minted) else { return };
        let Asker::Client { id, batch, .. } = pending.asker().clone() else { return };
        // Accepted again, so the first acceptance is undone.
        self.one_fewer(client);
        self.open_listen(client, id, batch, message);
    }

    /// Whether a client waits for the answer to a handshake.
    fn is_greeting(&self, client: ClientId) -> bool {
        let is_open = |p: &Pending| p.method() == Method::Initialize && p.is_of(client) && p.is_wanted();
        self.pending.iter().any(|(_, pending)| is_open(pending))
    }

    fn servers_behind(&self, client: ClientId) -> Vec<ServerId> {
        match self.clients.get(&client) {
            Some(c) if c.aggregate().is_some() => self.servers_of(client),
            Some(c) => vec![c.server()],
            None => Vec::new(),
        }
    }

    /// Greets a client on our own: from now on everything treats it as if it had made this handshake.
    fn greet_ourselves(&mut self, client: ClientId, initialize: Message) {
        let greeting = Greeting::ours(initialize.clone(), initialized_notice());
        // A backend serves one era.
        if self.clients.get(&client).and_then(|c| c.greeting()).is_some_and(|it| it.era() != greeting.era()) {
            self.leave_era(client);
        }
        if self.has_aggregate(client) {
            if let Some(c) = self.clients.get_mut(&client) {
                c.declare(&initialize);
                c.adopt(greeting);
            }
            return self.open_for(client, &initialize);
        }
        // First: only a backend of the same era fits.
        if let Some(c) = self.clients.get_mut(&client) {
            c.adopt(greeting);
        }
        // The request itself finds out why there is no backend, if so.
        let _ = self.route_handshake(client, &initialize, &[]);
    }

    /// Refuses the modern requests of a client that makes a handshake, unless a process has them already.
    fn refuse_unsent(&mut self, client: ClientId) {
        let is_its = |p: &Pending| p.client().is_some_and(|owner| self.connection_of(owner) == client);
        let is_modern = |p: &Pending| p.waiting().is_some_and(|message| message.has(Part::MetaVersion));
        for minted in self.pending.ids(|p| p.is_wanted() && is_modern(p) && is_its(p)) {
            let Some(pending) = self.pending.get(minted) else { continue };
            let (backend, message) = (pending.backend(), pending.waiting().cloned());
            let Some(error) = message.map(|message| self.not_modern(&message)) else { continue };
            self.unqueue(backend, minted);
            self.fail_one(minted, &error);
        }
    }

    /// Forgets the era of a client, with the backends that it has used in it. Open requests are still answered.
    pub(super) fn leave_era(&mut self, client: ClientId) {
        self.end_paused_of(client);
        let Some(c) = self.clients.get_mut(&client) else { return };
        let leases: Vec<BackendId> = c.take_home().into_iter().chain(c.take_leases()).collect();
        for &backend in &leases {
            // What waits for a process was accepted with this greeting, and the process must hear it first.
            self.adopt_greeting(backend);
        }
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.forget_greeting();
        for backend in leases {
            self.leave(client, backend);
        }
    }

    /// The time for which an aggregate client waits for the eras of its servers. Then it is answered without the others.
    fn patience(&self, client: ClientId, message: &Message) -> Option<crate::moment::Moment> {
        let declaration = Declaration::of(message).ok()?;
        let initialize = own_message(declaration.initialize().into())?;
        self.has_aggregate(client).then(|| self.clock.now() + self.grace_for(client, &initialize))
    }

    /// Continues with requests that waited for the eras of their servers.
    pub(crate) fn enter_waiting(&mut self) {
        if self.era_waits.is_empty() {
            return;
        }
        let now = self.clock.now();
        let mut waits = std::mem::take(&mut self.era_waits);
        let over = waits.take(|wait: &EraWait| {
            let is_known = |server: &ServerId| self.era_of(*server).is_some() || !self.is_probed(*server);
            let is_gone = self.pending.get(wait.request.minted).is_none();
            is_gone || wait.servers.iter().all(is_known) || wait.until.is_some_and(|until| until <= now)
        });
        self.era_waits = waits;
        for EraWait { client, request: Unrouted { minted, paths }, .. } in over {
            let Some(pending) = self.close(minted) else { continue };
            let Asker::Client { id, batch, .. } = pending.asker().clone() else { continue };
            let Some(message) = pending.waiting().cloned() else { continue };
            // Accepted again below, so the first acceptance is undone.
            self.one_fewer(client);
            match self.entry(client, &message, Unknown::MayStay) {
                Entry::Open => self.entered_request(client, message, batch, paths),
                Entry::Refused(error) => self.refuse(client, &id, batch, &message, &error),
                Entry::Waits(_) => {}
            }
        }
    }

    /// Whether the processes of other capability profiles leave no room for one more at a server.
    fn is_crowded(&self, client: ClientId, server: ServerId, profile: &Profile) -> bool {
        let Some(principal) = self.clients.get(&client).map(|c| c.principal()) else { return false };
        let is_its = |b: &Backend| match b.key().principal {
            Some(own) => own == principal,
            // Identities share it.
            None => self.is_used_by(b.id(), principal),
        };
        let is_busy = |b: &&Backend| {
            b.server() == server && is_its(b) && b.handshake().era() == Era::Modern && self.is_in_use(b)
        };
        let busy = self.backends.values().filter(is_busy).filter_map(|b| b.key().profile.as_ref());
        let mut profiles: Vec<&Profile> = busy.collect();
        profiles.sort();
        profiles.dedup();
        profiles.len() >= MAX_PROFILES && !profiles.contains(&profile)
    }

    /// Whether a client of this principal holds a lease on a backend, or waits for its answer.
    fn is_used_by(&self, backend: BackendId, principal: Principal) -> bool {
        let is_its = |client: ClientId| self.clients.get(&client).is_some_and(|c| c.principal() == principal);
        self.lessees(backend).any(is_its)
            || self.pending.wanted_at(backend).filter_map(Pending::client).any(is_its)
    }
}

/// Most capability profiles of one principal for which processes of one server work at the same time.
const MAX_PROFILES: usize = 8;

/// A client's `initialize` without a modern declaration, by which greetings of our own are recognised.
fn undeclared_handshake(message: Message) -> Message {
    if message.method() != Method::Initialize || !message.has(Part::MetaVersion) {
        return message;
    }
    prune::without(&message, &[&["params", "_meta", modern::VERSION]]).unwrap_or(message)
}

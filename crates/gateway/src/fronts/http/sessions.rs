//! All sessions: created, found and ended. To the rest of the gateway, a session is a client.

use super::gate::{is_forwarded, text};
use super::inbox::InboxItems;
use super::listen::CallerOrigin;
use super::refusal::HttpRefusal;
use super::route::RouteTarget;
use super::session::{ClientTransport, Session, Who};
use super::visitor::Visitor;
use super::{Front, Recognised};
use crate::fronts::Wanted;
use crate::io::mailbox::Mailbox;
use crate::io::reader::ClientReader;
use crate::paths;
use crate::tokens::secret;
use hyper::header::{HeaderMap, HeaderName};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use switchboard_core::access::{Identity, Rights};
use switchboard_core::{ClientId, Event, Peer, ServerId, Surroundings};
use switchboard_process::lock::LockGuard;
use switchboard_protocol::{Kind, Parsed};
use tokio::sync::mpsc;

static ROOT: HeaderName = HeaderName::from_static("switchboard-root");

impl Front {
    fn sessions(&self) -> LockGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock()
    }

    /// Whether a target exists and may be used. Runs at every request, so it allocates nothing in the common case.
    pub(super) fn check_target(&self, target: &RouteTarget, identity: &Identity) -> Result<(), HttpRefusal> {
        match target {
            RouteTarget::Everything => Ok(()),
            RouteTarget::Server(name) => self.server_called(name, identity).map(drop),
            RouteTarget::Profile(name) => self.profile_called(name, identity).map(drop),
        }
    }

    fn server_called(&self, name: &str, identity: &Identity) -> Result<ServerId, HttpRefusal> {
        let servers = self.host.servers();
        // The same answer for a server that may not be used and for one that does not exist.
        if identity.is_restricted() {
            let found = servers.find(name).filter(|_| identity.allows_server(name));
            return found
                .map(|(id, _)| id)
                .ok_or_else(|| HttpRefusal::not_available("server", name, &identity.name));
        }
        let found = servers.find(name).map(|(id, _)| id);
        found.ok_or_else(|| HttpRefusal::unknown_name(servers.there_is_no(name)))
    }

    fn profile_called(&self, name: &str, identity: &Identity) -> Result<Arc<str>, HttpRefusal> {
        let profiles = self.host.profiles();
        let found = profiles.find(name);
        // The same answer for a profile without a server that may be used and for one that does not exist.
        if identity.is_restricted() {
            let is_usable = |rights: &Rights| {
                let mut listed = self.host.servers().listed().into_iter();
                listed.any(|(_, it)| identity.allows_server(&it.name) && rights.allows_server(&it.name))
            };
            let found = found.filter(|(_, rights)| is_usable(rights));
            return found
                .map(|(name, _)| name)
                .ok_or_else(|| HttpRefusal::not_available("profile", name, &identity.name));
        }
        found.map(|(name, _)| name).ok_or_else(|| HttpRefusal::unknown_name(profiles.there_is_no(name)))
    }

    /// Servers and profiles of a target, if it exists.
    fn wanted(
        &self,
        target: &RouteTarget,
        identity: &Identity,
    ) -> Result<(Wanted, Vec<Arc<str>>), HttpRefusal> {
        let all = || Wanted::All(self.host.environments());
        Ok(match target {
            RouteTarget::Everything => (all(), Vec::new()),
            RouteTarget::Server(name) => (Wanted::One(self.server_called(name, identity)?), Vec::new()),
            RouteTarget::Profile(name) => (all(), vec![self.profile_called(name, identity)?]),
        })
    }

    /// Checks a new client: its target, its place and its root.
    pub(super) fn expect(
        self: &Arc<Self>,
        target: &RouteTarget,
        headers: &HeaderMap,
        from: &Recognised<'_>,
    ) -> Result<Expected, HttpRefusal> {
        let Recognised { visitor, caller } = from;
        let (wants, profiles) = self.wanted(target, visitor.identity())?;
        let may_name_folders = may_name_folders(headers, from);
        let pinned = self.root_of(headers, may_name_folders)?;
        if !self.hub.is_serving() {
            return Err(HttpRefusal::shutting_down());
        }
        // After all checks that depend on the request alone, so that a refused one stays a stranger.
        caller.admit()?;
        Ok(Expected { wants, profiles, may_name_folders, pinned })
    }

    /// Reader for the messages of a new client.
    pub(super) fn reader_for(&self, expected: &Expected) -> ClientReader {
        let servers = self.host.servers();
        let root_arguments = match &expected.wants {
            // Paths in the messages of such a client are not looked at.
            _ if !expected.may_name_folders => None,
            Wanted::One(id) => servers.root_arguments(*id),
            Wanted::All(_) => Some(servers.every_root_argument()),
        };
        root_arguments.map(ClientReader::new).unwrap_or_default()
    }

    /// Introduces a new client to the core.
    pub(super) fn connect(
        &self,
        client: ClientId,
        mailbox: Arc<dyn Mailbox>,
        visitor: &Visitor,
        expected: Expected,
        goes_by_request: bool,
    ) {
        let host = &self.host;
        let Expected { wants, profiles, may_name_folders, pinned } = expected;
        let wanted = match &wants {
            Wanted::One(id) => Some(*id),
            Wanted::All(_) => None,
        };
        let server = wanted.and_then(|id| host.servers().server(id));
        let surroundings = Surroundings {
            identity: visitor.identity().clone(),
            proof: visitor.proof(),
            profiles,
            front: switchboard_core::access::Front::Http,
            environment: server.map(|server| host.environment(&server)).unwrap_or_default(),
            pinned,
            default: host.default_root(),
            goes_by_request,
            // Folders of another machine must not be looked for on this disk.
            is_elsewhere: !may_name_folders,
            ..Surroundings::default()
        };
        host.enter(client, wanted);
        // The mailbox must exist before the core hears of the client, since it may answer at once.
        self.hub.open_mailbox(Peer::Client(client), mailbox);
        self.hub.handle(wants.event(client, surroundings));
    }

    /// Takes a place for a client, if need be that of one without a session that is idle.
    pub(super) fn make_room(
        &self,
        mut enter: impl FnMut(&mut HashMap<String, Arc<Session>>),
    ) -> Result<(), HttpRefusal> {
        loop {
            {
                let mut sessions = self.sessions();
                if sessions.len() + self.pool.len() < self.options.max_sessions {
                    enter(&mut sessions);
                    return Ok(());
                }
            }
            // Outside of the lock of the sessions: `refuse_late` takes it inside the hub's.
            let Some(idle) = self.pool.longest_idle() else {
                return Err(HttpRefusal::overloaded(
                    "there are too many sessions",
                    "end unused sessions, or raise `serve.maxSessions`",
                ));
            };
            self.end_client(&idle);
        }
    }

    /// Begins a session.
    pub(super) fn open(
        self: &Arc<Self>,
        target: &RouteTarget,
        transport: ClientTransport,
        headers: &HeaderMap,
        from: &Recognised<'_>,
    ) -> Result<Arc<Session>, HttpRefusal> {
        let expected = self.expect(target, headers, from)?;
        let id = secret::random().map_err(|_| {
            HttpRefusal::overloaded("the system's random number generator failed", "try again later")
        })?;
        let client = self.host.next_client();
        let who = Who {
            id: id.clone(),
            client,
            target: target.clone(),
            visitor: from.visitor.clone(),
            transport,
            reader: self.reader_for(&expected),
        };
        let session = Session::new(who, &self.events, self.inbox.clone(), self.gone.clone());
        self.make_room(|sessions| drop(sessions.insert(id.clone(), session.clone())))?;
        let goes_by_request = transport == ClientTransport::Streamable;
        self.connect(client, session.clone(), &from.visitor, expected, goes_by_request);
        Ok(session)
    }

    /// Root that a client pins with `Switchboard-Root`: a folder of this machine, or a name in `rootMap`.
    fn root_of(&self, headers: &HeaderMap, may_name_folders: bool) -> Result<Option<String>, HttpRefusal> {
        let Some(named) = named_root(headers) else { return Ok(None) };
        // Mapped names come first, so that an administrator can redirect a path that also exists here.
        let mapped =
            self.options.root_map.iter().find(|(name, _)| name == named).map(|(_, path)| path.as_str());
        let path = match mapped {
            Some(path) => path,
            None if may_name_folders => named,
            None => {
                return Err(HttpRefusal::forbidden(
                    format!("only the owner, on this machine, may name the root `{named}`"),
                    "add it to `serve.rootMap` to allow it",
                ));
            }
        };
        match paths::canonical(Path::new(path)).filter(|root| Path::new(root).is_dir()) {
            Some(root) => Ok(Some(root)),
            None => Err(HttpRefusal::no_root(format!("the root `{named}` is not a folder on this machine"))),
        }
    }

    /// Session that a request names. A wrong id, another party and another path all look like an unknown session.
    pub(super) fn find(
        &self,
        id: &str,
        target: &RouteTarget,
        from: &Recognised<'_>,
    ) -> Result<Arc<Session>, HttpRefusal> {
        // Cloned, so that the lock is released before credentials are compared.
        let session = self.sessions().get(id).cloned().ok_or_else(|| self.gone())?;
        if !session.visitor.is(&from.visitor) || session.target != *target || session.is_closed() {
            return Err(self.gone());
        }
        // A client that names its own session is known, even without a token.
        from.caller.admit()?;
        Ok(session)
    }

    pub(super) fn end(&self, id: &str) {
        let Some(session) = self.sessions().remove(id) else { return };
        self.disconnect(session.client);
    }

    /// Ends a client of the core.
    pub(super) fn disconnect(&self, client: ClientId) {
        // Messages that it sent before must reach the core first.
        self.empty_inbox(&mut InboxItems::default());
        self.host.leave(client);
        let mut turn = self.hub.turn();
        turn.handle(Event::ClientLost { client });
        turn.forget_client(client);
    }

    /// Ends sessions whose clients have left.
    pub(crate) async fn part(self: Arc<Self>, mut left: mpsc::UnboundedReceiver<String>) {
        while let Some(id) = left.recv().await {
            self.end(&id);
        }
    }

    /// Ends idle sessions and clients without one, and removes closed ones.
    pub(crate) async fn tidy(self: Arc<Self>) {
        const TIDY_INTERVAL: Duration = Duration::from_secs(5);
        loop {
            tokio::time::sleep(TIDY_INTERVAL.min(self.options.session_ttl)).await;
            let now = Instant::now();
            let is_over = |session: &&Arc<Session>| {
                let is_idle = |since: Instant| now.duration_since(since) >= self.options.session_ttl;
                session.is_closed() || session.idle_since().is_some_and(is_idle)
            };
            // Collected first: `end` takes the same lock.
            let over: Vec<String> =
                self.sessions().values().filter(is_over).map(|it| it.id.clone()).collect();
            for id in over {
                self.end(&id);
            }
            self.tidy_pool(now);
        }
    }

    /// Turns calls that take long into streams.
    pub(crate) async fn look_after_slow(self: Arc<Self>) {
        tokio::join!(self.slow.watch(), self.slow_alone.watch());
    }

    /// Passes messages of clients to the core, and reports bytes that no longer wait.
    pub(crate) async fn account(self: Arc<Self>) {
        let mut items = InboxItems::default();
        loop {
            self.inbox.wait().await;
            self.empty_inbox(&mut items);
        }
    }

    fn empty_inbox(&self, items: &mut InboxItems) {
        // Taken inside the turn: if two tasks empty the inbox, their events keep their order.
        let mut turn = self.hub.turn();
        self.inbox.take(items);
        // Freed bytes first, so that messages below find room.
        for (client, bytes) in items.freed.drain(..) {
            turn.handle(Event::Flushed { peer: Peer::Client(client), bytes });
        }
        for client in items.dropped.drain(..) {
            turn.handle(Event::Dropped { client });
        }
        let is_ending = !turn.is_serving();
        for event in items.said.drain(..) {
            if !is_ending || !self.refuse_late(&event) {
                turn.handle(event);
            }
        }
    }

    /// Refuses a request that arrived before the shutdown began but would reach the core after it.
    fn refuse_late(&self, event: &Event) -> bool {
        let Event::FromClient { client, frame: Ok(Parsed::One(message)), .. } = event else { return false };
        let Some(id) = message.id().filter(|_| message.kind() == Kind::Request) else { return false };
        let session = self.sessions().values().find(|session| session.client == *client).cloned();
        // Dropping the call fails its wait, and the client gets `shutting_down` with a 503.
        match session {
            Some(session) => session.drop_call(&id),
            None => self.pool.find(*client).is_some_and(|client| client.drop_call(&id)),
        }
    }
}

/// A new client that passed all checks.
pub(super) struct Expected {
    wants: Wanted,
    profiles: Vec<Arc<str>>,
    may_name_folders: bool,
    pinned: Option<String>,
}

/// Root that a request names.
pub(super) fn named_root(headers: &HeaderMap) -> Option<&str> {
    text(headers, &ROOT)
}

/// Whether paths in a client's messages are folders of this machine that it may use.
pub(super) fn may_name_folders(headers: &HeaderMap, from: &Recognised<'_>) -> bool {
    // Paths of another machine mean nothing here. A proxy on this machine connects on behalf of clients elsewhere.
    let is_here = from.caller.origin == CallerOrigin::Here && !is_forwarded(headers);
    is_here && from.visitor.may_name_folders()
}

//! A client: its handshake, its dialect, and what waits for it.

mod leases;
mod new;
mod outbox;
mod workspace;

pub(crate) use new::{ClientOrigin, NewClient};

use self::leases::Leases;
use self::outbox::ClientOutbox;
use crate::aggregate::Aggregate;
use crate::catalogue::Listing;
use crate::clients::declared::Declared;
use crate::clients::handshake::Handshake;
use crate::clients::roots::ClientRoots;
use crate::clients::{Greeting, Level, Profile};
use crate::environment::Environment;
use crate::ids::{ClientId, Principal, ServerId};
use crate::moment::Moment;
use crate::pending::Unrouted;
use crate::routing::Known;
use crate::settings::ServerSettings;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Dialect, Message, RawId};

/// Whether the client is there, and in which directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Here,
    /// It sends nothing more, but may still read its answers.
    Listening,
    /// Nobody reads.
    Lost,
}

/// `shutdown` was asked for.
#[derive(Debug)]
pub(crate) struct Farewell {
    id: RawId,
    batch: Option<u32>,
    answered: bool,
}

impl Farewell {
    pub(crate) fn new(id: RawId, batch: Option<u32>) -> Self {
        Self { id, batch, answered: false }
    }

    pub(crate) fn answered(self) -> Self {
        Self { answered: true, ..self }
    }

    fn answer(&mut self) -> Option<(RawId, Option<u32>)> {
        let is_open = !std::mem::replace(&mut self.answered, true);
        is_open.then(|| (self.id.clone(), self.batch))
    }
}

/// A client of one server is what it is. One of many has a delegate at each of them, which to the server's backends is
/// a client like any other.
#[derive(Debug)]
pub(crate) enum Role {
    Plain,
    Aggregate(Box<Aggregate>),
    Delegate {
        of: ClientId,
    },
    /// Nobody: it stands in for a client that has left before its server's lists were known, until they are stored.
    Prefetch {
        until: Moment,
    },
    /// Nobody: it keeps a server running that was started without a client.
    Standby,
}

#[derive(Debug)]
pub(crate) struct Client {
    id: ClientId,
    /// What it is to us.
    role: Role,
    server: ServerId,
    settings: Arc<ServerSettings>,
    since: Moment,
    principal: Principal,
    environment: Environment,
    /// What is known of its workspaces.
    known: Shared<Known>,
    roots: ClientRoots,
    declared: Declared,
    handshake: Handshake,
    leases: Leases,
    /// Requests that cannot be routed before its roots, or its handshake, are known.
    parked: VecDeque<Unrouted>,
    /// The stored lists that it was shown before its server was there.
    shown: Vec<Arc<Listing>>,
    /// The log level that it asked for.
    level: Option<Level>,
    /// The dialect that the client has shown.
    dialect: LearntDialect,
    /// It wants to know what messages are about.
    goes_by_request: bool,
    /// What tells it that a refusal is ours.
    refusal_mark: Option<Arc<str>>,
    /// Its folders are none of ours.
    is_elsewhere: bool,
    presence: Presence,
    farewell: Option<Box<Farewell>>,
    outbox: ClientOutbox,
    /// Requests that were accepted and not answered yet.
    unanswered: usize,
}

impl Client {
    pub(crate) fn aggregate(&self) -> Option<&Aggregate> {
        match &self.role {
            Role::Aggregate(aggregate) => Some(aggregate),
            Role::Plain | Role::Delegate { .. } | Role::Prefetch { .. } | Role::Standby => None,
        }
    }

    pub(crate) fn aggregate_mut(&mut self) -> Option<&mut Aggregate> {
        match &mut self.role {
            Role::Aggregate(aggregate) => Some(aggregate),
            Role::Plain | Role::Delegate { .. } | Role::Prefetch { .. } | Role::Standby => None,
        }
    }

    /// Whose connection it speaks through.
    pub(crate) fn connection(&self) -> ClientId {
        match self.role {
            Role::Delegate { of } => of,
            Role::Plain | Role::Aggregate(_) | Role::Prefetch { .. } | Role::Standby => self.id,
        }
    }

    pub(crate) fn is_delegate(&self) -> bool {
        matches!(self.role, Role::Delegate { .. })
    }

    pub(crate) fn is_prefetch(&self) -> bool {
        matches!(self.role, Role::Prefetch { .. })
    }

    /// Nobody is behind it: it only holds a lease.
    pub(crate) fn is_stand_in(&self) -> bool {
        matches!(self.role, Role::Prefetch { .. } | Role::Standby)
    }

    pub(crate) fn id(&self) -> ClientId {
        self.id
    }

    pub(crate) fn role(&self) -> &Role {
        &self.role
    }

    pub(crate) fn server(&self) -> ServerId {
        self.server
    }

    /// The settings of its server, as they were when the client connected or moved last.
    pub(crate) fn settings(&self) -> &Arc<ServerSettings> {
        &self.settings
    }

    pub(crate) fn set_settings(&mut self, settings: Arc<ServerSettings>) {
        self.settings = settings;
    }

    pub(crate) fn principal(&self) -> Principal {
        self.principal
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(crate) fn set_environment(&mut self, environment: Environment) {
        self.environment = environment;
    }

    /// How long the client has been connected.
    pub(crate) fn connected_for(&self, now: Moment) -> Duration {
        now.since(self.since)
    }

    /// A client of one server, with a connection of its own.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.role, Role::Plain)
    }

    pub(crate) fn is_standby(&self) -> bool {
        matches!(self.role, Role::Standby)
    }

    /// The client has a connection, may send, and reads its answers.
    pub(crate) fn is_here(&self) -> bool {
        self.presence == Presence::Here
    }

    /// Nobody reads what is sent to the client.
    pub(crate) fn is_lost(&self) -> bool {
        self.presence == Presence::Lost
    }

    /// The client sends nothing more, but still reads.
    pub(crate) fn end_input(&mut self) {
        self.presence = Presence::Listening;
    }

    pub(crate) fn mark_lost(&mut self) {
        self.presence = Presence::Lost;
    }

    /// Drops everything owed to a client that is gone.
    pub(crate) fn forgive_debts(&mut self) {
        self.unanswered = 0;
        self.outbox.clear();
    }

    /// Requests that were accepted and not answered yet.
    pub(crate) fn unanswered(&self) -> usize {
        self.unanswered
    }

    pub(crate) fn request_accepted(&mut self) {
        self.unanswered += 1;
    }

    pub(crate) fn request_over(&mut self) {
        self.unanswered -= 1;
    }

    /// The dialect that the client has shown, or that the config fixes.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect.current()
    }

    /// Learns the dialect from a message; `true` if it changed.
    pub(crate) fn learn_dialect(&mut self, message: &Message) -> bool {
        let before = self.dialect;
        self.dialect.learn(message);
        self.dialect != before
    }

    /// The client wants to know which of its requests a message belongs to.
    pub(crate) fn goes_by_request(&self) -> bool {
        self.goes_by_request
    }

    /// The mark by which the client recognises a refusal of ours.
    pub(crate) fn refusal_mark(&self) -> Option<&str> {
        self.refusal_mark.as_deref()
    }

    /// The client runs on another machine, or without a token: its folders are not ours.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.is_elsewhere
    }

    /// The client has asked to shut down.
    pub(crate) fn has_said_farewell(&self) -> bool {
        self.farewell.is_some()
    }

    pub(crate) fn say_farewell(&mut self, farewell: Farewell) {
        self.farewell = Some(Box::new(farewell));
    }

    /// The client's `shutdown`, if it is not answered yet. It counts as answered from then on.
    pub(crate) fn answer_farewell(&mut self) -> Option<(RawId, Option<u32>)> {
        self.farewell.as_mut()?.answer()
    }

    /// The protocol version and the capabilities that the client declared.
    pub(crate) fn profile(&self) -> Option<&Profile> {
        self.declared.profile()
    }

    /// The client answers `roots/list`.
    pub(crate) fn has_roots(&self) -> bool {
        self.declared.has_roots()
    }

    /// The handshake that a server has answered, to be replayed to its next process.
    pub(crate) fn greeting(&self) -> Option<&Greeting> {
        self.handshake.to_replay()
    }

    /// The client has made no handshake at all.
    pub(crate) fn is_new(&self) -> bool {
        self.handshake.is_new()
    }

    /// The client waits for the answer to its `initialize`.
    pub(crate) fn awaits_greeting(&self) -> bool {
        self.handshake.is_asked()
    }

    /// The client's last `initialize` was answered.
    pub(crate) fn is_greeted(&self) -> bool {
        self.handshake.is_answered()
    }

    /// Both halves of the handshake are done: the client may be asked things.
    pub(crate) fn is_initialized(&self) -> bool {
        self.handshake.is_complete()
    }

    /// The `initialized` of a client that did not wait for the answer to its `initialize`.
    pub(crate) fn confirmed_early(&self) -> Option<&Message> {
        self.handshake.confirmed_early()
    }

    pub(crate) fn begin_handshake(&mut self) {
        self.handshake.ask();
    }

    pub(crate) fn answer_handshake(&mut self, initialize: &Message) {
        self.handshake.answer(initialize);
    }

    pub(crate) fn fail_handshake(&mut self) {
        self.handshake.fail();
    }

    pub(crate) fn confirm_handshake(&mut self, initialized: &Message) {
        self.handshake.confirm(initialized);
    }

    /// Keeps a request until it can be routed.
    pub(crate) fn park(&mut self, request: Unrouted) {
        self.parked.push_back(request);
    }

    pub(crate) fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    pub(crate) fn take_parked(&mut self) -> VecDeque<Unrouted> {
        std::mem::take(&mut self.parked)
    }

    /// Notes that the client was shown a stored list.
    pub(crate) fn show_stored(&mut self, listing: Arc<Listing>) {
        self.shown.retain(|shown| shown.list() != listing.list());
        self.shown.push(listing);
    }

    pub(crate) fn was_shown_stored(&self) -> bool {
        !self.shown.is_empty()
    }

    pub(crate) fn take_shown(&mut self) -> Vec<Arc<Listing>> {
        std::mem::take(&mut self.shown)
    }

    /// The log level that the client asked for.
    pub(crate) fn level(&self) -> Option<&Level> {
        self.level.as_ref()
    }

    pub(crate) fn set_level(&mut self, level: Level) {
        self.level = Some(level);
    }

    /// Speaks as another client does.
    pub(crate) fn adopt_dialect(&mut self, dialect: LearntDialect) {
        self.dialect = dialect;
    }

    pub(crate) fn shown_dialect(&self) -> LearntDialect {
        self.dialect
    }

    /// It has a connection of its own.
    pub(crate) fn is_connected(&self) -> bool {
        match self.role {
            Role::Plain | Role::Aggregate(_) => true,
            Role::Delegate { .. } | Role::Prefetch { .. } | Role::Standby => false,
        }
    }
}

/// A value that copies have in common until one of them is changed. The delegates of a client are equal in most.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared<T>(Arc<T>);

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window has one of these for each server.
    #[test]
    fn client_stays_small() {
        assert!(size_of::<Client>() <= 400, "{} bytes", size_of::<Client>());
    }
}

//! A client: the state of its connection, and the requests that wait for it. Must not know how requests are routed.
//!
//! # Layout
//! - `new`: new clients of each role.
//! - `role`: what a client is to us.
//! - `greeting`: its side of the handshake.
//! - `workspace`: its roots, and the folders known of it.
//! - `leases`: the backends that it uses.
//! - `outbox`: bytes that wait to be written to it.

mod new;
mod role;
mod greeting;
mod workspace;
mod leases;
mod outbox;

pub(crate) use new::{ClientOrigin, NewClient};
pub(crate) use role::Role;

use self::leases::Leases;
use self::outbox::ClientOutbox;
use crate::catalogue::Listing;
use crate::clients::declared::Declared;
use crate::clients::handshake::Handshake;
use crate::clients::roots::ClientRoots;
use crate::clients::shared::Shared;
use crate::clients::{Farewell, Level};
use crate::environment::Environment;
use crate::ids::{ClientId, Principal, ServerId};
use crate::moment::Moment;
use crate::pending::Unrouted;
use crate::routing::Known;
use crate::settings::ServerSettings;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Dialect, Message, RawId};

/// Whether the client is there, and in which directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Here,
    /// The client sends nothing more, but may still read its answers.
    Listening,
    /// Nobody reads.
    Lost,
}

#[derive(Debug)]
pub(crate) struct Client {
    id: ClientId,
    role: Role,
    server: ServerId,
    settings: Arc<ServerSettings>,
    since: Moment,
    principal: Principal,
    environment: Environment,
    /// The folders known of the client.
    known: Shared<Known>,
    roots: ClientRoots,
    declared: Declared,
    handshake: Handshake,
    leases: Leases,
    /// Requests that cannot be routed before the roots, or the handshake, are known.
    parked: VecDeque<Unrouted>,
    /// The stored lists that the client was shown before its server was there.
    shown: Vec<Arc<Listing>>,
    /// The log level that the client asked for.
    level: Option<Level>,
    /// The dialect that the client has shown.
    dialect: LearntDialect,
    /// The client wants to know which of its requests a message belongs to.
    goes_by_request: bool,
    /// The mark by which the client recognises a refusal of ours.
    refusal_mark: Option<Arc<str>>,
    /// The client's folders are none of this machine.
    is_elsewhere: bool,
    presence: Presence,
    farewell: Option<Box<Farewell>>,
    outbox: ClientOutbox,
    /// Requests that were accepted and not answered yet.
    unanswered: usize,
}

impl Client {
    pub(crate) fn id(&self) -> ClientId {
        self.id
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

    /// Speaks the dialect of another client.
    pub(crate) fn adopt_dialect(&mut self, dialect: LearntDialect) {
        self.dialect = dialect;
    }

    /// What is known of the client's dialect.
    pub(crate) fn shown_dialect(&self) -> LearntDialect {
        self.dialect
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

//! A client: the state of its connection, and its queued requests. Must not know how requests are routed.
//!
//! # Layout
//! - `new`: constructors for each role.
//! - `role`: the kind of client.
//! - `greeting`: its side of the handshake.
//! - `workspace`: its roots and known folders.
//! - `leases`: the backends it uses.
//! - `outbox`: bytes not yet written to it.

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
use crate::access::{ClientInfo, Front, Identity, Standing};
use crate::catalogue::{Listing, Naming};
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

/// Whether the client is connected, and in which directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Here,
    /// Sends nothing more, but may still read its answers.
    Listening,
    /// Does not read any more.
    Lost,
}

/// The identity of a client apart from its profiles, where it has a token or profiles.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) identity: Arc<Identity>,
    /// Whether the client has shown the token of that identity, by which a revocation names it.
    pub(crate) has_token: bool,
    pub(crate) profiles: Vec<Arc<str>>,
}

#[derive(Debug)]
pub(crate) struct Client {
    id: ClientId,
    role: Role,
    server: ServerId,
    settings: Arc<ServerSettings>,
    /// The naming of its server, narrowed by the client's rights.
    naming: Arc<Naming>,
    since: Moment,
    /// The party on whose behalf the client acts, with the rights that its profiles leave.
    identity: Arc<Identity>,
    standing: Standing,
    /// `None` for nearly all clients.
    claim: Option<Arc<Claim>>,
    front: Front,
    /// The client's own name, read when it is first needed.
    info: Option<Arc<ClientInfo>>,
    environment: Environment,
    /// The client's known folders.
    known: Shared<Known>,
    roots: ClientRoots,
    declared: Declared,
    handshake: Handshake,
    /// The minted id of the latest handshake that it has made itself; 0 if there is none.
    latest_handshake: u64,
    leases: Leases,
    /// Requests that cannot be routed before the roots or the handshake are known.
    parked: VecDeque<Unrouted>,
    /// The stored lists that the client was shown before its server was ready.
    shown: Vec<Arc<Listing>>,
    /// The log level that the client requested.
    level: Option<Level>,
    /// The dialect learnt from the client.
    dialect: LearntDialect,
    /// Whether messages to the client must name the request they belong to.
    goes_by_request: bool,
    has_modern_errors: bool,
    /// The mark by which the client recognises our refusals.
    refusal_mark: Option<Arc<str>>,
    /// The client's folders are not on this machine.
    is_elsewhere: bool,
    presence: Presence,
    farewell: Option<Box<Farewell>>,
    outbox: ClientOutbox,
    /// Number of accepted requests without an answer.
    unanswered: usize,
}

impl Client {
    pub(crate) fn id(&self) -> ClientId {
        self.id
    }

    pub(crate) fn server(&self) -> ServerId {
        self.server
    }

    /// The settings of its server, as of the client's connection or last move.
    pub(crate) fn settings(&self) -> &Arc<ServerSettings> {
        &self.settings
    }

    /// Applies other settings of its server, and their naming as the client sees it.
    pub(crate) fn set_settings(&mut self, settings: Arc<ServerSettings>, naming: Arc<Naming>) {
        self.settings = settings;
        self.naming = naming;
    }

    /// The naming of its server, narrowed by the client's rights.
    pub(crate) fn naming(&self) -> &Arc<Naming> {
        &self.naming
    }

    /// Applies another naming. Returns the previous one.
    pub(crate) fn set_naming(&mut self, naming: Arc<Naming>) -> Arc<Naming> {
        std::mem::replace(&mut self.naming, naming)
    }

    /// Its identity apart from its profiles, if it has any.
    pub(crate) fn profiled(&self) -> Option<&Arc<Claim>> {
        self.claim.as_ref().filter(|claim| !claim.profiles.is_empty())
    }

    pub(crate) fn set_identity(&mut self, identity: Arc<Identity>) {
        self.identity = identity;
    }

    /// The party on whose behalf the client acts.
    pub(crate) fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// Whether the client has proved its identity.
    pub(crate) fn standing(&self) -> Standing {
        self.standing
    }

    /// Serves the client only with a token from now on.
    pub(crate) fn demand_token(&mut self) {
        self.standing = Standing::Unproven;
    }

    /// Its identity; `None` if it has shown no valid token where one is needed.
    pub(crate) fn proved_identity(&self) -> Option<&Identity> {
        match self.standing {
            Standing::ByConnection | Standing::Open | Standing::Settled => Some(&self.identity),
            Standing::Unproven | Standing::Refused => None,
        }
    }

    /// The name of its identity, once it is known.
    pub(crate) fn identity_name(&self) -> Option<&Arc<str>> {
        self.proved_identity().map(|identity| &identity.name)
    }

    /// Whether a message can be accepted as it is: the usual case, and asked for every message.
    pub(crate) fn is_proved(&self, message: &Message) -> bool {
        matches!(self.standing, Standing::ByConnection | Standing::Settled) && !message.shows_token()
    }

    /// Settles who the client is: the party that it was so far.
    pub(crate) fn settle(&mut self) {
        self.standing = Standing::Settled;
    }

    /// Settles who the client is: the party of this token. Its rights follow by `set_identity`.
    pub(crate) fn settle_as(&mut self, token: Arc<Identity>) {
        self.standing = Standing::Settled;
        let profiles = self.claim.take().map(|claim| claim.profiles.clone()).unwrap_or_default();
        self.claim = Some(Arc::new(Claim { identity: token, has_token: true, profiles }));
    }

    /// Whether the client has shown this token.
    pub(crate) fn has_token(&self, token: &Arc<Identity>) -> bool {
        self.claim.as_ref().is_some_and(|claim| claim.has_token && Arc::ptr_eq(&claim.identity, token))
    }

    pub(crate) fn principal(&self) -> Principal {
        self.identity.principal
    }

    /// Whether its rights exclude anything.
    pub(crate) fn is_restricted(&self) -> bool {
        self.identity.is_restricted()
    }

    /// Whether its rights include its server.
    pub(crate) fn may_use_server(&self) -> bool {
        self.identity.allows_server(&self.settings.name)
    }

    /// The way on which the client reached us.
    pub(crate) fn front(&self) -> Front {
        self.front
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(crate) fn set_environment(&mut self, environment: Environment) {
        self.environment = environment;
    }

    /// Time since the client connected.
    pub(crate) fn connected_for(&self, now: Moment) -> Duration {
        now.since(self.since)
    }

    /// Whether the client is connected, may send, and reads its answers.
    pub(crate) fn is_here(&self) -> bool {
        self.presence == Presence::Here
    }

    /// Whether the client no longer reads.
    pub(crate) fn is_lost(&self) -> bool {
        self.presence == Presence::Lost
    }

    /// Records that the client sends nothing more, but still reads.
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

    /// Number of accepted requests without an answer.
    pub(crate) fn unanswered(&self) -> usize {
        self.unanswered
    }

    pub(crate) fn request_accepted(&mut self) {
        self.unanswered += 1;
    }

    pub(crate) fn request_over(&mut self) {
        self.unanswered = self.unanswered.saturating_sub(1);
    }

    /// The dialect learnt from the client, or fixed by the config.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect.current()
    }

    /// Learns the dialect from a message; `true` if it changed.
    pub(crate) fn learn_dialect(&mut self, message: &Message) -> bool {
        let before = self.dialect;
        self.dialect.learn(message);
        self.dialect != before
    }

    /// Whether messages to the client must name the request they belong to.
    pub(crate) fn goes_by_request(&self) -> bool {
        self.goes_by_request
    }

    /// The mark by which the client recognises our refusals.
    pub(crate) fn refusal_mark(&self) -> Option<&str> {
        self.refusal_mark.as_deref()
    }

    /// Whether the client runs on another machine, or without a token: its folders are not ours.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.is_elsewhere
    }

    /// Whether the client has sent `shutdown`.
    pub(crate) fn has_said_farewell(&self) -> bool {
        self.farewell.is_some()
    }

    pub(crate) fn say_farewell(&mut self, farewell: Farewell) {
        self.farewell = Some(Box::new(farewell));
    }

    /// The client's `shutdown`, if unanswered; marks it as answered.
    pub(crate) fn answer_farewell(&mut self) -> Option<(RawId, Option<u32>)> {
        self.farewell.as_mut()?.answer()
    }

    /// Holds a request until it can be routed.
    pub(crate) fn park(&mut self, request: Unrouted) {
        self.parked.push_back(request);
    }

    pub(crate) fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    pub(crate) fn take_parked(&mut self) -> VecDeque<Unrouted> {
        std::mem::take(&mut self.parked)
    }

    /// Records that the client was shown a stored list.
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

    /// The log level that the client requested.
    pub(crate) fn level(&self) -> Option<&Level> {
        self.level.as_ref()
    }

    pub(crate) fn set_level(&mut self, level: Level) {
        self.level = Some(level);
    }

    /// Takes over the dialect of another client.
    pub(crate) fn adopt_dialect(&mut self, dialect: LearntDialect) {
        self.dialect = dialect;
    }

    /// The state of dialect detection.
    pub(crate) fn shown_dialect(&self) -> LearntDialect {
        self.dialect
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window has one of these per server.
    #[test]
    fn client_stays_small() {
        assert!(size_of::<Client>() <= 424, "{} bytes", size_of::<Client>());
    }
}

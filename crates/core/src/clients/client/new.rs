//! Constructors for clients of each role.

use crate::access::{Front, Identity, Standing};
use crate::aggregate::Aggregate;
use crate::clients::client::{Claim, ClientOutbox, Leases, Presence, Role};
use crate::clients::declared::Declared;
use crate::clients::handshake::Handshake;
use crate::clients::roots::ClientRoots;
use crate::clients::shared::Shared;
use crate::clients::{Client, Greeting};
use crate::environment::Environment;
use crate::ids::{BackendId, ClientId, ServerId};
use crate::moment::Moment;
use crate::routing::Known;
use crate::settings::ServerSettings;
use std::collections::VecDeque;
use std::sync::Arc;
use switchboard_protocol::dialect::LearntDialect;

/// Common start values of a new client.
#[derive(Debug)]
pub(crate) struct NewClient {
    pub(crate) id: ClientId,
    pub(crate) server: ServerId,
    pub(crate) settings: Arc<ServerSettings>,
    pub(crate) dialect: LearntDialect,
    pub(crate) now: Moment,
}

/// Origin of a client, as reported by its connection.
#[derive(Debug)]
pub(crate) struct ClientOrigin {
    pub(crate) identity: Arc<Identity>,
    pub(crate) standing: Standing,
    pub(crate) claim: Option<Arc<Claim>>,
    pub(crate) front: Front,
    pub(crate) environment: Environment,
    pub(crate) known: Known,
    pub(crate) goes_by_request: bool,
    pub(crate) refusal_mark: Option<Arc<str>>,
    pub(crate) is_elsewhere: bool,
}

impl Client {
    fn new(new: NewClient, role: Role, known: Shared<Known>) -> Self {
        Self {
            id: new.id,
            role,
            server: new.server,
            naming: new.settings.naming.clone(),
            settings: new.settings,
            since: new.now,
            identity: Arc::default(),
            standing: Standing::ByConnection,
            claim: None,
            front: Front::default(),
            info: None,
            environment: Environment::default(),
            known,
            roots: ClientRoots::default(),
            declared: Declared::default(),
            handshake: Handshake::New,
            latest_handshake: 0,
            leases: Leases::default(),
            parked: VecDeque::new(),
            shown: Vec::new(),
            level: None,
            dialect: new.dialect,
            goes_by_request: false,
            has_modern_errors: false,
            refusal_mark: None,
            is_elsewhere: false,
            presence: Presence::Here,
            farewell: None,
            outbox: ClientOutbox::default(),
            unanswered: 0,
        }
    }

    /// A client of one server, with its own connection.
    pub(crate) fn plain(new: NewClient, origin: ClientOrigin) -> Self {
        Self::connected(new, Role::Plain, origin)
    }

    /// A client of several servers.
    pub(crate) fn of_many(new: NewClient, origin: ClientOrigin, aggregate: Aggregate) -> Self {
        Self::connected(new, Role::Aggregate(Box::new(aggregate)), origin)
    }

    fn connected(new: NewClient, role: Role, origin: ClientOrigin) -> Self {
        Self {
            identity: origin.identity,
            standing: origin.standing,
            claim: origin.claim,
            front: origin.front,
            environment: origin.environment,
            goes_by_request: origin.goes_by_request,
            refusal_mark: origin.refusal_mark,
            is_elsewhere: origin.is_elsewhere,
            ..Self::new(new, role, origin.known.into())
        }
    }

    /// The delegate of an aggregate client at one server. The server's backends treat it as a client with a
    /// completed handshake: it made that handshake with us.
    pub(crate) fn delegate(&self, new: NewClient, greeting: Greeting) -> Self {
        let environment = self.aggregate().and_then(|it| it.environment_at(new.server));
        let mut delegate = Self {
            identity: self.identity.clone(),
            front: self.front,
            environment: environment.cloned().unwrap_or_default(),
            is_elsewhere: self.is_elsewhere,
            dialect: self.dialect,
            presence: self.presence,
            level: self.level.clone(),
            ..Self::new(new, Role::Delegate { of: self.id }, self.known.clone())
        };
        let initialize = greeting.initialize().clone();
        delegate.handshake = Handshake::Answered(greeting);
        delegate.declare(&initialize);
        delegate
    }

    /// The stand-in for a client that leaves before the lists of its server are known. Holds the lease on the
    /// client's home. It cannot be asked for roots, so those that the client named stay valid.
    pub(crate) fn prefetch(
        &self,
        new: NewClient,
        greeting: Greeting,
        until: Moment,
        home: (Option<String>, BackendId),
    ) -> Self {
        Self {
            identity: self.identity.clone(),
            environment: self.environment.clone(),
            declared: self.declared.clone().without_roots(),
            roots: ClientRoots::told(self.roots.latest().to_vec()),
            is_elsewhere: self.is_elsewhere,
            handshake: Handshake::Answered(greeting),
            latest_handshake: 0,
            dialect: self.dialect,
            presence: Presence::Listening,
            leases: Leases::at_home(home.0, home.1),
            ..Self::new(new, Role::Prefetch { until }, self.known.clone())
        }
    }

    /// The stand-in that finds out how the server of a client speaks.
    pub(crate) fn era_probe(&self, new: NewClient, greeting: Greeting, until: Moment) -> Self {
        let environment = self.aggregate().and_then(|it| it.environment_at(new.server));
        let mut probe = Self {
            identity: self.identity.clone(),
            environment: environment.unwrap_or(&self.environment).clone(),
            roots: ClientRoots::told(Vec::new()),
            is_elsewhere: self.is_elsewhere,
            presence: Presence::Listening,
            ..Self::new(new, Role::Prefetch { until }, self.known.clone())
        };
        probe.declare(greeting.initialize());
        probe.declared = std::mem::take(&mut probe.declared).without_roots();
        probe.handshake = Handshake::Answered(greeting);
        probe
    }

    /// The stand-in that keeps a server running without a client. It has no roots.
    pub(crate) fn standby(new: NewClient, origin: ClientOrigin, greeting: Greeting) -> Self {
        let mut standby = Self {
            identity: origin.identity,
            environment: origin.environment,
            roots: ClientRoots::told(Vec::new()),
            is_elsewhere: origin.is_elsewhere,
            presence: Presence::Listening,
            ..Self::new(new, Role::Standby, origin.known.into())
        };
        standby.declare(greeting.initialize());
        standby.declared = std::mem::take(&mut standby.declared).without_roots();
        standby.handshake = Handshake::Answered(greeting);
        standby
    }
}

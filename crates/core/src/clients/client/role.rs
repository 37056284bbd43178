//! The roles of a client. Must not know what follows from a role.

use crate::aggregate::Aggregate;
use crate::clients::Client;
use crate::ids::ClientId;
use crate::moment::Moment;

/// The role of a client. An aggregate client has a delegate at each server, which the server's backends treat
/// as a client like any other.
#[derive(Debug)]
pub(crate) enum Role {
    /// A client of one server.
    Plain,
    /// A client of several servers.
    Aggregate(Box<Aggregate>),
    /// The stand-in of an aggregate client at one server.
    Delegate { of: ClientId },
    /// The stand-in for a client that left before the lists of its server were known, until they are stored.
    Prefetch { until: Moment },
    /// The stand-in that keeps a server running that was started without a client.
    Standby,
}

impl Client {
    pub(crate) fn role(&self) -> &Role {
        &self.role
    }

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

    /// The client whose connection it uses.
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

    /// Whether it only holds a lease, without a real client behind it.
    pub(crate) fn is_stand_in(&self) -> bool {
        matches!(self.role, Role::Prefetch { .. } | Role::Standby)
    }

    /// Whether it is a client of one server, with its own connection.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.role, Role::Plain)
    }

    pub(crate) fn is_standby(&self) -> bool {
        matches!(self.role, Role::Standby)
    }

    /// Whether it has its own connection.
    pub(crate) fn is_connected(&self) -> bool {
        match self.role {
            Role::Plain | Role::Aggregate(_) => true,
            Role::Delegate { .. } | Role::Prefetch { .. } | Role::Standby => false,
        }
    }
}

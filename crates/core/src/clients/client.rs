//! A client: its handshake, its dialect, and what waits for it.

use crate::aggregate::Aggregate;
use crate::catalogue::Listing;
use crate::clients::{Batches, Declared, Handshake, Roots, RootsAnswer};
use crate::environment::Environment;
use crate::ids::{BackendId, ClientId, Principal, ServerId};
use crate::moment::Moment;
use crate::routing::{Known, Place};
use crate::settings::ServerSettings;
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use switchboard_protocol::dialect::Ear;
use switchboard_protocol::{Message, RawId};

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
    pub(crate) id: RawId,
    pub(crate) batch: Option<u32>,
    pub(crate) answered: bool,
}

/// A request that waits to be routed.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(crate) minted: u64,
    pub(crate) places: Vec<Place>,
}

/// How much a client wants to hear of what servers log.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    /// As it asked for it: the whole request, to be repeated to other processes.
    pub(crate) request: Message,
    pub(crate) rank: usize,
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
    pub(crate) id: ClientId,
    /// What it is to us.
    pub(crate) role: Role,
    pub(crate) server: ServerId,
    pub(crate) settings: Arc<ServerSettings>,
    pub(crate) since: Moment,
    pub(crate) principal: Principal,
    pub(crate) environment: Environment,
    /// What is known of its workspaces.
    pub(crate) known: Shared<Known>,
    pub(crate) roots: Roots,
    /// Its last answer to `roots/list`, an error included. Delegates have their client's.
    pub(crate) roots_answer: Option<RootsAnswer>,
    /// How often its roots were looked up.
    pub(crate) inquiries: u32,
    pub(crate) declared: Declared,
    pub(crate) handshake: Handshake,
    /// The backend for what names no place: handshakes, lists.
    pub(crate) home: Option<BackendId>,
    /// Its leases: the backends that it uses, by root.
    pub(crate) seats: BTreeMap<Option<String>, BackendId>,
    /// Requests that cannot be routed before its roots, or its handshake, are known.
    pub(crate) parked: VecDeque<Parked>,
    /// The stored lists that it was shown before its server was there.
    pub(crate) shown: Vec<Arc<Listing>>,
    /// The log level that it asked for.
    pub(crate) level: Option<Level>,
    pub(crate) ear: Ear,
    /// It wants to know what messages are about.
    pub(crate) goes_by_request: bool,
    /// What tells it that a refusal is ours.
    pub(crate) refusal_mark: Option<Arc<str>>,
    /// Its folders are none of ours.
    pub(crate) is_elsewhere: bool,
    pub(crate) presence: Presence,
    pub(crate) farewell: Option<Box<Farewell>>,
    pub(crate) batches: Batches,
    /// Bytes in its outbox.
    pub(crate) queued: usize,
    /// Accepted and not answered.
    pub(crate) unanswered: usize,
    pub(crate) dropped: u64,
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

    /// It has a connection of its own.
    pub(crate) fn is_connected(&self) -> bool {
        match self.role {
            Role::Plain | Role::Aggregate(_) => true,
            Role::Delegate { .. } | Role::Prefetch { .. } | Role::Standby => false,
        }
    }
}

/// How loud a level is, from its JSON string.
pub(crate) fn rank(level: &[u8]) -> Option<usize> {
    const LEVELS: [&[u8]; 8] =
        [b"debug", b"info", b"notice", b"warning", b"error", b"critical", b"alert", b"emergency"];
    let level = level.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    LEVELS.iter().position(|known| *known == level)
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
        assert!(size_of::<Client>() <= 432, "{} bytes", size_of::<Client>());
    }
}

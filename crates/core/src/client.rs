//! A client: its handshake, its dialect, and what waits for it.

use crate::aggregate::Aggregate;
use crate::batch::Batches;
use crate::catalogue::Listing;
use crate::environment::Environment;
use crate::event::{BackendId, ClientId, Principal, ServerId};
use crate::key::{Declared, in_order};
use crate::moment::Moment;
use crate::roots::{Known, Place};
use crate::settings::ServerSettings;
use std::collections::VecDeque;
use std::collections::btree_map::{self, BTreeMap};
use std::ops::{Deref, DerefMut, RangeFrom};
use std::sync::Arc;
use switchboard_protocol::dialect::Ear;
use switchboard_protocol::{Message, Part, RawId};

/// The client's half of the handshake. What it said is kept, to be replayed to a backend that is started anew.
#[derive(Debug)]
pub(crate) enum Handshake {
    /// Nothing yet. Requests pass all the same: what a server makes of them is its affair.
    New,
    /// `initialize` is on its way. Some clients send `initialized` without waiting for the answer. An earlier
    /// handshake counts until this one is answered.
    Asked {
        initialized: Option<Message>,
        before: Option<Box<Greeting>>,
    },
    Answered(Greeting),
}

/// What a client said, and a server answered.
#[derive(Debug, Clone)]
pub(crate) struct Greeting {
    pub(crate) initialize: Message,
    pub(crate) initialized: Option<Message>,
}

impl Handshake {
    pub(crate) fn ask(&mut self) {
        let before = match std::mem::replace(self, Self::New) {
            Self::New => None,
            Self::Asked { before, .. } => before,
            Self::Answered(greeting) => Some(Box::new(greeting)),
        };
        *self = Self::Asked { initialized: None, before };
    }

    pub(crate) fn answer(&mut self, initialize: Message) {
        let initialized = match std::mem::replace(self, Self::New) {
            Self::New => None,
            Self::Asked { initialized, .. } => initialized,
            Self::Answered(greeting) => greeting.initialized,
        };
        *self = Self::Answered(Greeting { initialize: initialize.detached(), initialized });
    }

    /// The server refused, or nobody answered: what was before counts again.
    pub(crate) fn fail(&mut self) {
        if let Self::Asked { before, .. } = self {
            *self = before.take().map_or(Self::New, |greeting| Self::Answered(*greeting));
        }
    }

    pub(crate) fn confirm(&mut self, message: &Message) {
        match self {
            Self::New => {}
            Self::Asked { initialized, .. } => *initialized = Some(message.detached()),
            Self::Answered(greeting) => greeting.initialized = Some(message.detached()),
        }
    }

    /// What a new process must hear first, if this client was greeted by an earlier one.
    pub(crate) fn to_replay(&self) -> Option<&Greeting> {
        match self {
            Self::New => None,
            Self::Asked { before, .. } => before.as_deref(),
            Self::Answered(greeting) => Some(greeting),
        }
    }

    /// Both halves are done: it may be asked things.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self, Self::Answered(Greeting { initialized: Some(_), .. }))
    }

    pub(crate) fn is_asked(&self) -> bool {
        matches!(self, Self::Asked { .. })
    }

    /// What followed an `initialize` that is still on its way.
    pub(crate) fn confirmed_early(&self) -> Option<&Message> {
        match self {
            Self::New | Self::Answered(_) => None,
            Self::Asked { initialized, .. } => initialized.as_ref(),
        }
    }

    pub(crate) fn is_answered(&self) -> bool {
        matches!(self, Self::Answered(_))
    }
}

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

/// How far we have come in asking a client for its roots.
#[derive(Debug)]
pub(crate) enum Roots {
    /// Nobody wanted to know.
    Unasked,
    /// A request to it is on its way, or what it said is being looked up. What it said before counts until then.
    Asked {
        before: Vec<ClientRoot>,
        said: Vec<ClientRoot>,
    },
    Told(Vec<ClientRoot>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientRoot {
    /// Canonical; nothing if it is no folder of this machine.
    pub(crate) path: Option<String>,
    /// As the client put it.
    pub(crate) raw: Box<str>,
}

/// What a client answered to `roots/list`.
#[derive(Debug, Clone)]
pub(crate) struct RootsAnswer {
    pub(crate) message: Message,
    /// Equal for equal answers, however they are spelled.
    pub(crate) key: Arc<str>,
}

impl RootsAnswer {
    pub(crate) fn new(message: &Message) -> Self {
        let part = message.part(Part::Result).or_else(|| message.part(Part::Error)).unwrap_or_default();
        let key = match serde_json::from_slice(part) {
            Ok(value) => in_order(value).to_string(),
            Err(_) => String::from_utf8_lossy(part).into_owned(),
        };
        Self { message: message.clone(), key: key.into() }
    }
}

impl Roots {
    /// What the client said last.
    pub(crate) fn latest(&self) -> &[ClientRoot] {
        match self {
            Self::Unasked => &[],
            Self::Asked { before, .. } => before,
            Self::Told(roots) => roots,
        }
    }
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
    pub(crate) fn face(&self) -> ClientId {
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

/// All clients by number. Each is boxed: a client of many servers has one delegate for each, whose numbers follow each
/// other, and the nodes of a tree that grows at its end stay half empty.
#[derive(Debug, Default)]
pub(crate) struct Clients(BTreeMap<ClientId, Box<Client>>);

impl Clients {
    pub(crate) fn get(&self, id: &ClientId) -> Option<&Client> {
        self.0.get(id).map(|client| &**client)
    }

    pub(crate) fn get_mut(&mut self, id: &ClientId) -> Option<&mut Client> {
        self.0.get_mut(id).map(|client| &mut **client)
    }

    pub(crate) fn insert(&mut self, id: ClientId, client: Client) {
        self.0.insert(id, Box::new(client));
    }

    pub(crate) fn contains_key(&self, id: &ClientId) -> bool {
        self.0.contains_key(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn keys(&self) -> btree_map::Keys<'_, ClientId, Box<Client>> {
        self.0.keys()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Client> + Clone {
        self.0.values().map(|client| &**client)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Client> {
        self.0.values_mut().map(|client| &mut **client)
    }

    pub(crate) fn range(&self, from: RangeFrom<ClientId>) -> impl Iterator<Item = (&ClientId, &Client)> {
        self.0.range(from).map(|(id, client)| (id, &**client))
    }

    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&ClientId, &mut Client) -> bool) {
        self.0.retain(|id, client| is_kept(id, client));
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

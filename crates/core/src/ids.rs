//! Numbers that identify clients, backends, servers and their processes.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub u32);

impl ClientId {
    /// Delegates have their own range of numbers, above those of connections.
    pub(crate) const FIRST_DELEGATE: u32 = 1 << 31;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BackendId(pub u32);

/// The identity whose rights a client has. Local windows and the first token are the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Principal(pub u32);

impl Principal {
    pub const OWNER: Self = Self(0);
    /// All clients without a token, where none is needed although others than the owner can connect.
    pub const ANONYMOUS: Self = Self(1);
}

/// One entry of the config.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerId(pub u32);

impl ServerId {
    /// Placeholder for a client of several servers.
    pub(crate) const EVERY: Self = Self(u32::MAX);
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client-{}", self.0)
    }
}

impl fmt::Display for BackendId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "backend-{}", self.0)
    }
}

/// A process of a backend: each start has a new number, so that a late event of an old process is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Launch {
    pub backend: BackendId,
    pub number: u32,
}

impl fmt::Display for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.backend, self.number)
    }
}

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Peer {
    Client(ClientId),
    Backend(Launch),
}

//! What happened that is worth seeing. Logs, metrics and later the dashboard are listeners of this one type;
//! no one else logs.

use crate::ids::{BackendId, ClientId};
use crate::servers::{Crowding, Limit};
use std::borrow::Cow;
use std::time::Duration;
use switchboard_protocol::{ErrorKind, Framing, RawId};

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The server's result.
    Ok,
    /// The server's own error.
    ServerError,
    /// An error of ours.
    Refused(ErrorKind),
    /// The client took it back.
    Cancelled,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// What keeps processes from outliving us, and what does not, and why.
    Layers {
        text: String,
        /// Something is missing that should be there.
        are_wanting: bool,
    },
    /// An earlier run was killed as a whole; this was still alive of it.
    Swept {
        names: Vec<String>,
        left: usize,
    },
    /// Whoever started us has ended.
    ParentGone,
    /// Other machines can reach us, and nothing is encrypted.
    PlainHttp {
        address: String,
    },
    /// A new config counts from now on: these servers are others now, came, or went.
    ConfigApplied {
        changed: Vec<String>,
        added: Vec<String>,
        removed: Vec<String>,
        /// Settings that count only when we are started the next time.
        needs_restart: Vec<&'static str>,
    },
    /// The config file has changed, and the one before counts on.
    ConfigRejected {
        why: String,
    },
    /// A server that is to run without a client cannot.
    NotStarted {
        server: String,
        why: &'static str,
    },

    ClientConnected {
        client: ClientId,
    },
    ClientInputEnded {
        client: ClientId,
    },
    ClientLost {
        client: ClientId,
    },

    /// What the client says its workspaces are.
    RootsKnown {
        client: ClientId,
        roots: Vec<String>,
    },
    /// The client works at this root now, and why we think so.
    RootChosen {
        client: ClientId,
        root: Option<String>,
        why: String,
    },
    /// Nothing says which workspace a client works in, although the server depends on it.
    Fallback {
        client: ClientId,
    },

    Starting {
        backend: BackendId,
        server: String,
        framing: Framing,
        root: Option<String>,
    },
    /// As many run as may, and none can be stopped at the moment, or is gone yet.
    NoRoom {
        backend: BackendId,
        running: usize,
        /// The limit that is reached; `None` if it waits for other starts.
        limit: Option<Limit>,
    },
    /// Backends of a server stop each other: one is started again soon after it was stopped to make room. At most one
    /// report per server in 10 minutes.
    Crowded {
        backend: BackendId,
        crowding: Crowding,
    },
    /// It keeps a client's affairs between calls, by the name of this tool.
    /// Clients of a process get processes of their own.
    Separated {
        backend: BackendId,
        clients: usize,
        why: &'static str,
    },
    /// A notification that may be about any of several clients: none of them gets it.
    Unheard {
        backend: BackendId,
        method: Cow<'static, str>,
        text: String,
    },
    KeepsState {
        backend: BackendId,
        tool: String,
    },
    /// It kept something for its clients, and was stopped.
    StateLost {
        backend: BackendId,
        why: String,
    },
    /// It holds more memory than it may.
    Heavy {
        backend: BackendId,
        bytes: u64,
        limit: u64,
    },
    /// All of them together do.
    PoolHeavy {
        bytes: u64,
        limit: u64,
    },
    Spawned {
        backend: BackendId,
        /// None of a server elsewhere.
        pid: Option<u32>,
    },
    SpawnFailed {
        backend: BackendId,
        reason: String,
    },
    /// A server elsewhere.
    NotReached {
        backend: BackendId,
        reason: String,
    },
    Ready {
        backend: BackendId,
        after: Duration,
        restarted: bool,
    },
    Crashed {
        backend: BackendId,
        how: String,
        pending: usize,
        stderr: String,
    },
    RestartIn {
        backend: BackendId,
        delay: Duration,
        crashes: usize,
    },
    BreakerOpened {
        backend: BackendId,
        cooldown: Duration,
        crashes: usize,
    },
    Stopping {
        backend: BackendId,
        why: &'static str,
    },
    Stopped {
        backend: BackendId,
        how: String,
    },
    /// Processes outlived the one we started.
    LeftBehind {
        backend: BackendId,
        /// Names of those that were ended.
        ended: Vec<String>,
        /// How many could not be.
        left: u32,
    },
    FramingLearnt {
        backend: BackendId,
        framing: Framing,
    },
    /// Nothing came back to this framing.
    FramingDoubted {
        backend: BackendId,
        framing: Framing,
    },
    Probing {
        backend: BackendId,
        /// Not because of a time-out.
        is_regular: bool,
    },

    /// Which backend a message goes to, and under which id.
    Routed {
        client: ClientId,
        backend: BackendId,
        method: Cow<'static, str>,
        id: RawId,
        minted: u64,
    },
    /// The one line per request.
    Answered {
        client: ClientId,
        backend: Option<BackendId>,
        method: Cow<'static, str>,
        id: RawId,
        took: Duration,
        outcome: Outcome,
    },
    /// The same in the other direction: a request to a client, of a server or our own.
    Asked {
        client: ClientId,
        backend: Option<BackendId>,
        method: Cow<'static, str>,
        took: Duration,
        outcome: Outcome,
    },
    Quarantined {
        backend: BackendId,
        text: String,
        bytes: usize,
        total: u64,
    },
    BadMessage {
        from: Cow<'static, str>,
        what: String,
    },
    TooLong {
        from: Cow<'static, str>,
        bytes: u64,
    },
    LateAnswer {
        backend: BackendId,
        total: u64,
    },
    DroppedNotification {
        to: Cow<'static, str>,
        total: u64,
    },
    Retried {
        backend: BackendId,
        method: Cow<'static, str>,
    },
    Draining {
        why: &'static str,
        pending: usize,
    },
    Finished,
}

impl Fact {
    /// The client that it is about, if it is about one client's messages.
    pub fn client(&self) -> Option<ClientId> {
        match self {
            Self::ClientConnected { client }
            | Self::ClientInputEnded { client }
            | Self::ClientLost { client }
            | Self::RootsKnown { client, .. }
            | Self::RootChosen { client, .. }
            | Self::Fallback { client }
            | Self::Routed { client, .. }
            | Self::Answered { client, .. }
            | Self::Asked { client, .. } => Some(*client),
            _ => None,
        }
    }

    /// The backend that it is about.
    pub fn backend(&self) -> Option<BackendId> {
        match self {
            Self::Starting { backend, .. }
            | Self::NoRoom { backend, .. }
            | Self::Crowded { backend, .. }
            | Self::Separated { backend, .. }
            | Self::Unheard { backend, .. }
            | Self::KeepsState { backend, .. }
            | Self::StateLost { backend, .. }
            | Self::Heavy { backend, .. }
            | Self::Spawned { backend, .. }
            | Self::SpawnFailed { backend, .. }
            | Self::NotReached { backend, .. }
            | Self::Ready { backend, .. }
            | Self::Crashed { backend, .. }
            | Self::RestartIn { backend, .. }
            | Self::BreakerOpened { backend, .. }
            | Self::Stopping { backend, .. }
            | Self::Stopped { backend, .. }
            | Self::LeftBehind { backend, .. }
            | Self::FramingLearnt { backend, .. }
            | Self::FramingDoubted { backend, .. }
            | Self::Probing { backend, .. }
            | Self::Routed { backend, .. }
            | Self::Quarantined { backend, .. }
            | Self::LateAnswer { backend, .. }
            | Self::Retried { backend, .. } => Some(*backend),
            Self::Answered { backend, .. } | Self::Asked { backend, .. } => *backend,
            Self::Layers { .. }
            | Self::Swept { .. }
            | Self::ParentGone
            | Self::ConfigApplied { .. }
            | Self::ConfigRejected { .. }
            | Self::NotStarted { .. }
            | Self::ClientConnected { .. }
            | Self::ClientInputEnded { .. }
            | Self::ClientLost { .. }
            | Self::RootsKnown { .. }
            | Self::RootChosen { .. }
            | Self::Fallback { .. }
            | Self::PoolHeavy { .. }
            | Self::BadMessage { .. }
            | Self::TooLong { .. }
            | Self::PlainHttp { .. }
            | Self::DroppedNotification { .. }
            | Self::Draining { .. }
            | Self::Finished => None,
        }
    }
}

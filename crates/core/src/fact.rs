//! Facts worth reporting. Logs, metrics and later the dashboard are listeners of this one type; no other code logs.

use crate::access::{Call, Front, LimitScope};
use crate::ids::{BackendId, ClientId};
use crate::servers::{Crowding, Limit};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use switchboard_protocol::{ErrorKind, Framing, RawId};

pub use crate::access::Outcome;

#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// The layers that keep processes from outliving us, and the reasons for missing ones.
    Layers {
        text: String,
        /// A layer is missing that should be there.
        are_wanting: bool,
    },
    /// Processes left by an earlier run that was killed completely.
    Swept {
        names: Vec<String>,
        left: usize,
    },
    /// Our parent process has ended.
    ParentGone,
    /// Other machines can reach us, without encryption.
    PlainHttp {
        address: String,
    },
    /// A new config is in effect, with these changes to servers.
    ConfigApplied {
        changed: Vec<String>,
        added: Vec<String>,
        removed: Vec<String>,
        /// Settings that take effect only after a restart.
        needs_restart: Vec<&'static str>,
    },
    /// The changed config file is invalid, and the previous config stays in effect.
    ConfigRejected {
        why: String,
    },
    /// The file of the tokens cannot be read or relied on, so no token in it counts.
    TokensRejected {
        why: String,
    },
    /// A server that should run without a client cannot.
    NotStarted {
        server: String,
        why: &'static str,
    },

    ClientConnected {
        client: ClientId,
        /// The name of its identity; `None` until it shows a valid token.
        identity: Option<Arc<str>>,
    },
    /// The client's token was revoked or has expired, so the client was disconnected.
    Expelled {
        client: ClientId,
        identity: Arc<str>,
    },
    ClientInputEnded {
        client: ClientId,
    },
    ClientLost {
        client: ClientId,
    },

    /// The client has named its workspaces.
    RootsKnown {
        client: ClientId,
        roots: Vec<String>,
    },
    /// The client works at this root, with the reason for the choice.
    RootChosen {
        client: ClientId,
        root: Option<String>,
        why: String,
    },
    /// The workspace of a client is unknown, although the server depends on it.
    Fallback {
        client: ClientId,
    },

    Starting {
        backend: BackendId,
        server: String,
        framing: Framing,
        root: Option<String>,
    },
    /// A limit on running backends is reached, and none can be stopped at the moment.
    NoRoom {
        backend: BackendId,
        running: usize,
        /// The limit that is reached; `None` if it waits for other starts.
        limit: Option<Limit>,
    },
    /// Backends of a server evict each other: one is restarted soon after it was stopped to make room.
    /// Reported at most once per server in 10 minutes.
    Crowded {
        backend: BackendId,
        crowding: Crowding,
    },
    /// Calls were refused because of a limit. Reported at most once per limit and identity in 10 minutes.
    RateLimited {
        identity: Arc<str>,
        server: String,
        limit: LimitScope,
        /// Number of refused calls since the last report.
        refused: u64,
        hint: String,
    },
    /// The clients of a process get separate processes.
    Separated {
        backend: BackendId,
        clients: usize,
        why: &'static str,
    },
    /// A notification that may concern any of several clients, and is delivered to none.
    Unheard {
        backend: BackendId,
        method: Cow<'static, str>,
        text: String,
    },
    /// The server keeps client state between calls, judging by the name of this tool.
    KeepsState {
        backend: BackendId,
        tool: String,
    },
    /// A backend that kept state for its clients was stopped.
    StateLost {
        backend: BackendId,
        why: String,
    },
    /// A backend exceeds its memory limit.
    Heavy {
        backend: BackendId,
        bytes: u64,
        limit: u64,
    },
    /// All backends together exceed the memory limit.
    PoolHeavy {
        bytes: u64,
        limit: u64,
    },
    Spawned {
        backend: BackendId,
        /// `None` for a remote server.
        pid: Option<u32>,
    },
    SpawnFailed {
        backend: BackendId,
        reason: String,
    },
    /// A remote server could not be reached.
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
        /// Names of the processes that were killed.
        ended: Vec<String>,
        /// Number of processes that could not be killed.
        left: u32,
    },
    FramingLearnt {
        backend: BackendId,
        framing: Framing,
    },
    /// No answer came with this framing.
    FramingDoubted {
        backend: BackendId,
        framing: Framing,
    },
    Probing {
        backend: BackendId,
        /// A regular check, not one after a timeout.
        is_regular: bool,
    },

    /// The backend that a message is forwarded to, and its minted id.
    Routed {
        client: ClientId,
        backend: BackendId,
        method: Cow<'static, str>,
        id: RawId,
        minted: u64,
    },
    /// Summary of one request.
    Answered {
        client: ClientId,
        backend: Option<BackendId>,
        method: Cow<'static, str>,
        id: RawId,
        took: Duration,
        outcome: Outcome,
    },
    /// A concluded call of a client that is audited. Goes to the audit, not to the log.
    Called(Box<Call>),
    /// A request that a front refused before it reached the core. Goes to the audit, not to the log.
    AccessRefused {
        front: Front,
        kind: ErrorKind,
        /// The caller's address.
        from: String,
        /// The caller's identity, if it was recognised.
        identity: Option<Arc<str>>,
    },
    /// Same in the other direction: a request to a client, from a server or from us.
    Asked {
        client: ClientId,
        backend: Option<BackendId>,
        method: Cow<'static, str>,
        took: Duration,
        outcome: Outcome,
    },
    /// A server asked its client for something that the config denies, and got an error.
    AskDenied {
        backend: BackendId,
        server: String,
        method: Cow<'static, str>,
        /// The identity of the client that would have been asked, if it is known.
        identity: Option<Arc<str>>,
        /// Number of such requests of this backend.
        total: u64,
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
    /// The client concerned, if the fact is about one client's messages.
    pub fn client(&self) -> Option<ClientId> {
        match self {
            Self::ClientConnected { client, .. }
            | Self::Expelled { client, .. }
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

    /// The backend concerned.
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
            | Self::AskDenied { backend, .. }
            | Self::Quarantined { backend, .. }
            | Self::LateAnswer { backend, .. }
            | Self::Retried { backend, .. } => Some(*backend),
            Self::Answered { backend, .. } | Self::Asked { backend, .. } => *backend,
            Self::Called(call) => call.launch.map(|launch| launch.backend),
            Self::Layers { .. }
            | Self::Swept { .. }
            | Self::ParentGone
            | Self::ConfigApplied { .. }
            | Self::ConfigRejected { .. }
            | Self::TokensRejected { .. }
            | Self::NotStarted { .. }
            | Self::ClientConnected { .. }
            | Self::Expelled { .. }
            | Self::ClientInputEnded { .. }
            | Self::ClientLost { .. }
            | Self::RootsKnown { .. }
            | Self::RootChosen { .. }
            | Self::Fallback { .. }
            | Self::PoolHeavy { .. }
            | Self::RateLimited { .. }
            | Self::BadMessage { .. }
            | Self::TooLong { .. }
            | Self::PlainHttp { .. }
            | Self::DroppedNotification { .. }
            | Self::AccessRefused { .. }
            | Self::Draining { .. }
            | Self::Finished => None,
        }
    }
}

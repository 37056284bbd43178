//! Requests of clients, and their subjects.

use std::collections::BTreeSet;
use switchboard_core::routing::NamedPath;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verb {
    Initialize,
    Ping,
    List,
    Read,
    Call { as_task: bool },
    Subscribe { uri: String },
    Unsubscribe { uri: String },
    SetLevel { rank: usize },
    TaskGet { task: String },
    TaskResult { task: String },
    TaskCancel { task: String },
}

impl Verb {
    pub(super) fn method(&self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Ping => "ping",
            Self::List => "tools/list",
            Self::Read => "resources/read",
            Self::Call { .. } => "tools/call",
            Self::Subscribe { .. } => "resources/subscribe",
            Self::Unsubscribe { .. } => "resources/unsubscribe",
            Self::SetLevel { .. } => "logging/setLevel",
            Self::TaskGet { .. } => "tasks/get",
            Self::TaskResult { .. } => "tasks/result",
            Self::TaskCancel { .. } => "tasks/cancel",
        }
    }

    pub(super) fn task(&self) -> Option<&str> {
        match self {
            Self::TaskGet { task } | Self::TaskResult { task } | Self::TaskCancel { task } => Some(task),
            _ => None,
        }
    }

    /// Whether a server must have got `initialized` before it, from a client that sends it.
    pub(super) fn follows_handshake(&self) -> bool {
        !matches!(self, Self::Initialize | Self::Ping)
    }
}

/// The scenario's own part of a request.
#[derive(Debug)]
pub(crate) struct PoolRequest {
    pub(super) verb: Verb,
    /// Text of `params`.
    pub(super) params: String,
    pub(super) place: Option<NamedPath>,
    /// Roots whose process may get it.
    pub(super) roots: BTreeSet<Option<String>>,
    /// Whether its client's roots or handshake were open on arrival: its route is decided later.
    pub(super) is_undecided: bool,
    /// Whether its route depends on others that are decided at the same time.
    pub(super) is_unclear: bool,
    /// Whether its client had sent `initialized` before it.
    pub(super) is_confirmed: bool,
    /// Whether its client had made no handshake.
    pub(super) is_plain: bool,
    /// Whether it was answered by an error of our own.
    pub(super) is_refused: bool,
}

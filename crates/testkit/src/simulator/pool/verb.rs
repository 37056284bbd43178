//! Requests of clients, and what they are about.

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

    /// A server hears `initialized` before it, from a client that says so.
    pub(super) fn follows_handshake(&self) -> bool {
        !matches!(self, Self::Initialize | Self::Ping)
    }
}

/// A client's request, beside what every scenario knows of it.
#[derive(Debug)]
pub(crate) struct PoolRequest {
    pub(super) verb: Verb,
    /// Text of `params`.
    pub(super) params: String,
    pub(super) place: Option<NamedPath>,
    /// Roots whose process may be given it.
    pub(super) roots: BTreeSet<Option<String>>,
    /// Its client's roots, or its handshake, were open when it came: where it goes is decided later.
    pub(super) is_undecided: bool,
    /// Where it belongs depends on others that are decided in the same moment.
    pub(super) is_unclear: bool,
    /// Its client had said `initialized` before it.
    pub(super) is_confirmed: bool,
    /// Answered by an error of ours.
    pub(super) is_refused: bool,
}

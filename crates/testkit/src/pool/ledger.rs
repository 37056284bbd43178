//! The books: who asked what, in both directions.

use serde_json::Value;
use std::collections::BTreeSet;
use switchboard_core::routing::NamedPath;
use switchboard_core::{ClientId, Launch, Moment};

/// `Err` is a broken promise.
pub(super) type Check<T = ()> = Result<T, String>;

/// What a client's request is about.
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

pub(super) const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

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

    /// May be handed over a second time after a crash.
    pub(super) fn is_repeatable(&self) -> bool {
        matches!(self, Self::Ping | Self::List | Self::Read | Self::SetLevel { .. })
    }

    /// Carries a client's affairs into a process.
    pub(super) fn is_use(&self) -> bool {
        !matches!(self, Self::Initialize | Self::Ping | Self::List | Self::SetLevel { .. })
    }

    /// A server hears `initialized` before it, from a client that says so.
    pub(super) fn follows_handshake(&self) -> bool {
        !matches!(self, Self::Initialize | Self::Ping)
    }
}

/// A client's request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) client: ClientId,
    pub(super) verb: Verb,
    pub(super) id: Value,
    /// The text of `params`.
    pub(super) params: String,
    pub(super) token: Option<Value>,
    pub(super) place: Option<NamedPath>,
    /// The roots whose process may be given it.
    pub(super) roots: BTreeSet<Option<String>>,
    /// Its client's roots, or its handshake, were open when it came: where it goes is decided later.
    pub(super) is_undecided: bool,
    /// Where it belongs, or that it belongs nowhere, depends on others that are decided in the same moment.
    pub(super) is_unclear: bool,
    /// Its client had said `initialized` before it.
    pub(super) is_confirmed: bool,
    pub(super) sent: Moment,
    /// When its clock was last started anew.
    pub(super) touched: Moment,
    pub(super) handed: Vec<Launch>,
    pub(super) is_answered: bool,
    /// By an error of ours.
    pub(super) is_refused: bool,
    pub(super) is_cancelled: bool,
}

impl Request {
    /// Somebody waits for its answer.
    pub(super) fn is_open(&self) -> bool {
        !self.is_answered && !self.is_cancelled
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Sampling,
    Roots,
}

/// A process's request to its client.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) launch: Launch,
    pub(super) wish: Wish,
    pub(super) sent: Moment,
    /// Whom it was passed on to.
    pub(super) client: Option<ClientId>,
    pub(super) is_answered: bool,
}

//! Requests of clients, and what they are about.

use switchboard_core::catalogue::List;
use switchboard_core::{ClientId, Launch, Moment};

/// The subject of a client's request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verb {
    Initialize,
    Ping,
    /// The page of a walk, which is numbered.
    List {
        list: List,
        walk: u64,
        is_first: bool,
    },
    Call {
        as_task: bool,
    },
    Get,
    Read,
    Subscribe,
    Unsubscribe,
    Complete {
        list: List,
    },
    SetLevel {
        rank: usize,
    },
    Task {
        method: &'static str,
        task: usize,
    },
    TasksList,
    Unknown,
}

impl Verb {
    /// Carries a client's affairs into a process.
    pub(super) fn is_use(&self) -> bool {
        !matches!(
            self,
            Self::Initialize | Self::Ping | Self::List { .. } | Self::SetLevel { .. } | Self::TasksList
        )
    }

    pub(super) fn method(&self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Ping => "ping",
            Self::List { list, .. } => list.method().name().unwrap_or("?"),
            Self::Call { .. } => "tools/call",
            Self::Get => "prompts/get",
            Self::Read => "resources/read",
            Self::Subscribe => "resources/subscribe",
            Self::Unsubscribe => "resources/unsubscribe",
            Self::Complete { .. } => "completion/complete",
            Self::SetLevel { .. } => "logging/setLevel",
            Self::Task { method, .. } => method,
            Self::TasksList => "tasks/list",
            Self::Unknown => "custom/thing",
        }
    }

    /// The list that has what it names.
    pub(super) fn list(&self) -> Option<List> {
        match self {
            Self::Call { .. } => Some(List::Tools),
            Self::Get => Some(List::Prompts),
            Self::Read | Self::Subscribe | Self::Unsubscribe => Some(List::Resources),
            Self::Complete { list } => Some(*list),
            _ => None,
        }
    }

    /// May be handed over a second time after a crash.
    pub(super) fn is_repeatable(&self) -> bool {
        match self {
            Self::Initialize
            | Self::Ping
            | Self::List { .. }
            | Self::Get
            | Self::Read
            | Self::Complete { .. }
            | Self::SetLevel { .. } => true,
            Self::Call { .. }
            | Self::Subscribe
            | Self::Unsubscribe
            | Self::Task { .. }
            | Self::TasksList
            | Self::Unknown => false,
        }
    }
}

/// A client's request, beside what every scenario knows of it. Its number is its tag, which it carries.
#[derive(Debug)]
pub(crate) struct AggregateRequest {
    pub(super) verb: Verb,
    /// Name in it, as the client says it.
    pub(super) name: Option<String>,
    /// The item that is meant, where there can be no doubt.
    pub(super) meant: Option<usize>,
    /// From when on a server that has come since may be waited for.
    pub(super) waits_since: Moment,
    /// Its answer may wait for others when it is taken back.
    pub(super) is_in_batch: bool,
    /// Last answer that a process gave to it.
    pub(super) said: Option<String>,
}

/// Work that goes on after its answer.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) client: ClientId,
    pub(super) launch: Launch,
}

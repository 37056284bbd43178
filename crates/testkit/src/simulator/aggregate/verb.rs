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
            Self::Unknown => "acme/unknown",
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
    /// The number of its client's rights when it was sent.
    pub(super) rights_from: usize,
    /// Its id at the process that has it.
    pub(super) minted: Option<u64>,
    /// Last answer that a process gave to it.
    pub(super) said: Option<String>,
}

/// Work that goes on after its answer.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) client: ClientId,
    pub(super) launch: Launch,
}

//! Requests of clients, and their subjects.

use switchboard_core::catalogue::List;
use switchboard_core::{ClientId, Launch, Moment};

/// The subject of a client's request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verb {
    Initialize,
    Ping,
    /// A page of a walk, by the walk's number.
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

    /// The list that contains the named item.
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

/// The scenario's own part of a request. The request carries its number as its tag.
#[derive(Debug)]
pub(crate) struct AggregateRequest {
    pub(super) verb: Verb,
    /// The name in the request, as the client spells it.
    pub(super) name: Option<String>,
    /// The item that is meant, if certain.
    pub(super) meant: Option<usize>,
    /// Time from which the request may wait for a server that was added since.
    pub(super) waits_since: Moment,
    /// Whether its answer may wait for others although it was cancelled.
    pub(super) is_in_batch: bool,
    /// The number of its client's rights when it was sent.
    pub(super) rights_from: usize,
    /// Its id at the process that has it.
    pub(super) minted: Option<u64>,
    /// The last answer of a process to it.
    pub(super) said: Option<String>,
}

/// Work that continues after its answer.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) client: ClientId,
    pub(super) launch: Launch,
}

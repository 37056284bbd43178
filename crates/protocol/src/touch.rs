//! The touch table: every place of a message that we may have to read or replace, and nothing else.
//!
//! The scanner walks this tree beside the message. What is not in it is stepped over undecoded and travels as
//! it came. The tree is the union over all methods and both directions, since keys may come in any order:
//! `params` may stand before `method`, and node servers put `id` last. To touch a new place, add a line here.

/// A place in a message. The order is that of the spans in [`crate::message::Message`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    // The envelope.
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    // `params` of requests and notifications.
    /// `tools/call`, `prompts/get`: whose it is.
    Name,
    /// `resources/read`, `subscribe`, `unsubscribe`, `notifications/resources/updated`.
    Uri,
    /// `notifications/cancelled`: which request.
    RequestId,
    /// `tasks/*`, `notifications/tasks/status`.
    TaskId,
    /// Lists: the page.
    Cursor,
    /// `logging/setLevel`, `notifications/message`.
    Level,
    /// `notifications/progress`: which request.
    ProgressToken,
    /// URL elicitation, and its completion.
    ElicitationId,
    /// A request that wants to run as a task.
    Task,
    /// `completion/complete`: about what.
    Ref,
    RefName,
    RefUri,
    // `params._meta`
    Meta,
    MetaProgressToken,
    MetaRelatedTask,
    MetaRelatedTaskId,
    MetaSubscriptionId,
    // `result`
    ResultType,
    ResultTask,
    ResultTaskId,
    NextCursor,
    ResultMeta,
    ResultRelatedTask,
    ResultRelatedTaskId,
    ResultSubscriptionId,
    // `error`
    ErrorCode,
}

/// How many parts there are.
pub const PARTS: usize = Part::ErrorCode as usize + 1;

/// Where a value stands in a message's bytes; empty if it is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        // Frames are limited to far less than 4 GiB (`framing::LARGEST_LIMIT`), so the casts lose nothing.
        Self { start: start as u32, end: end as u32 }
    }

    pub fn is_absent(self) -> bool {
        self.end == 0
    }

    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// One key of the tree: the part its value is, and the keys below it.
#[derive(Debug)]
pub struct Branch {
    pub key: &'static str,
    pub part: Part,
    pub below: &'static [Branch],
}

const fn leaf(key: &'static str, part: Part) -> Branch {
    Branch { key, part, below: &[] }
}

const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

static PARAMS_META: &[Branch] = &[
    leaf("progressToken", Part::MetaProgressToken),
    Branch { key: RELATED_TASK, part: Part::MetaRelatedTask, below: &[leaf("taskId", Part::MetaRelatedTaskId)] },
    leaf(SUBSCRIPTION_ID, Part::MetaSubscriptionId),
];

static PARAMS: &[Branch] = &[
    leaf("name", Part::Name),
    Branch { key: "_meta", part: Part::Meta, below: PARAMS_META },
    leaf("uri", Part::Uri),
    leaf("requestId", Part::RequestId),
    leaf("progressToken", Part::ProgressToken),
    leaf("cursor", Part::Cursor),
    leaf("level", Part::Level),
    leaf("taskId", Part::TaskId),
    leaf("task", Part::Task),
    leaf("elicitationId", Part::ElicitationId),
    Branch { key: "ref", part: Part::Ref, below: &[leaf("name", Part::RefName), leaf("uri", Part::RefUri)] },
];

static RESULT_META: &[Branch] = &[
    Branch { key: RELATED_TASK, part: Part::ResultRelatedTask, below: &[leaf("taskId", Part::ResultRelatedTaskId)] },
    leaf(SUBSCRIPTION_ID, Part::ResultSubscriptionId),
];

static RESULT: &[Branch] = &[
    leaf("resultType", Part::ResultType),
    Branch { key: "task", part: Part::ResultTask, below: &[leaf("taskId", Part::ResultTaskId)] },
    leaf("nextCursor", Part::NextCursor),
    Branch { key: "_meta", part: Part::ResultMeta, below: RESULT_META },
];

/// The keys of the envelope itself.
pub static ENVELOPE: &[Branch] = &[
    leaf("jsonrpc", Part::Jsonrpc),
    leaf("id", Part::Id),
    leaf("method", Part::Method),
    Branch { key: "params", part: Part::Params, below: PARAMS },
    Branch { key: "result", part: Part::Result, below: RESULT },
    Branch { key: "error", part: Part::Error, below: &[leaf("code", Part::ErrorCode)] },
];

//! The touch table: every part of a message that we may have to read or replace, and nothing else.
//!
//! The scanner walks this tree beside the message. What is not in it is stepped over undecoded and travels as
//! it came. The tree is the union over all methods and both directions, since keys may come in any order:
//! `params` may stand before `method`, and node servers put `id` last. To touch a new part, add a line here.

/// A part of a message. The order is that of the spans in [`crate::message::Message`].
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
    /// `notifications/message`: who says it.
    Logger,
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
        // Frames are limited to far less than 4 GiB (`framing::MAX_MESSAGE_LIMIT_BYTES`), so the casts lose nothing.
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
    /// Its first bytes: comparing them in one step tells nearly all keys apart.
    head: u32,
    pub part: Part,
    pub below: &'static [Branch],
}

const fn leaf(key: &'static str, part: Part) -> Branch {
    node(key, part, &[])
}

const fn node(key: &'static str, part: Part, below: &'static [Branch]) -> Branch {
    Branch { key, head: head(key.as_bytes()), part, below }
}

/// Length and first two bytes of a key, in one number.
#[inline]
const fn head(key: &[u8]) -> u32 {
    if key.len() < 2 {
        return 0;
    }
    (key.len() as u32) << 16 | (key[0] as u32) << 8 | key[1] as u32
}

impl Branch {
    #[inline]
    pub(crate) fn is(&self, key: &[u8]) -> bool {
        self.head == head(key) && self.key.as_bytes() == key
    }
}

const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

static PARAMS_META: &[Branch] = &[
    leaf("progressToken", Part::MetaProgressToken),
    node(RELATED_TASK, Part::MetaRelatedTask, &[leaf("taskId", Part::MetaRelatedTaskId)]),
    leaf(SUBSCRIPTION_ID, Part::MetaSubscriptionId),
];

static PARAMS: &[Branch] = &[
    leaf("name", Part::Name),
    node("_meta", Part::Meta, PARAMS_META),
    leaf("uri", Part::Uri),
    leaf("requestId", Part::RequestId),
    leaf("progressToken", Part::ProgressToken),
    leaf("cursor", Part::Cursor),
    leaf("level", Part::Level),
    leaf("logger", Part::Logger),
    leaf("taskId", Part::TaskId),
    leaf("task", Part::Task),
    leaf("elicitationId", Part::ElicitationId),
    node("ref", Part::Ref, &[leaf("name", Part::RefName), leaf("uri", Part::RefUri)]),
];

static RESULT_META: &[Branch] = &[
    node(RELATED_TASK, Part::ResultRelatedTask, &[leaf("taskId", Part::ResultRelatedTaskId)]),
    leaf(SUBSCRIPTION_ID, Part::ResultSubscriptionId),
];

static RESULT: &[Branch] = &[
    leaf("resultType", Part::ResultType),
    node("task", Part::ResultTask, &[leaf("taskId", Part::ResultTaskId)]),
    leaf("nextCursor", Part::NextCursor),
    node("_meta", Part::ResultMeta, RESULT_META),
];

/// The keys of the envelope itself.
pub static ENVELOPE: &[Branch] = &[
    leaf("jsonrpc", Part::Jsonrpc),
    leaf("id", Part::Id),
    leaf("method", Part::Method),
    node("params", Part::Params, PARAMS),
    node("result", Part::Result, RESULT),
    node("error", Part::Error, &[leaf("code", Part::ErrorCode)]),
];

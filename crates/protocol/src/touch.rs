//! The touch table: every part of a message that we may read or replace.
//!
//! The scanner walks this tree along with the message. Everything outside the table is skipped without
//! decoding and forwarded unchanged. The tree is the union over all methods and both directions, since keys
//! may come in any order: `params` may precede `method`, and Node servers put `id` last. To touch a new part,
//! add a line here.

/// A part of a message, in the order of the spans in [`crate::message::Message`].
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
    /// `tools/call`, `prompts/get`: the tool or prompt.
    Name,
    /// `resources/read`, `subscribe`, `unsubscribe`, `notifications/resources/updated`.
    Uri,
    /// `notifications/cancelled`: the request.
    RequestId,
    /// `tasks/*`, `notifications/tasks/status`.
    TaskId,
    /// Lists: the page.
    Cursor,
    /// `logging/setLevel`, `notifications/message`.
    Level,
    /// `notifications/message`: the source of the log message.
    Logger,
    /// `notifications/progress`: the request.
    ProgressToken,
    /// URL elicitation and its completion.
    ElicitationId,
    /// Marks a request that wants to run as a task.
    Task,
    /// `completion/complete`: the prompt or resource.
    Ref,
    RefName,
    RefUri,
    /// Modern requests that continue a call: what the server wants back.
    RequestState,
    /// Modern requests that continue a call: the client's answers.
    InputResponses,
    /// Addressed to a proxy, not to a server.
    Proxy,
    /// The client's token, for us.
    ProxyAuthToken,
    // `params._meta`
    Meta,
    MetaProgressToken,
    MetaRelatedTask,
    MetaRelatedTaskId,
    MetaSubscriptionId,
    /// Modern requests: the protocol version.
    MetaVersion,
    /// Modern requests: the capabilities of the client.
    MetaCapabilities,
    /// Modern requests: the client's own name.
    MetaInfo,
    /// Modern requests: the lowest level of log messages about it.
    MetaLogLevel,
    /// The client's token, for us.
    MetaAuthToken,
    // `result`
    ResultType,
    /// Modern results: how long, and by whom, they may be cached.
    ResultTtl,
    ResultCacheScope,
    /// `tools/call`: the tool has failed.
    ResultIsError,
    ResultTask,
    ResultTaskId,
    /// Modern tasks: the result is the task.
    ResultOwnTaskId,
    NextCursor,
    ResultMeta,
    ResultRelatedTask,
    ResultRelatedTaskId,
    ResultSubscriptionId,
    // `error`
    ErrorCode,
}

/// Number of parts.
pub const PARTS: usize = Part::ErrorCode as usize + 1;

/// Position of a value in a message's bytes; empty if the value is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        // Frames are limited to far less than 4 GiB (`framing::MAX_MESSAGE_LIMIT_BYTES`), so the casts cannot truncate.
        Self { start: start as u32, end: end as u32 }
    }

    pub fn is_absent(self) -> bool {
        // No value ends at offset 0: the envelope's opening brace comes first.
        self.end == 0
    }

    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// One key of the tree: the part that is its value, and the keys below.
#[derive(Debug)]
pub struct Branch {
    pub key: &'static str,
    /// Length and first bytes of the key: one comparison rules out nearly all other keys.
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

/// Length and first two bytes of a key, packed into one number.
#[inline]
const fn head(key: &[u8]) -> u32 {
    // No key of the table is that short, so 0 matches none.
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

/// `_meta` key of the task that a message belongs to (2025-11-25).
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const AUTH_TOKEN: &str = "switchboard/authToken";

static PARAMS_META: &[Branch] = &[
    leaf("progressToken", Part::MetaProgressToken),
    node(RELATED_TASK, Part::MetaRelatedTask, &[leaf("taskId", Part::MetaRelatedTaskId)]),
    leaf(SUBSCRIPTION_ID, Part::MetaSubscriptionId),
    leaf(VERSION, Part::MetaVersion),
    leaf(CAPABILITIES, Part::MetaCapabilities),
    leaf(INFO, Part::MetaInfo),
    leaf(LOG_LEVEL, Part::MetaLogLevel),
    leaf(AUTH_TOKEN, Part::MetaAuthToken),
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
    leaf("requestState", Part::RequestState),
    leaf("inputResponses", Part::InputResponses),
    node("ref", Part::Ref, &[leaf("name", Part::RefName), leaf("uri", Part::RefUri)]),
    node("proxy", Part::Proxy, &[leaf("authToken", Part::ProxyAuthToken)]),
];

static RESULT_META: &[Branch] = &[
    node(RELATED_TASK, Part::ResultRelatedTask, &[leaf("taskId", Part::ResultRelatedTaskId)]),
    leaf(SUBSCRIPTION_ID, Part::ResultSubscriptionId),
];

static RESULT: &[Branch] = &[
    leaf("resultType", Part::ResultType),
    leaf("ttlMs", Part::ResultTtl),
    leaf("cacheScope", Part::ResultCacheScope),
    leaf("isError", Part::ResultIsError),
    node("task", Part::ResultTask, &[leaf("taskId", Part::ResultTaskId)]),
    leaf("taskId", Part::ResultOwnTaskId),
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

//! The methods with special treatment. Any other method, known to MCP or not, is [`Method::Other`] and passes
//! unchanged: this is not a list of what exists.

use std::borrow::Cow;

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Method {
            $($(#[$doc])* $variant,)*
            /// Any other method: forwarded, not interpreted.
            Other,
        }

        impl Method {
            pub fn from_name(name: &str) -> Self {
                Self::from_bytes(name.as_bytes())
            }

            fn from_bytes(name: &[u8]) -> Self {
                #![expect(non_upper_case_globals, reason = "patterns must be constants; they are named after the variants")]
                $(const $variant: &[u8] = $name.as_bytes();)*
                match name {
                    $($variant => Self::$variant,)*
                    _ => Self::Other,
                }
            }

            /// The name, except for [`Method::Other`].
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$variant => Some($name),)*
                    Self::Other => None,
                }
            }
        }
    };
}

methods! {
    Initialize = "initialize",
    Initialized = "notifications/initialized",
    /// First request of the modern era; Claude sends it before `initialize`.
    Discover = "server/discover",
    Ping = "ping",
    /// Not part of MCP: an attachment's liveness check of its daemon.
    Alive = "switchboard/alive",
    /// Not part of MCP: our own commands ask which servers stand behind an aggregate, and why some failed.
    Servers = "switchboard/servers",
    /// Not part of MCP: sent by bridges from the language-server world.
    Shutdown = "shutdown",
    Exit = "exit",
    Cancelled = "notifications/cancelled",
    Progress = "notifications/progress",
    ToolsList = "tools/list",
    ToolsCall = "tools/call",
    PromptsList = "prompts/list",
    PromptsGet = "prompts/get",
    ResourcesList = "resources/list",
    ResourceTemplatesList = "resources/templates/list",
    ResourcesRead = "resources/read",
    Subscribe = "resources/subscribe",
    Unsubscribe = "resources/unsubscribe",
    Complete = "completion/complete",
    SetLevel = "logging/setLevel",
    /// Blocks until the task is done, without a time limit.
    TaskResult = "tasks/result",
    TasksGet = "tasks/get",
    TasksList = "tasks/list",
    TasksCancel = "tasks/cancel",
    /// Modern: input for a task that waits for it.
    TasksUpdate = "tasks/update",
    /// Modern: notifications until it is cancelled, without a time limit.
    Listen = "subscriptions/listen",
    RootsList = "roots/list",
    RootsChanged = "notifications/roots/list_changed",
    CreateMessage = "sampling/createMessage",
    Elicit = "elicitation/create",
    LogMessage = "notifications/message",
    ResourceUpdated = "notifications/resources/updated",
    ResourcesChanged = "notifications/resources/list_changed",
    ToolsChanged = "notifications/tools/list_changed",
    PromptsChanged = "notifications/prompts/list_changed",
    ElicitationComplete = "notifications/elicitation/complete",
    TaskStatus = "notifications/tasks/status",
    /// Modern: the state of a task.
    TaskNotice = "notifications/tasks",
    /// Modern: first message of a subscription.
    Acknowledged = "notifications/subscriptions/acknowledged",
}

impl Method {
    /// Parses the JSON string with its quotes. Some libraries write `tools\/call`, which is the same name.
    pub(crate) fn from_json(quoted: &[u8]) -> Self {
        // Escapes in a method are rare, so the raw bytes are compared first.
        let plain = Self::from_bytes(quoted.get(1..quoted.len() - 1).unwrap_or_default());
        if plain != Self::Other || memchr::memchr(b'\\', quoted).is_none() {
            return plain;
        }
        text(quoted).map_or(Self::Other, |name| Self::from_name(&name))
    }

    /// Lists and other short requests that a healthy server answers at once.
    pub fn is_short(self) -> bool {
        matches!(
            self,
            Self::Initialize
                | Self::Discover
                | Self::Ping
                | Self::ToolsList
                | Self::PromptsList
                | Self::ResourcesList
                | Self::ResourceTemplatesList
                | Self::SetLevel
        )
    }

    /// Notification that one of a server's lists has changed.
    pub fn is_list_change(self) -> bool {
        matches!(self, Self::ToolsChanged | Self::PromptsChanged | Self::ResourcesChanged)
    }

    /// Idempotent: may be sent again after a crash.
    pub fn is_repeatable(self) -> bool {
        matches!(
            self,
            Self::Ping
                | Self::Discover
                | Self::ToolsList
                | Self::PromptsList
                | Self::PromptsGet
                | Self::ResourcesList
                | Self::ResourceTemplatesList
                | Self::ResourcesRead
                | Self::Complete
                | Self::SetLevel
        )
    }

    /// Methods that a server may send to a client. Only used on text found inside other program output: a log
    /// line about a *received* `tools/call` must not pass for a message from the server.
    pub fn comes_from_servers(self) -> bool {
        matches!(
            self,
            Self::Ping
                | Self::RootsList
                | Self::CreateMessage
                | Self::Elicit
                | Self::Progress
                | Self::Cancelled
                | Self::LogMessage
                | Self::ResourceUpdated
                | Self::ResourcesChanged
                | Self::ToolsChanged
                | Self::PromptsChanged
                | Self::ElicitationComplete
                | Self::TaskStatus
                | Self::TaskNotice
                | Self::Acknowledged
        )
    }
}

/// The text of a quoted JSON string; allocates only for escapes.
pub(crate) fn text(quoted: &[u8]) -> Option<Cow<'_, str>> {
    let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inner).is_some() {
        return crate::json::decode_string(quoted).map(Cow::Owned);
    }
    std::str::from_utf8(inner).ok().map(Cow::Borrowed)
}

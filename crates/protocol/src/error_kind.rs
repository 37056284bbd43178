//! Kinds of our own errors: the names that programs read, and their JSON-RPC codes. Must not know when an error
//! is sent.

/// Error kind for programs to read (`data.kind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    BackendSpawnFailed,
    BackendUnavailable,
    BackendTimeout,
    RoutingFailed,
    Overloaded,
    ShuttingDown,
    ClientTooSlow,
    ClientTimeout,
    MessageTooLarge,
    BadAnswer,
    MethodNotFound,
    BadMessage,
    /// A tool, prompt or task that does not exist.
    UnknownName,
    UnknownResource,
    /// A cursor into a list that no longer exists.
    StaleCursor,
    /// The client has not sent `initialize`.
    NotInitialized,
    /// HTTP only: unknown session.
    SessionNotFound,
    /// The client's token is missing or wrong, or a remote server requires authentication.
    Unauthorized,
    /// The client lacks the right, or a remote server refuses the authenticated user.
    Forbidden,
    /// The client, or we at a remote server, sent too many requests.
    RateLimited,
    /// The config file is invalid or has no usable server.
    ConfigError,
}

impl ErrorKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::BackendSpawnFailed => "backend_spawn_failed",
            Self::BackendUnavailable => "backend_unavailable",
            Self::BackendTimeout => "backend_timeout",
            Self::RoutingFailed => "routing_failed",
            Self::Overloaded => "overloaded",
            Self::ShuttingDown => "shutting_down",
            Self::ClientTooSlow => "client_too_slow",
            Self::ClientTimeout => "client_timeout",
            Self::MessageTooLarge => "message_too_large",
            Self::BadAnswer => "bad_answer",
            Self::MethodNotFound => "method_not_found",
            Self::BadMessage => "bad_message",
            Self::UnknownName => "unknown_name",
            Self::UnknownResource => "resource_not_found",
            Self::StaleCursor => "stale_cursor",
            Self::NotInitialized => "not_initialized",
            Self::SessionNotFound => "session_not_found",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::RateLimited => "rate_limited",
            Self::ConfigError => "config_error",
        }
    }

    /// JSON-RPC code for clients of the legacy era.
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::BackendSpawnFailed => -32001,
            // Same code as the official servers: it tells a client to start a new session.
            Self::SessionNotFound => -32001,
            Self::BackendUnavailable => -32002,
            Self::BackendTimeout => -32003,
            Self::RoutingFailed => -32004,
            Self::MethodNotFound => -32601,
            Self::BadMessage | Self::NotInitialized => -32600,
            Self::UnknownName | Self::StaleCursor => -32602,
            // Code given by the MCP specification.
            Self::UnknownResource => -32002,
            // No code of their own: programs read `data.kind`, and old clients know only "internal error".
            Self::Overloaded
            | Self::ShuttingDown
            | Self::ClientTooSlow
            | Self::ClientTimeout
            | Self::MessageTooLarge
            | Self::BadAnswer
            | Self::Unauthorized
            | Self::Forbidden
            | Self::RateLimited
            | Self::ConfigError => -32603,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All kinds. The match fails to compile when a new kind is missing here.
    fn all() -> [ErrorKind; 21] {
        use ErrorKind::*;
        match BadMessage {
            BackendSpawnFailed | BackendUnavailable | BackendTimeout | RoutingFailed | Overloaded
            | ShuttingDown | ClientTooSlow | ClientTimeout | MessageTooLarge | BadAnswer | MethodNotFound
            | BadMessage | UnknownName | UnknownResource | StaleCursor | NotInitialized | SessionNotFound
            | Unauthorized | Forbidden | RateLimited | ConfigError => {}
        }
        [
            BackendSpawnFailed,
            BackendUnavailable,
            BackendTimeout,
            RoutingFailed,
            Overloaded,
            ShuttingDown,
            ClientTooSlow,
            ClientTimeout,
            MessageTooLarge,
            BadAnswer,
            MethodNotFound,
            BadMessage,
            UnknownName,
            UnknownResource,
            StaleCursor,
            NotInitialized,
            SessionNotFound,
            Unauthorized,
            Forbidden,
            RateLimited,
            ConfigError,
        ]
    }

    #[test]
    fn documentation_has_every_error_kind() {
        let docs = include_str!("../../../docs/errors.md");
        let (_, table) = docs.split_once("\n## The kinds\n").expect("a heading for the kinds");
        let mut rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
        for kind in all() {
            // Documents use the typographic minus sign.
            let cells = format!("| `{}` | \u{2212}{} |", kind.name(), kind.code().unsigned_abs());
            let found = rows.iter().position(|row| row.starts_with(&cells));
            rows.remove(found.unwrap_or_else(|| panic!("docs/errors.md: {cells} is missing")));
        }
        let parse_error = rows.iter().position(|row| row.starts_with("| `bad_message` | \u{2212}32700 |"));
        rows.remove(parse_error.expect("what is not JSON has a code of its own"));
        assert_eq!(rows, Vec::<&str>::new(), "docs/errors.md names a kind that does not exist");
    }
}

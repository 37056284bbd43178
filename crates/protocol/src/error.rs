//! Our own error answers: machine-readable kind, code, message, and a hint for the reader. Must not know when
//! an error is sent.

use crate::dialect::Dialect;
use crate::envelope::Fault;
use crate::id::RawId;
use bytes::Bytes;
use serde_json::{Map, Value, json};

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
    /// A remote server requires authentication.
    Unauthorized,
    /// The rights of the client exclude what it asked for, or a remote server refuses the authenticated user.
    Forbidden,
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
    fn code(self) -> i32 {
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

/// Builder for an error answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorAnswer {
    pub kind: ErrorKind,
    code: i32,
    message: String,
    data: Map<String, Value>,
}

impl ErrorAnswer {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let data = Map::from_iter([("kind".to_owned(), json!(kind.name()))]);
        Self { kind, code: kind.code(), message: message.into(), data }
    }

    /// Error for bytes that are not a message.
    pub fn of_fault(fault: Fault) -> Self {
        let mut answer = Self::new(ErrorKind::BadMessage, fault.explain()).retryable(false);
        // JSON-RPC has two codes for bad input, while the kind is one.
        answer.code = fault.code();
        answer.hint("fix the sender: it must send one JSON-RPC message per frame")
    }

    pub fn server(self, name: &str) -> Self {
        self.with("server", json!(name))
    }

    /// The server that it concerns, if set.
    pub fn server_name(&self) -> Option<&str> {
        self.data.get("server").and_then(Value::as_str)
    }

    /// The same error without this part of its data.
    pub fn without(mut self, key: &str) -> Self {
        self.data.remove(key);
        self
    }

    /// Whether a retry of the same request may succeed.
    pub fn retryable(self, retryable: bool) -> Self {
        self.with("retryable", json!(retryable))
    }

    /// Next step for the reader.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.with("hint", json!(hint.into()))
    }

    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.data.insert(key.to_owned(), value);
        self
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// The hint, if set.
    pub fn hint_text(&self) -> Option<&str> {
        self.data.get("hint").and_then(Value::as_str)
    }

    pub fn code(&self) -> i32 {
        self.code
    }

    /// The whole response as bytes.
    pub fn to_bytes(&self, id: &RawId, dialect: Dialect) -> Bytes {
        let error = json!({ "code": self.code, "message": self.message, "data": self.data });
        let mut out = Vec::with_capacity(256);
        // Written by hand around the id, whose spelling a JSON value would not preserve.
        out.extend_from_slice(match dialect {
            Dialect::Standard => br#"{"jsonrpc":"2.0","id":"#,
            Dialect::Bare => br#"{"id":"#,
        });
        out.extend_from_slice(id.as_bytes());
        out.extend_from_slice(br#","error":"#);
        out.extend_from_slice(error.to_string().as_bytes());
        out.push(b'}');
        out.into()
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

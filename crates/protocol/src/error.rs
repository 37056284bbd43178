//! Our own error answers: machine-readable kind, code, message, and a hint for the reader. Must not know when
//! an error is sent.

use crate::dialect::Dialect;
use crate::envelope::Fault;
use crate::id::RawId;
use bytes::Bytes;
use serde_json::{Map, Value, json};

/// Defines [`ErrorKind`] from one table: kind, `data.kind`, and the JSON-RPC code for clients of the legacy era.
macro_rules! error_kinds {
    ($($(#[$doc:meta])* $kind:ident, $name:literal, $code:literal;)*) => {
        /// Error kind for programs to read (`data.kind`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorKind {
            $($(#[$doc])* $kind,)*
        }

        impl ErrorKind {
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            fn code(self) -> i32 {
                match self {
                    $(Self::$kind => $code,)*
                }
            }
        }
    };
}

// Kinds without a code of their own have -32603: old clients know only "internal error".
error_kinds! {
    BackendSpawnFailed, "backend_spawn_failed", -32001;
    BackendUnavailable, "backend_unavailable", -32002;
    BackendTimeout, "backend_timeout", -32003;
    RoutingFailed, "routing_failed", -32004;
    Overloaded, "overloaded", -32603;
    ShuttingDown, "shutting_down", -32603;
    ClientTooSlow, "client_too_slow", -32603;
    ClientTimeout, "client_timeout", -32603;
    MessageTooLarge, "message_too_large", -32603;
    BadAnswer, "bad_answer", -32603;
    MethodNotFound, "method_not_found", -32601;
    BadMessage, "bad_message", -32600;
    /// A tool, prompt or task that does not exist.
    UnknownName, "unknown_name", -32602;
    /// The code is given by the MCP specification.
    UnknownResource, "resource_not_found", -32002;
    /// A cursor into a list that no longer exists.
    StaleCursor, "stale_cursor", -32602;
    /// The client has not sent `initialize`.
    NotInitialized, "not_initialized", -32600;
    /// HTTP only: unknown session. Same code as the official servers: it tells a client to start a new session.
    SessionNotFound, "session_not_found", -32001;
    /// A remote server requires authentication.
    Unauthorized, "unauthorized", -32603;
    /// A remote server refuses the authenticated user.
    Forbidden, "forbidden", -32603;
    RateLimited, "rate_limited", -32603;
    /// The config file is invalid or has no usable server.
    ConfigError, "config_error", -32603;
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

    #[test]
    fn documentation_has_every_error_kind() {
        let docs = include_str!("../../../docs/errors.md");
        let (_, table) = docs.split_once("\n## The kinds\n").expect("a heading for the kinds");
        let mut rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
        for kind in ErrorKind::ALL {
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

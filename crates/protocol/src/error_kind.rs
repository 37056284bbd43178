//! Kinds of our own errors: the names that programs read, and their JSON-RPC codes. Must not know when an error
//! is sent.

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

            pub(crate) fn code(self) -> i32 {
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
    /// The client's token is missing or wrong, or a remote server requires authentication.
    Unauthorized, "unauthorized", -32603;
    /// The client lacks the right, or a remote server refuses the authenticated user.
    Forbidden, "forbidden", -32603;
    /// The client, or we at a remote server, sent too many requests.
    RateLimited, "rate_limited", -32603;
    /// The protocol version of a modern request is not supported. The code is given by the MCP specification.
    UnsupportedVersion, "unsupported_version", -32022;
    /// A modern request lacks a member of `_meta` that it must have.
    MissingMeta, "missing_meta", -32602;
    /// A modern request needs a capability that its client has not declared. The code is given by the MCP specification.
    MissingCapability, "missing_capability", -32021;
    /// A modern request continues a call that is no longer open.
    InputExpired, "input_expired", -32602;
    /// A modern request continues a call, but the user has not accepted what its server wants first.
    InputDeclined, "input_declined", -32603;
    /// HTTP only: a header of a modern request differs from its body. The code is given by the MCP specification.
    HeaderMismatch, "header_mismatch", -32020;
    /// The config file is invalid or has no usable server.
    ConfigError, "config_error", -32603;
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

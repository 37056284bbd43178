//! Wording of errors about the eras of MCP: requests that declare too little, or another version than the server's.

use crate::core::Core;
use serde_json::json;
use switchboard_protocol::modern::{MAX_DECLARED_BYTES, MODERN_VERSIONS, Undeclared};
use switchboard_protocol::{ErrorAnswer, ErrorKind, HANDSHAKE_VERSIONS, Message, Method, Part};

impl Core {
    /// A modern request whose `_meta` lacks something, or names a version that we do not know.
    pub(crate) fn undeclared(&self, why: &Undeclared) -> ErrorAnswer {
        match why {
            Undeclared::Missing(key) => {
                let text = format!("`params._meta` lacks `{key}`, or it has the wrong type");
                ErrorAnswer::new(ErrorKind::MissingMeta, text)
                    .retryable(false)
                    .hint("a request of MCP 2026-07-28 declares its version and the client's capabilities")
            }
            Undeclared::TooLong(key) => {
                let text = format!("`{key}` in `params._meta` has more than {MAX_DECLARED_BYTES} bytes");
                ErrorAnswer::new(ErrorKind::MissingMeta, text).retryable(false).hint("declare less")
            }
            Undeclared::Version(version) => unsupported(version, &MODERN_VERSIONS),
        }
    }

    /// A modern request to a server that speaks only the legacy era. `server/discover` gets the answer of a
    /// legacy server, so that clients that speak both eras fall back.
    pub(crate) fn not_modern(&self, request: &Message) -> ErrorAnswer {
        match request.method() {
            Method::Discover => self.not_offered("server/discover"),
            _ => unsupported(&request.text(Part::MetaVersion).unwrap_or_default(), &HANDSHAKE_VERSIONS),
        }
    }

    /// A subscription whose filter cannot be read.
    pub(crate) fn unreadable_wishes(&self) -> ErrorAnswer {
        ErrorAnswer::new(
            ErrorKind::MissingMeta,
            "`params.notifications` is missing, or has members of the wrong type",
        )
        .retryable(false)
        .hint("name the notifications, for example {\"toolsListChanged\": true}")
    }

    /// A request of a modern server, which has no requests of its own.
    pub(crate) fn no_server_requests(&self, method: &str) -> ErrorAnswer {
        ErrorAnswer::new(
            ErrorKind::MethodNotFound,
            format!("MCP 2026-07-28 has no request `{method}` of servers"),
        )
        .retryable(false)
        .hint("answer with `input_required` instead")
    }
}

fn unsupported(requested: &str, supported: &[&str]) -> ErrorAnswer {
    ErrorAnswer::new(
        ErrorKind::UnsupportedVersion,
        format!("the protocol version `{requested}` is not supported here"),
    )
    .with("supported", json!(supported))
    .with("requested", json!(requested))
    .retryable(false)
    .hint("use one of the versions in `supported`; versions before 2026-07-28 begin with `initialize`")
}

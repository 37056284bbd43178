//! Refusals: an HTTP status, and in the body a JSON-RPC error under the id of each refused request. Pure.

use super::HttpReply;
use super::body::AnswerBody;
use super::reply::{challenge, with};
use hyper::StatusCode;
use hyper::header::{ALLOW, CONNECTION, HeaderValue, RETRY_AFTER};
use serde_json::json;
use smallvec::SmallVec;
use switchboard_protocol::hunt::Glimpse;
use switchboard_protocol::modern::{MAX_DECLARED_BYTES, MODERN_VERSIONS};
use switchboard_protocol::{
    Broken, Dialect, Era, ErrorAnswer, ErrorKind, HANDSHAKE_VERSIONS, Kind, Message, Parsed, RawId,
};

/// Seconds to wait before retrying after a 503.
const RETRY_SECONDS: u16 = 5;

/// Reason why a request is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HttpRefusal {
    status: StatusCode,
    error: ErrorAnswer,
    /// Allowed methods.
    allow: Option<&'static str>,
}

/// Ids of the requests in a body; each is answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) ids: SmallVec<[RawId; 1]>,
    pub(super) is_batch: bool,
}

impl HttpRefusal {
    fn new(status: StatusCode, kind: ErrorKind, message: impl Into<String>) -> Self {
        let error = ErrorAnswer::new(kind, message).retryable(false);
        Self { status, error, allow: None }
    }

    /// Refusal of a request that breaks the rules of the transport.
    pub(super) fn malformed(status: StatusCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(status, ErrorKind::BadMessage, message).hint(hint)
    }

    pub(super) fn method(allow: &'static str) -> Self {
        let refusal = Self::malformed(
            StatusCode::METHOD_NOT_ALLOWED,
            "this path does not support this method",
            format!("use {allow}"),
        );
        Self { allow: Some(allow), ..refusal }
    }

    pub(super) fn unauthorized(message: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, ErrorKind::Unauthorized, message)
            .hint("send `Authorization: Bearer TOKEN`; `switchboard token show` prints the owner's token")
    }

    pub(super) fn forbidden(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, ErrorKind::Forbidden, message).hint(hint)
    }

    /// Refusal of a server or profile that a caller may not use, or that does not exist.
    pub(super) fn not_available(what: &str, name: &str, who: &str) -> Self {
        let text = format!("the {what} `{name}` is not available to `{who}`");
        Self::forbidden(text, "whoever administers its token or profile can allow it")
    }

    pub(super) fn unknown_name(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, ErrorKind::UnknownName, message).hint(
            "MCP is at /mcp, /servers/NAME/mcp and /profiles/NAME/mcp, with a NAME from the config file",
        )
    }

    pub(super) fn no_session() -> Self {
        let text = "this session has ended, or never existed";
        Self::new(StatusCode::NOT_FOUND, ErrorKind::SessionNotFound, text)
            .hint("start a new session with `initialize`")
    }

    pub(super) fn not_initialized() -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorKind::NotInitialized, "`Mcp-Session-Id` is missing").hint(
            "start with `initialize`, and send the `Mcp-Session-Id` of its answer with every later request",
        )
    }

    /// A header of a modern request is missing, or differs from the body.
    pub(super) fn header_mismatch(message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorKind::HeaderMismatch, message)
            .hint("repeat the body's version, method and name in `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name`")
    }

    /// The declaration of a modern request lacks a member, or has a wrong one.
    pub(super) fn missing_meta(key: &str) -> Self {
        let text = format!("`params._meta[\"{key}\"]` is missing, or has the wrong type");
        Self::new(StatusCode::BAD_REQUEST, ErrorKind::MissingMeta, text)
            .hint("declare the protocol version (a string) and the client's capabilities (an object) in each request")
    }

    /// A declaration that is too long to be kept.
    pub(super) fn long_meta(key: &str) -> Self {
        let text = format!("`params._meta[\"{key}\"]` has more than {MAX_DECLARED_BYTES} bytes");
        Self::new(StatusCode::BAD_REQUEST, ErrorKind::MissingMeta, text).hint("declare less")
    }

    /// An `initialize` that declares a modern version.
    pub(super) fn no_handshake() -> Self {
        let text = "Method not found: this protocol version has no `initialize`";
        Self::new(StatusCode::NOT_FOUND, ErrorKind::MethodNotFound, text)
            .hint("send requests without a handshake, or `initialize` with an earlier version")
    }

    /// Names the versions that a request can declare, as `server/discover` does; others start with a handshake.
    pub(super) fn unsupported_version(requested: &str) -> Self {
        let supported = MODERN_VERSIONS;
        let text = format!("Unsupported protocol version: {requested}");
        let refusal = Self::new(StatusCode::BAD_REQUEST, ErrorKind::UnsupportedVersion, text)
            .hint("use a version of `supported`, or start with `initialize` and an earlier one");
        let error = refusal.error.with("supported", json!(supported)).with("requested", json!(requested));
        Self { error, ..refusal }
    }

    /// Modern requests are turned off. No modern error: it tells a client that speaks both to use a handshake.
    pub(super) fn legacy_only() -> Self {
        Self::malformed(
            StatusCode::BAD_REQUEST,
            "requests without a handshake are turned off",
            format!("start with `initialize`; supported versions: {}", HANDSHAKE_VERSIONS.join(", ")),
        )
    }

    /// The same for a modern client, for which MCP reserves some codes.
    pub(super) fn modern(self) -> Self {
        Self { error: self.error.in_era(Era::Modern), ..self }
    }

    pub(super) fn no_root(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorKind::RoutingFailed, message)
            .hint("name a folder of this machine, or one of `serve.rootMap`, in `Switchboard-Root`")
    }

    pub(super) fn shutting_down() -> Self {
        let text = "switchboard is shutting down";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, ErrorKind::ShuttingDown, text)
            .later()
            .hint("try again after `Retry-After`, with `initialize`")
    }

    pub(super) fn overloaded(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, ErrorKind::Overloaded, message).later().hint(hint)
    }

    pub(super) fn too_large(limit: usize) -> Self {
        let text = format!("the body is over the limit of {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorKind::MessageTooLarge, text)
            .hint("raise `maxMessageBytes` in the config, or send less")
    }

    /// The same for a client that has shown no token in its head.
    pub(super) fn too_large_unproven(limit: usize) -> Self {
        let text =
            format!("the body is over the limit of {limit} bytes for requests without a token in a header");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorKind::MessageTooLarge, text)
            .hint("send `Authorization: Bearer TOKEN`, or less")
    }

    pub(super) fn too_slow() -> Self {
        let text = "the body did not arrive in time";
        Self::new(StatusCode::REQUEST_TIMEOUT, ErrorKind::ClientTooSlow, text)
            .later()
            .hint("send the whole body within 60 s, or at least 1 KiB/s after that")
    }

    /// Refusal of a body that is not a message.
    pub(super) fn broken(broken: &Broken) -> Self {
        Self { status: StatusCode::BAD_REQUEST, error: ErrorAnswer::of_fault(broken.fault), allow: None }
    }

    pub(super) fn kind(&self) -> ErrorKind {
        self.error.kind
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { error: self.error.hint(hint), ..self }
    }

    fn later(self) -> Self {
        Self { error: self.error.retryable(true), ..self }
    }

    /// Answer to a request whose body was not read.
    pub(super) fn unread(&self) -> HttpReply {
        self.reply(&Asked::default())
    }

    /// Answer under the ids of these requests, or under `null` if there are none.
    pub(super) fn reply(&self, to: &Asked) -> HttpReply {
        let body = match &to.ids[..] {
            // JSON-RPC answers with `null` if the id cannot be known.
            [] => self.error.to_bytes(&RawId::null(), Dialect::Standard).to_vec(),
            [id] if !to.is_batch => self.error.to_bytes(id, Dialect::Standard).to_vec(),
            ids => {
                let errors = ids.iter().map(|id| self.error.to_bytes(id, Dialect::Standard));
                let errors: Vec<_> = errors.collect();
                [&b"["[..], &errors.join(&b","[..]), b"]"].concat()
            }
        };
        let mut reply = with(self.status, "application/json", AnswerBody::text(body));
        challenge(&mut reply);
        let headers = reply.headers_mut();
        if let Some(methods) = self.allow {
            headers.insert(ALLOW, HeaderValue::from_static(methods));
        }
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(RETRY_AFTER, RETRY_SECONDS.into());
            }
            // The rest of the body may still arrive, so the connection cannot be used again.
            StatusCode::REQUEST_TIMEOUT => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        reply
    }
}

impl Asked {
    pub(super) fn of(said: &Parsed) -> Self {
        match said {
            Parsed::One(message) => Self { ids: asked(message).into_iter().collect(), is_batch: false },
            Parsed::Batch(members) => {
                Self { ids: members.iter().filter_map(asked_by_member).collect(), is_batch: true }
            }
        }
    }

    pub(super) fn of_glimpses(seen: Vec<Glimpse>) -> Self {
        let is_batch = seen.len() > 1;
        let requests = seen.into_iter().filter(|glimpse| glimpse.method.is_some());
        Self { ids: requests.filter_map(|glimpse| glimpse.id).collect(), is_batch }
    }

    pub(super) fn of_broken(broken: &Broken) -> Self {
        Self { ids: broken.id.iter().cloned().collect(), is_batch: false }
    }
}

/// Id to answer.
fn asked(message: &Message) -> Option<RawId> {
    if message.kind() == Kind::Request { message.id() } else { None }
}

/// Id to answer in a batch: of a request, or of a broken member that may have been one.
fn asked_by_member(member: &Result<Message, Broken>) -> Option<RawId> {
    match member {
        Ok(message) => asked(message),
        // A broken answer expects none.
        Err(broken) if broken.is_answer => None,
        Err(broken) => Some(broken.id.clone().unwrap_or_else(RawId::null)),
    }
}

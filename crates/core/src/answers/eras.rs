//! Wording of errors about the eras of MCP: requests that declare too little, or another version than the server's.

use crate::core::Core;
use crate::ids::{BackendId, ServerId};
use crate::servers::Server;
use crate::translation::for_modern::Need;
use serde_json::{Value, json};
use switchboard_protocol::modern::{MAX_DECLARED_BYTES, MODERN_VERSIONS, TASKS_EXTENSION, Undeclared};
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

    /// A request that no server has seen, and that belongs to an earlier handshake of its client.
    pub(crate) fn superseded(&self) -> ErrorAnswer {
        ErrorAnswer::new(
            ErrorKind::BackendUnavailable,
            "its client has made another handshake since this request",
        )
        .retryable(true)
        .hint("send the request again, after `notifications/initialized`")
    }

    /// A request about a task that is not its client's. Servers tell modern clients without the extension for tasks about that
    /// first, whatever the task.
    pub(crate) fn no_such_task(&self, request: &Message) -> ErrorAnswer {
        let is_bound = request.has(Part::MetaVersion) && request.method() != Method::Listen;
        if !is_bound || declares_tasks(request) {
            return self.unknown_task(&request.text(Part::TaskId).unwrap_or_default());
        }
        let text = format!("`{}` needs the extension `{TASKS_EXTENSION}`", request.method_name());
        ErrorAnswer::new(ErrorKind::MissingCapability, text)
            .with("requiredCapabilities", json!({ "extensions": { TASKS_EXTENSION: {} } }))
            .retryable(false)
            .hint("declare the extension in the capabilities of the request")
    }

    /// A request that continues a call which is no longer paused.
    pub(crate) fn input_expired(&self) -> ErrorAnswer {
        ErrorAnswer::new(
            ErrorKind::InputExpired,
            "the call that `requestState` continues is no longer open; it may have run",
        )
        .retryable(false)
        .hint("check whether the call took effect, then make it again without `requestState`")
    }

    /// A request that repeats a call for which the user has not opened the URLs that its server wants to be opened first.
    pub(crate) fn input_declined(&self, server: ServerId) -> ErrorAnswer {
        let name = self.servers.get(server).map_or("?", Server::name);
        let text =
            format!("the server `{name}` wants a URL to be opened before this call, which was not accepted");
        ErrorAnswer::new(ErrorKind::InputDeclined, text)
            .server(name)
            .retryable(false)
            .hint("make the call again without `requestState` to be asked again")
    }

    /// A legacy server's request that its modern client has not declared a capability for.
    pub(crate) fn not_declared(&self, of: BackendId, method: &str, need: Option<&Need>) -> ErrorAnswer {
        let text = match need {
            Some(need) => format!("the client does not declare `{}`", need.capability()),
            None => format!("the client does not support `{method}`"),
        };
        ErrorAnswer::new(ErrorKind::MethodNotFound, text)
            .server(self.server_name(of))
            .retryable(false)
            .hint("continue without its answer")
    }

    /// A modern server's question that a legacy client has not declared a capability for.
    pub(crate) fn lacks(&self, of: BackendId, need: &Need) -> ErrorAnswer {
        let text = format!("the client does not declare `{}`", need.capability());
        ErrorAnswer::new(ErrorKind::MissingCapability, text)
            .server(self.server_name(of))
            .retryable(false)
            .hint("use a client with this capability, or call the tool in a way that needs no question")
    }

    /// A legacy server's request to a modern client that has no call open, in whose answer it could be asked.
    pub(crate) fn no_call(&self, of: BackendId) -> ErrorAnswer {
        let text = "a client of MCP 2026-07-28 can be asked only while one of its calls is open";
        ErrorAnswer::new(ErrorKind::RoutingFailed, text)
            .server(self.server_name(of))
            .retryable(false)
            .hint("ask while a call is open")
    }

    /// A legacy server's request that may belong to several calls.
    pub(crate) fn whose_call(&self, of: BackendId) -> ErrorAnswer {
        let text = "several calls are open, and the request does not say which one it is for";
        ErrorAnswer::new(ErrorKind::RoutingFailed, text)
            .server(self.server_name(of))
            .retryable(true)
            .hint("from now on the server gets one call at a time, in which this request works")
    }

    /// A legacy server's request that may be about a call that has ended, of another program.
    pub(crate) fn ended_call_may_be_meant(&self, of: BackendId) -> ErrorAnswer {
        let text = "the request may be about a call that has ended, and does not say which one it is for";
        ErrorAnswer::new(ErrorKind::RoutingFailed, text)
            .server(self.server_name(of))
            .retryable(true)
            .hint("the next call gets another process, in which this request works")
    }

    /// A legacy server's request, when too many calls of its client wait for input.
    pub(crate) fn too_many_paused(&self, of: BackendId, most: usize) -> ErrorAnswer {
        let text = format!("overloaded: {most} calls of this client wait for input already");
        ErrorAnswer::new(ErrorKind::Overloaded, text)
            .server(self.server_name(of))
            .retryable(true)
            .hint("ask again when the client has answered")
    }

    /// A legacy server's request, when the calls of its client that wait for input hold too many bytes.
    pub(crate) fn too_much_paused(&self, of: BackendId) -> ErrorAnswer {
        let text = "overloaded: calls of this client that wait for input hold too many bytes already";
        ErrorAnswer::new(ErrorKind::Overloaded, text)
            .server(self.server_name(of))
            .retryable(true)
            .hint("ask again when the client has answered, or ask for less")
    }

    /// A call that has ended while it waited for its client, with an answer that was too long to be stored.
    pub(crate) fn answer_not_kept(&self, of: BackendId) -> ErrorAnswer {
        let text = "the call has ended while it waited for input, and its answer was too large to be kept";
        ErrorAnswer::new(ErrorKind::ClientTooSlow, text)
            .server(self.server_name(of))
            .retryable(false)
            .hint("the server has run the call; continue calls sooner")
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

/// Whether the client of a modern request knows tasks.
fn declares_tasks(request: &Message) -> bool {
    let declared = request.part(Part::MetaCapabilities).unwrap_or_default();
    let declared: Value = serde_json::from_slice(declared).unwrap_or_default();
    declared["extensions"][TASKS_EXTENSION].is_object()
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

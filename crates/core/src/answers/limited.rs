//! Wording for calls beyond a limit, and for requests that a server may not send.

use crate::access::{CallRefusal, ExceededLimit, Identity, LimitScope};
use crate::core::Core;
use crate::ids::BackendId;
use serde_json::json;
use std::time::Duration;
use switchboard_protocol::{ErrorAnswer, ErrorKind};

impl Core {
    /// A call that was refused, and not sent.
    pub(crate) fn rate_limited(
        &self,
        identity: &Identity,
        server: &str,
        tool: Option<&str>,
        refusal: &CallRefusal,
    ) -> ErrorAnswer {
        let whose = match (refusal.scope, tool) {
            (LimitScope::Token, _) => format!("of `{}`", identity.name),
            (LimitScope::Tool, Some(tool)) => format!("of the tool `{tool}`"),
            (LimitScope::Server, _) | (LimitScope::Tool, None) => format!("to the server `{server}`"),
        };
        let text = match refusal.limit {
            ExceededLimit::Rate(rate) => format!("too many calls {whose}: the limit is {rate}"),
            ExceededLimit::Concurrent(most) => {
                format!("too many calls {whose} at a time: the limit is {most}")
            }
        };
        // Rounded up: a retry at the given time must not be too early.
        let millis = refusal.retry_after.as_nanos().div_ceil(1_000_000).max(1) as u64;
        ErrorAnswer::new(ErrorKind::RateLimited, text)
            .server(server)
            .retryable(true)
            .with("retryAfterMs", json!(millis))
            .with("limit", json!(refusal.scope.name()))
            .hint(self.limit_hint(identity, server, refusal))
    }

    /// The time of a retry, and the setting to change.
    pub(crate) fn limit_hint(&self, identity: &Identity, server: &str, refusal: &CallRefusal) -> String {
        let when = spelled(refusal.retry_after);
        let (key, own) = match refusal.limit {
            ExceededLimit::Rate(_) => ("rate", identity.limits.rate.is_some()),
            ExceededLimit::Concurrent(_) => ("concurrent", identity.limits.concurrent.is_some()),
        };
        let setting = match refusal.scope {
            LimitScope::Token if own => {
                format!("the {key} limit of `{}` is set with its token", identity.name)
            }
            LimitScope::Token => format!("`limits.{key}` in the config is the limit of each identity"),
            LimitScope::Server => {
                format!("`limits.{key}` of the server `{server}` is the limit of all clients")
            }
            LimitScope::Tool => {
                format!("`limits.tools` of the server `{server}` is the limit of all clients")
            }
        };
        let shared = match refusal.users {
            0 | 1 => String::new(),
            users => format!(", and {users} share it now"),
        };
        format!("try again in {when}; {setting}{shared}")
    }

    /// A server's request that the config denies. As if the client did not support it.
    pub(crate) fn ask_denied(&self, of: BackendId, key: &str, method: &str) -> ErrorAnswer {
        let server = self.server_name(of);
        ErrorAnswer::new(ErrorKind::MethodNotFound, format!("the client does not support `{method}`"))
            .server(server)
            .retryable(false)
            .hint(format!("`asks.{key}` of the server `{server}` is `deny` in the config"))
    }

    /// A server's answer that asks the client to open a URL, although elicitation is denied.
    pub(crate) fn url_denied(&self, of: BackendId) -> ErrorAnswer {
        let server = self.server_name(of);
        let text = format!("the server `{server}` asks to open a URL, which the config denies");
        ErrorAnswer::new(ErrorKind::Forbidden, text)
            .server(server)
            .retryable(false)
            .hint(format!("set `asks.elicitation` of the server `{server}` to `allow` to see the URL"))
    }
}

fn spelled(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 10.0 => format!("{:.1} s", (seconds * 10.0).ceil() / 10.0),
        seconds if seconds < 600.0 => format!("{} s", seconds.ceil()),
        seconds => format!("{} min", (seconds / 60.0).ceil()),
    }
}

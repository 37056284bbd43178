//! Refusals of access: by a client's rights, for lack of a token, or of a tool that is held. Rights must not tell
//! whether the refused thing exists.

use crate::access::Unproven;
use crate::catalogue::List;
use crate::clients::Client;
use crate::core::Core;
use crate::ids::BackendId;
use serde_json::json;
use switchboard_protocol::{ErrorAnswer, ErrorKind};

/// The subject of a request that a client may not use, as it spelled it.
#[derive(Debug)]
pub(crate) enum Asked<'a> {
    Server(&'a str),
    Method(&'a str),
    /// A tool or prompt, and visible ones with similar names.
    Item(List, &'a str, Vec<String>),
    Resource(&'a str),
}

impl Core {
    /// The same answer for everything that a client may not use, and for everything that does not exist.
    pub(crate) fn forbidden(&self, c: &Client, asked: Asked<'_>) -> ErrorAnswer {
        let (what, name, nearest) = match asked {
            Asked::Server(name) => ("server", name, None),
            Asked::Method(name) => ("method", name, None),
            Asked::Item(List::Prompts, name, nearest) => ("prompt", name, Some(nearest)),
            Asked::Item(_, name, nearest) => ("tool", name, Some(nearest)),
            Asked::Resource(uri) => ("resource", uri, None),
        };
        let who = self.who(c);
        let remedy = "whoever administers its token or profile can allow it";
        let hint = match nearest.as_ref().and_then(|nearest| nearest.first()) {
            Some(first) => format!("did you mean `{first}`? Otherwise, {remedy}"),
            None => remedy.to_owned(),
        };
        let text = format!("the {what} `{name}` is not available to {who}");
        let answer = ErrorAnswer::new(ErrorKind::Forbidden, text).retryable(false).hint(hint);
        match nearest {
            Some(nearest) => answer.with("nearest", json!(nearest)),
            None => answer,
        }
    }

    /// A tool that is hidden until its owner approves it.
    pub(crate) fn held_tool(&self, server: &str, name: &str) -> ErrorAnswer {
        let text = format!("the tool `{name}` is held back: its definition differs from the approved one");
        ErrorAnswer::new(ErrorKind::Forbidden, text)
            .server(server)
            .retryable(false)
            .hint(format!("`switchboard approve tools {server}` shows what has changed, and approves it"))
    }

    /// Tools that must not be called before they have been compared with the approved ones.
    pub(crate) fn unchecked_tools(&self, of: BackendId) -> ErrorAnswer {
        let server = self.name_of(Some(of));
        let text = format!("the server `{server}` did not list its tools, so they could not be checked");
        self.backend_unavailable(Some(of), text).retryable(true).hint(
            "it has `pinning: \"hold\"`, so no tool is called before its definition was checked; try again",
        )
    }

    /// Tools of a process whose settings have changed.
    pub(crate) fn outdated_tools(&self, of: BackendId) -> ErrorAnswer {
        let server = self.name_of(Some(of));
        let text =
            format!("the settings of the server `{server}` have changed, and its tools must be checked anew");
        self.backend_unavailable(Some(of), text).retryable(true).hint("request the list again")
    }

    pub(crate) fn unauthorized(&self, why: &Unproven) -> ErrorAnswer {
        const SHOW: &str = "set SWITCHBOARD_TOKEN for `switchboard stdio`, or send `params.proxy.authToken` with `initialize`";
        let (text, hint) = match why {
            Unproven::NoToken => ("missing token".to_owned(), SHOW),
            Unproven::WrongToken => (
                "wrong token: unknown, revoked or expired".to_owned(),
                "`switchboard token list` shows the tokens, `switchboard token create NAME` makes a new one",
            ),
            Unproven::OtherToken => (
                "this connection belongs to someone else: its first request decided that".to_owned(),
                "show the token with `initialize`, and use one connection for each token",
            ),
            Unproven::Revoked(name) => (
                format!("the token `{name}` was revoked, has expired, or has other rights now"),
                "connect again; `switchboard token list` shows the tokens",
            ),
        };
        ErrorAnswer::new(ErrorKind::Unauthorized, text).retryable(false).hint(hint)
    }

    /// A client's identity, and the profiles that narrow its rights.
    fn who(&self, c: &Client) -> String {
        let name = &c.identity().name;
        // Delegates share the profiles of their client.
        match self.clients.get(&c.connection()).and_then(Client::profiled) {
            Some(claim) => format!("`{name}` with the profile `{}`", claim.profiles.join("` and `")),
            None => format!("`{name}`"),
        }
    }
}

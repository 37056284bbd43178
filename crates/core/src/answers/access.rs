//! Refusals because of a client's rights. Must not tell whether the refused thing exists.

use crate::catalogue::List;
use crate::clients::Client;
use crate::core::Core;
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

//! Requests that a server may send to its clients. What is denied is not declared to the server, and not
//! delivered if it asks nevertheless.

use crate::messages::{is_key, members};
use switchboard_protocol::json;
use switchboard_protocol::modern::CLIENT_CAPABILITIES;
use switchboard_protocol::prune::{self, Path};
use switchboard_protocol::{Message, Method};

/// Requests that a server may send to its clients. The default allows all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asks {
    pub sampling: bool,
    pub elicitation: bool,
    pub roots: bool,
}

/// Members of `initialize` that tell a server of a capability, or of roots.
const SAMPLING: &[Path<'_>] = &[
    &["params", "capabilities", "sampling"],
    &["params", "capabilities", "tasks", "requests", "sampling"],
    &["params", "_meta", CLIENT_CAPABILITIES, "sampling"],
];
const ELICITATION: &[Path<'_>] = &[
    &["params", "capabilities", "elicitation"],
    &["params", "capabilities", "tasks", "requests", "elicitation"],
    &["params", "_meta", CLIENT_CAPABILITIES, "elicitation"],
];
// The others are not part of the protocol; some clients name their roots there, as editors do.
const ROOTS: &[Path<'_>] = &[
    &["params", "capabilities", "roots"],
    &["params", "_meta", CLIENT_CAPABILITIES, "roots"],
    &["params", "roots"],
    &["params", "workspaceFolders"],
    &["params", "rootUri"],
];

impl Default for Asks {
    fn default() -> Self {
        Self { sampling: true, elicitation: true, roots: true }
    }
}

impl Asks {
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// The key in the config that denies a server's request or notification.
    pub(crate) fn denial(&self, message: &Message) -> Option<&'static str> {
        // Pings and most notifications need no look at the name.
        if self.is_open() || message.method() == Method::Ping {
            return None;
        }
        self.denial_of(&message.method_name())
    }

    /// The key in the config that denies a method.
    pub(crate) fn denial_of(&self, method: &str) -> Option<&'static str> {
        // Another letter case must not lead around it.
        let name = method.to_ascii_lowercase();
        let name = name.strip_prefix("notifications/").unwrap_or(&name);
        let kinds = [("sampling", self.sampling), ("elicitation", self.elicitation), ("roots", self.roots)];
        let is_meant = |kind: &str| name.strip_prefix(kind).is_some_and(|rest| rest.starts_with('/'));
        kinds.into_iter().find(|(kind, is_allowed)| !is_allowed && is_meant(kind)).map(|(kind, _)| kind)
    }

    /// A denied request among the `inputRequests` of a modern result or task: its key in the config, and its method.
    pub(crate) fn denied_input(&self, object: &[u8]) -> Option<(&'static str, String)> {
        let requests = members(object).into_iter().filter(|(key, _)| is_key(key, "inputRequests"));
        let requests = requests.flat_map(|(_, requests)| members(requests));
        let parts = requests.flat_map(|(_, request)| members(request));
        let mut methods = parts.filter(|(key, _)| is_key(key, "method"));
        methods.find_map(|(_, method)| {
            let method = json::decode_string(method)?;
            Some((self.denial_of(&method)?, method))
        })
    }

    /// Whether any request remains that only the client itself can answer.
    pub(crate) fn allows_questions(&self) -> bool {
        self.sampling || self.elicitation
    }

    /// A client's `initialize`, or modern request, as the server gets it; `None` if nothing is to be removed.
    pub(crate) fn declared(&self, initialize: &Message) -> Option<Message> {
        if self.is_open() {
            return None;
        }
        let denied = [(self.sampling, SAMPLING), (self.elicitation, ELICITATION), (self.roots, ROOTS)];
        let denied = denied.into_iter().filter(|(is_allowed, _)| !is_allowed);
        let paths: Vec<Path<'_>> = denied.flat_map(|(_, paths)| paths.iter().copied()).collect();
        prune::without(initialize, &paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::own_message;

    fn denying(kinds: &str) -> Asks {
        let allows = |kind| !kinds.contains(kind);
        Asks { sampling: allows("sampling"), elicitation: allows("elicitation"), roots: allows("roots") }
    }

    #[test]
    fn denied_methods_are_recognised() {
        for (denied, method, expect) in [
            ("", "sampling/createMessage", None),
            ("sampling", "sampling/createMessage", Some("sampling")),
            ("sampling", "sampling\\/createMessage", Some("sampling")),
            ("sampling", "Sampling/CreateMessage", Some("sampling")),
            ("sampling", "sampling/other", Some("sampling")),
            ("sampling", "samplings/other", None),
            ("sampling", "elicitation/create", None),
            ("elicitation", "elicitation/create", Some("elicitation")),
            ("elicitation", "notifications/elicitation/complete", Some("elicitation")),
            ("roots", "roots/list", Some("roots")),
            ("sampling elicitation roots", "ping", None),
            ("sampling elicitation roots", "notifications/message", None),
            ("sampling elicitation roots", "acme/ask", None),
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
            let message = own_message(text.into()).expect("a message");
            assert_eq!(denying(denied).denial(&message), expect, "{denied} {method}");
        }
    }

    #[test]
    fn denied_capabilities_are_not_declared() {
        let all = r#"{"roots":{"listChanged":true},"sampling":{},"experimental":{"sampling":1.0},"elicitation":{},"tasks":{"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}}"#;
        for (denied, expect) in [
            (
                "sampling",
                r#"{"roots":{"listChanged":true},"experimental":{"sampling":1.0},"elicitation":{},"tasks":{"requests":{"elicitation":{"create":{}}}}}"#,
            ),
            (
                "elicitation roots",
                r#"{"sampling":{},"experimental":{"sampling":1.0},"tasks":{"requests":{"sampling":{"createMessage":{}}}}}"#,
            ),
            ("sampling elicitation roots", r#"{"experimental":{"sampling":1.0},"tasks":{"requests":{}}}"#),
        ] {
            let text = |capabilities: &str| {
                format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"capabilities":{capabilities}}}}}"#
                )
            };
            let initialize = own_message(text(all).into()).expect("a message");
            let declared = denying(denied).declared(&initialize).expect("something is removed");
            assert_eq!(String::from_utf8_lossy(declared.bytes()), text(expect), "{denied}");
            assert!(Asks::default().declared(&initialize).is_none());
        }
    }

    #[test]
    fn denied_input_is_found_in_any_disguise() {
        let asks = Asks { elicitation: false, ..Asks::default() };
        let denied = r#"{"method":"elicitation/create","params":{}}"#;
        for requests in [
            format!(r#"{{"a":{denied}}}"#),
            format!(r#"{{"a":7,"b":{denied}}}"#),
            format!(r#"{{"a":{{"method":7}},"b":{denied}}}"#),
            format!(r#"{{"a":{denied},"a":{{"method":"roots/list"}}}}"#),
            r#"{"a":{"method":"roots/list","method":"elicitation/create"}}"#.to_owned(),
            r#"{"a":{"Method":"Elicitation/Create"}}"#.to_owned(),
            r#"{"a":{"\u006dethod":"elicitation\/create"}}"#.to_owned(),
            r#"{"\ud83d":{"method":"elicitation/create"}}"#.to_owned(),
        ] {
            for result in [
                format!(r#"{{ "inputRequests" : {requests} , "n":1e0}}"#),
                format!(r#"{{"inputRequests":{{}},"inputRequests":{requests}}}"#),
                format!(r#"{{"inputRequests":{requests},"inputRequests":{{}}}}"#),
            ] {
                let found = asks.denied_input(result.as_bytes());
                assert_eq!(found.map(|(key, _)| key), Some("elicitation"), "{result}");
            }
        }
    }

    #[test]
    fn other_input_passes() {
        let asks = Asks { elicitation: false, ..Asks::default() };
        for result in [
            r#"{}"#,
            r#"[]"#,
            r#"{"inputRequests":{}}"#,
            r#"{"inputRequests":[{"method":"elicitation/create"}]}"#,
            r#"{"inputRequests":{"a":{"method":"sampling/createMessage"}}}"#,
            r#"{"other":{"a":{"method":"elicitation/create"}}}"#,
            r#"{"inputRequests":{"a":{"params":{"method":"elicitation/create"}}}}"#,
        ] {
            assert_eq!(asks.denied_input(result.as_bytes()), None, "{result}");
        }
    }
}

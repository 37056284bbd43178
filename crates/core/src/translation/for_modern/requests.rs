//! A modern request as a legacy server knows it: without the declaration and the input of an earlier round. Progress
//! tokens, trace context and foreign members of `_meta` stay.

use super::super::json;
use switchboard_protocol::{Message, Part, modern};

/// Members that mean nothing to a legacy server, or something else.
const MODERN_MEMBERS: [&[&str]; 7] = [
    &["params", "_meta", modern::VERSION],
    &["params", "_meta", modern::CLIENT_CAPABILITIES],
    &["params", "_meta", modern::CLIENT_INFO],
    &["params", "_meta", modern::LOG_LEVEL],
    &["params", "requestState"],
    &["params", "inputResponses"],
    // Legacy tasks: a modern client does not expect one.
    &["params", "task"],
];

/// The request for a legacy server.
pub(crate) fn as_legacy(request: Message) -> Message {
    json::without(request, &MODERN_MEMBERS, (Part::Meta, &["params", "_meta"]))
}

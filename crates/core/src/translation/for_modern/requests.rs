//! Modern requests for a legacy server: without the declaration, and without the input of an earlier round. Progress
//! tokens, trace context and other members of `_meta` stay.

use super::super::json;
use switchboard_protocol::{Message, Part, modern};

/// Members that a legacy server does not know, or would misunderstand.
const MODERN_MEMBERS: [&[&str]; 7] = [
    &["params", "_meta", modern::VERSION],
    &["params", "_meta", modern::CLIENT_CAPABILITIES],
    &["params", "_meta", modern::CLIENT_INFO],
    &["params", "_meta", modern::LOG_LEVEL],
    &["params", "requestState"],
    &["params", "inputResponses"],
    // A modern client does not expect a legacy task.
    &["params", "task"],
];

/// The request for a legacy server.
pub(crate) fn as_legacy(request: Message) -> Message {
    json::without(request, &MODERN_MEMBERS, (Part::Meta, &["params", "_meta"]))
}

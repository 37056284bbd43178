//! Modern requests for a legacy server: without the declaration, and without the input of an earlier round. Progress
//! tokens, trace context and other members of `_meta` stay.

use super::super::json;
use crate::messages::in_order;
use serde_json::Value;
use sha2::{Digest, Sha256};
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

/// Digest of a request's method and parameters, equal for a call and its continuation. The order of members does not
/// matter.
pub(crate) fn digest(request: &Message) -> [u8; 32] {
    let params = request.part(Part::Params).unwrap_or(b"{}");
    let mut params: Value = serde_json::from_slice(params).unwrap_or_default();
    if let Some(members) = params.as_object_mut() {
        members.retain(|key, _| !matches!(key.as_str(), "_meta" | "requestState" | "inputResponses"));
    }
    let mut hash = Sha256::new();
    hash.update(request.method_name().as_bytes());
    hash.update(in_order(params).to_string().as_bytes());
    hash.finalize().into()
}

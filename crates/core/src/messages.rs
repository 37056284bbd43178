//! Messages of our own, and comparison of message parts. Pure functions over bytes.

use bytes::Bytes;
use std::borrow::Cow;
use std::sync::LazyLock;
use switchboard_protocol::{Dialect, Message, Outgoing, Parsed, Part, RawId, json, parse};

/// Normalises a JSON string: `"\/"` becomes `"/"`, `"\u00e9"` becomes `"é"`. Percent-encoding stays, since a
/// server treats URIs that differ in it as different resources.
pub(crate) fn same_spelling(quoted: &[u8]) -> Cow<'_, [u8]> {
    if !quoted.contains(&b'\\') {
        return Cow::Borrowed(quoted);
    }
    match json::decode_string(quoted) {
        Some(text) => Cow::Owned(serde_json::Value::from(text).to_string().into_bytes()),
        // Not decodable: compared as it is.
        None => Cow::Borrowed(quoted),
    }
}

/// Whether a request is about this URI, which is normalised by `same_spelling`.
pub(crate) fn names_uri(request: &Message, uri: &[u8]) -> bool {
    request.part(Part::Uri).is_some_and(|other| *same_spelling(other) == *uri)
}

/// An answer of our own; the result is JSON.
pub(crate) fn own_result(id: &RawId, dialect: Dialect, result: &str) -> Outgoing {
    let version = version_member(dialect);
    Outgoing::response(id.clone(), format!(r#"{{{version}"id":{id},"result":{result}}}"#).into())
}

/// The `jsonrpc` member, if the dialect has it.
pub(crate) fn version_member(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Standard => r#""jsonrpc":"2.0","#,
        Dialect::Bare => "",
    }
}

/// Our own `initialized` on behalf of a client.
pub(crate) fn initialized_notice() -> Option<Message> {
    static NOTICE: LazyLock<Option<Message>> = LazyLock::new(|| {
        own_message(Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#))
    });
    NOTICE.clone()
}

/// A root, as the answer to `roots/list` names it.
pub(crate) fn root_entry(uri: &str) -> String {
    serde_json::json!({ "uri": uri }).to_string()
}

/// A message of our own, as if a client had sent it.
pub(crate) fn own_message(text: Bytes) -> Option<Message> {
    match parse(text) {
        Ok(Parsed::One(message)) => Some(message),
        Ok(Parsed::Batch(_)) | Err(_) => None,
    }
}

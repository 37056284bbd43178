//! Messages of our own, comparison of message parts, and members of JSON objects. Pure functions over bytes.

use bytes::Bytes;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::LazyLock;
use switchboard_protocol::json::{self, Next};
use switchboard_protocol::{Dialect, Message, Outgoing, Parsed, Part, RawId, parse};

/// Normalises a JSON string: `"\/"` becomes `"/"`, `"\u00e9"` becomes `"é"`. Percent-encoding stays, since a
/// server treats URIs that differ in it as different resources.
pub(crate) fn same_spelling(quoted: &[u8]) -> Cow<'_, [u8]> {
    if !quoted.contains(&b'\\') {
        return Cow::Borrowed(quoted);
    }
    match json::decode_string(quoted) {
        Some(text) => Cow::Owned(Value::from(text).to_string().into_bytes()),
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

/// Sorts the keys of objects, so that equal values have the same spelling.
pub(crate) fn in_order(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(members.into_iter().map(|(key, value)| (key, in_order(value))).collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(in_order).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// The keys and values of an object; none for another value. All of them count, in any letter case, since some parsers
/// take the first of two equal keys, the last, or fold case.
pub(crate) fn members(object: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut found = Vec::new();
    if !matches!(json::next(object, 0), Ok(Next::Object)) {
        return found;
    }
    let mut pos = json::space(object, 1);
    while let Ok((behind, start)) = json::key(object, pos) {
        let Ok(end) = json::value(object, start) else { break };
        found.push((&object[pos..behind], &object[start..end]));
        pos = json::space(object, end);
        if json::byte(object, pos) != Some(b',') {
            break;
        }
        pos = json::space(object, pos + 1);
    }
    found
}

/// Whether a key, in quotes, has this name.
pub(crate) fn is_key(quoted: &[u8], name: &str) -> bool {
    json::decode_string(quoted).is_some_and(|key| key.eq_ignore_ascii_case(name))
}

/// The rank of a log level, from its JSON string: more severe levels have higher ranks.
pub(crate) fn log_rank(level: &[u8]) -> Option<usize> {
    const LEVELS: [&[u8]; 8] =
        [b"debug", b"info", b"notice", b"warning", b"error", b"critical", b"alert", b"emergency"];
    let level = level.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    LEVELS.iter().position(|known| *known == level)
}

/// Whether a server answers that it does not know the method.
pub(crate) fn is_not_offered(answer: &Message) -> bool {
    const METHOD_NOT_FOUND: i64 = -32601;
    let answer = serde_json::from_slice::<Value>(answer.bytes());
    answer.is_ok_and(|answer| answer["error"]["code"] == METHOD_NOT_FOUND)
}

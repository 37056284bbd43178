//! JSON objects: reads, removes and inserts members without changing other bytes. Pure functions.

use crate::messages::own_message;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use switchboard_protocol::json as scan;
use switchboard_protocol::{Message, Outgoing, Part, Patch, Span, prune};

/// The members of an object, in alphabetical order.
pub(super) type Members<'a> = BTreeMap<String, &'a RawValue>;

/// Reads a part of a message as a value of this type; `None` if it is absent or something else.
pub(super) fn read<'a, T: Deserialize<'a>>(message: &'a Message, part: Part) -> Option<T> {
    serde_json::from_slice(message.part(part)?).ok()
}

/// A member of an object.
pub(super) fn member(name: &str, value: &str) -> String {
    format!("{}:{value}", serde_json::Value::from(name))
}

/// An answer with this result.
pub(super) fn result(id: &str, result: &str) -> Option<Message> {
    own_message(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into())
}

/// An answer with this error, which is JSON.
pub(super) fn error(id: &str, error: &str) -> Option<Message> {
    own_message(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into())
}

/// JSON without line breaks. Unescaped line breaks occur only between tokens.
pub(super) fn on_one_line(text: String) -> String {
    if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text }
}

/// A message without these members. A parent that becomes empty is removed too.
pub(super) fn without(
    message: Message,
    paths: &[prune::Path<'_>],
    parent: (Part, prune::Path<'_>),
) -> Message {
    let Some(pruned) = prune::without(&message, paths) else { return message };
    let is_empty = pruned.part(parent.0).is_some_and(|it| it.iter().all(|b| b"{} \t\r\n".contains(b)));
    match is_empty && pruned.part(parent.0) != message.part(parent.0) {
        true => prune::without(&pruned, &[parent.1]).unwrap_or(pruned),
        false => pruned,
    }
}

/// Replaces values of a message, each given by a slice of its bytes.
pub(super) fn replaced(message: &Message, changes: &[(&RawValue, String)]) -> Option<Message> {
    let bytes = message.bytes();
    let start_of = |value: &RawValue| (value.get().as_ptr() as usize).checked_sub(bytes.as_ptr() as usize);
    let mut text = Vec::with_capacity(bytes.len() + 256);
    let mut from = 0;
    for (value, new) in changes {
        let start = start_of(value).filter(|start| *start >= from && *start < bytes.len())?;
        text.extend_from_slice(&bytes[from..start]);
        text.extend_from_slice(new.as_bytes());
        from = start + value.get().len();
    }
    text.extend_from_slice(&bytes[from..]);
    own_message(Bytes::from(text))
}

/// Inserts members at the start of an object of the message.
pub(super) fn insert(message: &Message, object: Part, members: &[u8], out: &mut Outgoing) {
    // Insert after leading spaces, so that removing the members restores the original bytes.
    let at = scan::space(message.bytes(), message.span(object).start as usize + 1);
    let is_empty = scan::byte(message.bytes(), at) == Some(b'}');
    let mut text = members.to_vec();
    if !is_empty {
        text.push(b',');
    }
    out.replace(Span::new(at, at), Patch::Text(text.into()));
}

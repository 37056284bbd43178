//! Members of a request that the touch table does not cover. Keys are compared after decoding; of several equal
//! keys the last one counts, as in most parsers.

use crate::json::{self, Next};
use crate::message::Message;
use crate::method;
use crate::touch::Part;
use std::borrow::Cow;

/// Protocol version in the request's `_meta`.
pub fn protocol_version(message: &Message) -> Option<Cow<'_, str>> {
    message.text(Part::MetaVersion)
}

/// The arguments of a `tools/call`, as JSON.
pub fn arguments(message: &Message) -> Option<&[u8]> {
    member(message.part(Part::Params)?, "arguments")
}

/// The value of a key; `None` also for a value that is no object.
pub(super) fn member<'a>(object: &'a [u8], wanted: &str) -> Option<&'a [u8]> {
    let start = json::space(object, 0);
    if json::next(object, start).ok()? != Next::Object {
        return None;
    }
    let mut found = None;
    let mut pos = json::space(object, start + 1);
    while json::byte(object, pos) == Some(b'"') {
        let (behind, value) = json::key(object, pos).ok()?;
        let end = json::value(object, value).ok()?;
        if method::text(&object[pos..behind]).is_some_and(|key| key == wanted) {
            found = Some(&object[value..end]);
        }
        pos = json::space(object, end);
        if json::byte(object, pos) == Some(b',') {
            pos = json::space(object, pos + 1);
        }
    }
    found
}

/// The value at a path of keys.
pub(super) fn at<'a>(object: &'a [u8], path: &[String]) -> Option<&'a [u8]> {
    path.iter().try_fold(object, |object, key| member(object, key))
}

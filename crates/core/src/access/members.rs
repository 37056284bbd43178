//! Members of JSON objects, found as the most lenient parser would. Pure functions.

use switchboard_protocol::json::{self, Next};

/// The keys and values of an object; none for another value. All of them count, in any letter case, since some parsers
/// take the first of two equal keys, the last, or fold case.
pub(super) fn members(object: &[u8]) -> Vec<(&[u8], &[u8])> {
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
pub(super) fn is_key(quoted: &[u8], name: &str) -> bool {
    json::decode_string(quoted).is_some_and(|key| key.eq_ignore_ascii_case(name))
}

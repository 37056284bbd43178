//! Iteration over objects and arrays in raw JSON: positions of members and elements, without decoding. The
//! scanner of `switchboard_protocol` validates.

use std::borrow::Cow;
use switchboard_protocol::Span;
use switchboard_protocol::json::{self, NotJson, Stepped, What};

/// Calls `each` with the quoted key and the span of the value, for every member of the object at `pos`;
/// returns the offset behind it.
#[inline]
pub(super) fn members(bytes: &[u8], pos: usize, mut each: impl FnMut(&[u8], Span)) -> Stepped {
    members_by(bytes, pos, |key, start| {
        let end = json::value(bytes, start)?;
        each(key, Span::new(start, end));
        Ok(end)
    })
}

/// Same as [`members`], with a `step` that gets the start of a value and must step over it.
#[inline]
pub(super) fn members_by(bytes: &[u8], pos: usize, mut step: impl FnMut(&[u8], usize) -> Stepped) -> Stepped {
    let mut pos = json::space(bytes, json::exactly(bytes, pos, b'{', What::NoValue)?);
    if json::byte(bytes, pos) == Some(b'}') {
        return Ok(pos + 1);
    }
    loop {
        let (behind, start) = json::key(bytes, pos)?;
        pos = json::space(bytes, step(&bytes[pos..behind], start)?);
        if json::byte(bytes, pos) != Some(b',') {
            return json::exactly(bytes, pos, b'}', What::NotClosed);
        }
        pos = json::space(bytes, pos + 1);
    }
}

/// Steps over the array at `pos`; `step` gets the start of an element and must step over it.
#[inline]
pub(super) fn elements_by(bytes: &[u8], pos: usize, mut step: impl FnMut(usize) -> Stepped) -> Stepped {
    let mut pos = json::space(bytes, json::exactly(bytes, pos, b'[', What::NoValue)?);
    if json::byte(bytes, pos) == Some(b']') {
        return Ok(pos + 1);
    }
    loop {
        pos = json::space(bytes, step(pos)?);
        if json::byte(bytes, pos) != Some(b',') {
            return json::exactly(bytes, pos, b']', What::NotClosed);
        }
        pos = json::space(bytes, pos + 1);
    }
}

/// The last member with this name, which is the one that most parsers take.
pub(super) fn member(bytes: &[u8], name: &str) -> Result<Option<Span>, NotJson> {
    let mut found = None;
    members(bytes, json::space(bytes, 0), |key, value| {
        if is_key(key, name) {
            found = Some(value);
        }
    })?;
    Ok(found)
}

/// Whether the quoted key equals this name, however it is escaped.
#[inline]
pub(super) fn is_key(quoted: &[u8], name: &str) -> bool {
    let inner = &quoted[1..quoted.len() - 1];
    // An escape makes a text longer, never shorter.
    inner == name.as_bytes()
        || (inner.len() > name.len()
            && inner.contains(&b'\\')
            && json::decode_string(quoted).is_some_and(|key| key == name))
}

/// The text of a quoted JSON string, decoded only if it has an escape; `None` for anything else.
pub(super) fn text(quoted: &[u8]) -> Option<Cow<'_, str>> {
    let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if inner.contains(&b'\\') {
        return json::decode_string(quoted).map(Cow::Owned);
    }
    std::str::from_utf8(inner).ok().map(Cow::Borrowed)
}

/// Writes a text as a JSON string with quotes.
pub(super) fn quote(text: &str, out: &mut Vec<u8>) {
    if text.bytes().all(|b| b >= 0x20 && b != b'"' && b != b'\\') {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_member_is_found_at_its_own_level() {
        let text = br#" { "a":{"tools":1}, "t\u006fols" : [2,{"tools":3}] ,"b":"tools" }"#;
        let found = member(text, "tools").unwrap().unwrap();
        assert_eq!(&text[found.range()], br#"[2,{"tools":3}]"#);
        assert_eq!(member(b"{}", "tools").unwrap(), None);
        assert!(member(b"[]", "tools").is_err());
        assert!(member(b"", "tools").is_err());
        assert!(member(b"{\"a\":1", "a").is_err());
    }

    #[test]
    fn texts_are_quoted_and_read() {
        for name in ["", "plain", "qu\"ote", "back\\slash", "line\nbreak", "é"] {
            let mut quoted = Vec::new();
            quote(name, &mut quoted);
            assert_eq!(text(&quoted).unwrap(), name);
        }
        assert_eq!(text(b"7"), None);
        assert_eq!(text(b"\"\\ud800\""), None);
    }
}

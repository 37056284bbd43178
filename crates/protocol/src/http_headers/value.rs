//! Values of `Mcp-Name` and `Mcp-Param-*`: as they are where a header can carry them, else `=?base64?…?=`.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::borrow::Cow;

/// Case-sensitive marks around an encoded value.
const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// Whether a header carries this text unchanged through any HTTP library and proxy.
pub fn is_safe(text: &str) -> bool {
    // A tab is allowed in a header, but not every server reads it back: SDKs disagree. An empty value may be dropped.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    is_plain && !text.is_empty() && !text.starts_with(' ') && !text.ends_with(' ')
}

/// A text as a header value.
pub fn encode(text: &str) -> Cow<'_, str> {
    // A text that looks encoded must be encoded, or it would be decoded.
    let looks_encoded = text.starts_with(PREFIX) && text.ends_with(SUFFIX);
    match is_safe(text) && !looks_encoded {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{PREFIX}{}{SUFFIX}", BASE64_STANDARD.encode(text))),
    }
}

/// The text of a header value; `None` for characters that no header may have and for broken base64.
pub fn decode(value: &[u8]) -> Option<Cow<'_, str>> {
    let is_plain = value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    let text = std::str::from_utf8(value).ok().filter(|_| is_plain)?.trim_matches([' ', '\t']);
    match text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) {
        None => Some(Cow::Borrowed(text)),
        Some(encoded) => String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok().map(Cow::Owned),
    }
}

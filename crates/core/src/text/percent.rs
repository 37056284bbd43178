//! Percent-encoding (RFC 3986). Based on the crate `percent-encoding`, with strict decoding.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::borrow::Cow;

/// Everything except letters, digits and `-._~`.
const NOT_UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Everything except characters allowed in the path of a URI, including slashes.
const NOT_PATH: &AsciiSet = &NOT_UNRESERVED
    .remove(b'/')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// Encodes a single path segment.
pub fn encode_segment(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, NOT_UNRESERVED)
}

/// Encodes a whole path; slashes stay.
pub fn encode_path(path: &str) -> impl std::fmt::Display {
    utf8_percent_encode(path, NOT_PATH)
}

/// Decodes once. `None` for a `%` without two hexadecimal digits after it, or if the result is not UTF-8.
pub fn decode(text: &str) -> Option<Cow<'_, str>> {
    // The crate lets a malformed escape pass.
    let is_whole = |behind: &str| matches!(behind.as_bytes(), [high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit());
    // The text before the first `%` contains no escape.
    let is_valid = text.split('%').skip(1).all(is_whole);
    is_valid.then(|| percent_decode_str(text).decode_utf8().ok())?
}

/// Decodes once, as lenient servers do: malformed escapes stay, and invalid UTF-8 becomes replacement
/// characters. `None` if there is nothing to decode.
pub fn decode_leniently(text: &str) -> Option<String> {
    match Cow::<[u8]>::from(percent_decode_str(text)) {
        Cow::Borrowed(_) => None,
        Cow::Owned(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_escapes_are_refused() {
        for (text, expect) in [
            ("a%20b%2Fc", Some("a b/c")),
            ("%c3%A4", Some("ä")),
            ("", Some("")),
            ("%", None),
            ("a%2", None),
            ("%zz", None),
            ("%%41", None),
            ("%4%41", None),
            ("%+f", None),
            ("%ff", None),
            ("%é1", None),
        ] {
            assert_eq!(decode(text).as_deref(), expect, "{text}");
        }
    }

    #[test]
    fn lenient_decoding_keeps_broken_escapes() {
        for (text, expect) in [
            ("a%20b", Some("a b")),
            ("%%41", Some("%A")),
            ("%zz%41", Some("%zzA")),
            ("%ff", Some("\u{fffd}")),
            ("%4", None),
            ("a", None),
        ] {
            assert_eq!(decode_leniently(text).as_deref(), expect, "{text}");
        }
    }

    #[test]
    fn encoded_text_comes_back() {
        let text: String = (1..=127u8).map(char::from).chain(['ä', '\u{1f600}']).collect();
        assert_eq!(decode(&encode_segment(&text).to_string()).as_deref(), Some(&*text));
        assert_eq!(decode(&encode_path(&text).to_string()).as_deref(), Some(&*text));
        assert_eq!(encode_segment("a b/ä-._~:").to_string(), "a%20b%2F%C3%A4-._~%3A");
        assert_eq!(encode_path("/a b#?%@:!$&'()*+,;=").to_string(), "/a%20b%23%3F%25@:!$&'()*+,;=");
    }
}

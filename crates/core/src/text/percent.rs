//! Percent-encoding (RFC 3986). The crate `percent-encoding` does the work; the strictness is ours.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::borrow::Cow;

/// Everything but letters, digits and `-._~`.
const NOT_UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Everything but characters that a path in a URI may hold as they are, slashes included.
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

/// Encodes a single segment of a path.
pub fn encode_segment(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, NOT_UNRESERVED)
}

/// Encodes a whole path; its slashes stay.
pub fn encode_path(path: &str) -> impl std::fmt::Display {
    utf8_percent_encode(path, NOT_PATH)
}

/// Decodes once. `None` for a `%` without two hexadecimal digits behind it, or if the result is no UTF-8.
pub fn decode(text: &str) -> Option<Cow<'_, str>> {
    // The crate passes a broken escape through.
    let is_whole = |behind: &str| matches!(behind.as_bytes(), [high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit());
    let is_valid = text.split('%').skip(1).all(is_whole);
    is_valid.then(|| percent_decode_str(text).decode_utf8().ok())?
}

/// Decodes once, as lenient servers do: broken escapes stay, and bytes that are no UTF-8 become replacement characters.
/// `None` if there is nothing to decode.
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

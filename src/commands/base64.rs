//! Lenient decoding of binary content (RFC 4648): servers use either alphabet, with or
//! without padding and line breaks.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Accepts the standard alphabet without padding, to which [`decode`] converts its input.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// Length of the decoded bytes.
pub(super) fn length(text: &str) -> usize {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-/_".contains(byte);
    text.bytes().filter(is_digit).count() * 6 / 8
}

/// Decodes a text; `None` if it is not base64. Line breaks are ignored.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches(|c: char| c == '=' || c.is_ascii_whitespace());
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).map(standard).collect();
    LENIENT.decode(digits).ok()
}

/// Converts a digit of the URL alphabet to the standard one.
fn standard(digit: u8) -> u8 {
    match digit {
        b'-' => b'+',
        b'_' => b'/',
        digit => digit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_rfc_has_it() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9v\nYmE", "fooba"),
            ("Zm9vYmFy", "foobar"),
            (" Zm9v\r\n Yh = = ", "foob"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
            assert_eq!(length(text), bytes.len(), "{text}");
        }
        assert_eq!(decode("//79-_A"), Some(vec![0xff, 0xfe, 0xfd, 0xfb, 0xf0]));
        for wrong in ["Z", "Zm9vY", "Zg==Zg==", "Zm9%", "é"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}

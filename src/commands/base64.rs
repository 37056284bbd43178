//! Bytes that came as text (RFC 4648).

/// Of how many bytes this is the text.
pub(super) fn length(text: &str) -> usize {
    text.bytes().filter(|byte| digit(*byte).is_some()).count() * 6 / 8
}

/// Nothing if it is not such a text. Line breaks are passed over.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches(|c: char| c == '=' || c.is_ascii_whitespace());
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len() / 4 * 3), 0_u32, 0);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        bits = bits << 6 | digit(byte)?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    // A digit alone is not a byte.
    (count < 6).then_some(bytes)
}

fn digit(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
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
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
            assert_eq!(length(text), bytes.len(), "{text}");
        }
        assert_eq!(decode("//79-_A"), Some(vec![0xff, 0xfe, 0xfd, 0xfb, 0xf0]));
        for wrong in ["Z", "Zg==Zg==", "Zm9%", "é"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}

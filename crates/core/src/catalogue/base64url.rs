//! Base64 in the alphabet that URIs and cursors may hold, without padding (RFC 4648, section 5).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub(super) fn encode(bytes: &[u8], out: &mut String) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, &b| word << 8 | u32::from(b)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let sextet = word >> (18 - 6 * place) & 63;
            out.push(char::from(ALPHABET[sextet as usize]));
        }
    }
}

/// `None` if it is not what [`encode`] writes: so every text has one spelling only.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.as_bytes().chunks(4) {
        let mut word = 0u32;
        for &letter in chunk {
            word = word << 6 | u32::from(sextet(letter)?);
        }
        word <<= 6 * (4 - chunk.len());
        let bytes = &word.to_be_bytes()[1..];
        let (kept, rest) = bytes.split_at(chunk.len() - 1);
        if chunk.len() == 1 || rest.iter().any(|&b| b != 0) {
            return None;
        }
        out.extend_from_slice(kept);
    }
    Some(out)
}

fn sextet(letter: u8) -> Option<u8> {
    Some(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(bytes: &[u8]) -> String {
        let mut out = String::new();
        encode(bytes, &mut out);
        out
    }

    #[test]
    fn known_texts() {
        for (plain, coded) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("\u{fb}?", "w7s_")]
        {
            assert_eq!(encoded(plain.as_bytes()), coded);
            assert_eq!(decode(coded).as_deref(), Some(plain.as_bytes()));
        }
        for foreign in ["A", "Zh", "Zm9v=", "Zm9 v", "é", "Zm9vA"] {
            assert_eq!(decode(foreign), None, "{foreign}");
        }
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(decode(&encoded(&bytes)), Some(bytes));
        }

        #[test]
        fn every_text_has_one_spelling(text in "[A-Za-z0-9_-]{0,12}") {
            if let Some(bytes) = decode(&text) {
                prop_assert_eq!(encoded(&bytes), text);
            }
        }
    }
}

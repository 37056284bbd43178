//! Ids and tokens, stored as the bytes that were sent: `1`, `"1"`, `1.50` and `1e3` must each come back
//! unchanged, even where a JSON library considers them equal. Must not know what an id belongs to.

use crate::json;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Longest spelling stored without an allocation: all our numbers and most strings.
const INLINE_BYTES: usize = 22;

/// A JSON-RPC id or progress token exactly as it was spelled, quotes included.
#[derive(Clone)]
pub struct RawId(Spelling);

#[derive(Clone)]
enum Spelling {
    Short { length: u8, bytes: [u8; INLINE_BYTES] },
    Long(Box<[u8]>),
}

impl RawId {
    pub const NULL: &'static [u8] = b"null";

    pub fn null() -> Self {
        Self::from_bytes(Self::NULL)
    }

    pub fn from_bytes(spelling: &[u8]) -> Self {
        // UUIDs, for instance.
        if spelling.len() > INLINE_BYTES {
            return Self(Spelling::Long(spelling.into()));
        }
        let mut bytes = [0; INLINE_BYTES];
        bytes[..spelling.len()].copy_from_slice(spelling);
        Self(Spelling::Short { length: spelling.len() as u8, bytes })
    }

    /// The spelling of an id that we minted.
    pub fn from_number(number: u64) -> Self {
        // By hand: `to_string` would allocate for every request.
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        let mut rest = number;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                return Self::from_bytes(&digits[at..]);
            }
        }
    }

    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Spelling::Short { length, bytes } => &bytes[..usize::from(*length)],
            Spelling::Long(bytes) => bytes,
        }
    }

    /// The minted number behind an id, if it is one of ours. Accepts respellings by peers (`7.0`, `"7"`,
    /// `"\u0037"`).
    pub fn minted(bytes: &[u8]) -> Option<u64> {
        match bytes {
            [b'"', inner @ .., b'"'] if inner.contains(&b'\\') => {
                number(json::decode_string(bytes)?.as_bytes())
            }
            [b'"', inner @ .., b'"'] => number(inner),
            // Peers whose numbers are all floats write a whole number this way.
            [whole @ .., b'.', b'0'] => number(whole),
            plain => number(plain),
        }
    }

    /// Whether JSON-RPC allows this value as an id: a string, a number or null.
    pub fn is_legal(value: &[u8]) -> bool {
        // The first byte is enough: callers have scanned the value as JSON, or check it themselves.
        matches!(value.first(), Some(b'"' | b'-' | b'0'..=b'9' | b'n'))
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    // We never write leading zeros, so `07` is not one of our ids.
    if digits.is_empty() || digits.len() > 20 || (digits[0] == b'0' && digits.len() > 1) {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

impl PartialEq for RawId {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for RawId {}

impl Hash for RawId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Same bytes as `eq`: the unused rest of the inline array must not count.
        self.as_bytes().hash(state);
    }
}

impl fmt::Display for RawId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.as_bytes()))
    }
}

impl fmt::Debug for RawId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn respelled_minted_numbers_are_recognised() {
        for (spelling, expect) in [
            ("7", Some(7)),
            ("7.0", Some(7)),
            ("\"7\"", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("07", None),
            ("0", Some(0)),
            ("-7", None),
            ("7.5", None),
            (r#""\u0037""#, Some(7)),
            (r#""\u0037.0""#, None),
            (r#""\"7\"""#, None),
            ("\"x\"", None),
            ("\"\"", None),
            ("null", None),
            (".0", None),
        ] {
            assert_eq!(RawId::minted(spelling.as_bytes()), expect, "{spelling}");
        }
        for number in [0, 1, 9, 10, 12345, u64::MAX] {
            assert_eq!(RawId::minted(RawId::from_number(number).as_bytes()), Some(number));
        }
    }
}

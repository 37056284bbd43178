//! A validating JSON scanner: finds the ends of values, decodes nothing.
//!
//! The forwarding path must know *where* things are in the bytes that arrived, for any number of paths, in
//! one pass; no library offers that. The scanner accepts exactly what `serde_json` accepts (a property test
//! and a fuzz target compare the two), apart from the depth limit. Must not know what a message is.

/// Nesting limit: no real message comes near, and a nesting bomb must be cheap to refuse.
pub const MAX_DEPTH: usize = 1024;

/// Fault and offset in text that is not JSON. Small, since every step of the scanner may return one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotJson {
    pub at: u32,
    pub what: What,
}

/// The fault at an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    NoValue,
    NoKey,
    NoColon,
    NoDigit,
    NotClosed,
    Ends,
    EndsInString,
    ControlCharacter,
    BadEscape,
    TooDeep,
    MoreFollows,
}

impl std::fmt::Display for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoValue => "a JSON value was expected here",
            Self::NoKey => "a key in double quotes was expected here",
            Self::NoColon => "a colon was expected here",
            Self::NoDigit => "a digit was expected here",
            Self::NotClosed => "a comma or a closing bracket was expected here",
            Self::Ends => "the text ends too early",
            Self::EndsInString => "the text ends inside a string",
            Self::ControlCharacter => "unescaped control character in a string",
            Self::BadEscape => "unknown escape in a string",
            Self::TooDeep => "nested too deeply",
            Self::MoreFollows => "unexpected text after the value",
        })
    }
}

/// The kind of the value at an offset, by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Object,
    Array,
    String,
    Number,
    Literal,
}

/// The offset behind a value, or the fault. Every step below takes the bytes (known to be UTF-8) and an
/// offset as plain arguments, so that both stay in registers.
pub type Stepped = Result<usize, NotJson>;

#[cold]
fn fault<T>(at: usize, what: What) -> Result<T, NotJson> {
    // Frames are limited to far less than 4 GiB, so the cast cannot truncate.
    Err(NotJson { at: at as u32, what })
}

#[inline]
pub fn byte(bytes: &[u8], pos: usize) -> Option<u8> {
    bytes.get(pos).copied()
}

/// Steps over white space.
#[inline]
pub fn space(bytes: &[u8], mut pos: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = byte(bytes, pos) {
        pos += 1;
    }
    pos
}

/// Steps over one expected byte.
#[inline]
pub fn exactly(bytes: &[u8], pos: usize, wanted: u8, what: What) -> Stepped {
    if byte(bytes, pos) == Some(wanted) { Ok(pos + 1) } else { fault(pos, what) }
}

/// Requires that only white space follows.
pub fn end(bytes: &[u8], pos: usize) -> Result<(), NotJson> {
    let pos = space(bytes, pos);
    if pos == bytes.len() { Ok(()) } else { fault(pos, What::MoreFollows) }
}

#[inline]
pub fn next(bytes: &[u8], pos: usize) -> Result<Next, NotJson> {
    match byte(bytes, pos) {
        Some(b'{') => Ok(Next::Object),
        Some(b'[') => Ok(Next::Array),
        Some(b'"') => Ok(Next::String),
        Some(b'-' | b'0'..=b'9') => Ok(Next::Number),
        Some(b't' | b'f' | b'n') => Ok(Next::Literal),
        Some(_) => fault(pos, What::NoValue),
        None => fault(pos, What::Ends),
    }
}

/// Steps over one whole value of any kind.
#[inline]
pub fn value(bytes: &[u8], pos: usize) -> Stepped {
    match next(bytes, pos)? {
        Next::Object | Next::Array => nested(bytes, pos),
        Next::String => string(bytes, pos),
        Next::Number => number(bytes, pos),
        Next::Literal => literal(bytes, pos),
    }
}

/// Steps over an object or array without recursion: one bit per open level tells objects from arrays.
fn nested(bytes: &[u8], mut pos: usize) -> Stepped {
    let mut open = Levels::default();
    loop {
        // At the start of a value.
        match next(bytes, pos)? {
            Next::Object => {
                pos = space(bytes, pos + 1);
                if byte(bytes, pos) != Some(b'}') {
                    open.push(true).ok_or_else(|| too_deep(pos))?;
                    pos = key(bytes, pos)?.1;
                    continue;
                }
                pos += 1;
            }
            Next::Array => {
                pos = space(bytes, pos + 1);
                if byte(bytes, pos) != Some(b']') {
                    open.push(false).ok_or_else(|| too_deep(pos))?;
                    continue;
                }
                pos += 1;
            }
            Next::String => pos = string(bytes, pos)?,
            Next::Number => pos = number(bytes, pos)?,
            Next::Literal => pos = literal(bytes, pos)?,
        }
        // After a value: close levels until one continues with a comma.
        loop {
            let Some(in_object) = open.top() else { return Ok(pos) };
            pos = space(bytes, pos);
            if byte(bytes, pos) == Some(b',') {
                pos = space(bytes, pos + 1);
                if in_object {
                    pos = key(bytes, pos)?.1;
                }
                break;
            }
            pos = exactly(bytes, pos, if in_object { b'}' } else { b']' }, What::NotClosed)?;
            open.pop();
        }
    }
}

#[cold]
fn too_deep(pos: usize) -> NotJson {
    NotJson { at: pos as u32, what: What::TooDeep }
}

/// Steps over a key and its colon. Returns the offset behind the key's closing quote, and the offset of the value.
#[inline]
pub fn key(bytes: &[u8], pos: usize) -> Result<(usize, usize), NotJson> {
    if byte(bytes, pos) != Some(b'"') {
        return fault(pos, What::NoKey);
    }
    let behind = string(bytes, pos)?;
    let colon = exactly(bytes, space(bytes, behind), b':', What::NoColon)?;
    Ok((behind, space(bytes, colon)))
}

/// Steps over a string; `pos` is its opening quote.
#[inline(always)]
pub fn string(bytes: &[u8], pos: usize) -> Stepped {
    // Most strings are keys and short words that end within eight bytes.
    match word_at(bytes, pos + 1).map(first_special) {
        Some(Some(stop)) if bytes[pos + 1 + stop] == b'"' => Ok(pos + 2 + stop),
        Some(None) => longer_string(bytes, pos + 9),
        Some(Some(_)) | None => longer_string(bytes, pos + 1),
    }
}

/// Steps over the rest of a string; the part before `pos` is plain.
fn longer_string(bytes: &[u8], pos: usize) -> Stepped {
    let mut pos = plain_end(bytes, pos);
    loop {
        match byte(bytes, pos) {
            Some(b'"') => return Ok(pos + 1),
            Some(b'\\') => pos = plain_end(bytes, escape(bytes, pos)?),
            Some(_) => return fault(pos, What::ControlCharacter),
            None => return fault(pos, What::EndsInString),
        }
    }
}

/// The eight bytes from `pos` on, if that many are left.
#[inline(always)]
fn word_at(bytes: &[u8], pos: usize) -> Option<u64> {
    let eight = bytes.get(pos..pos + 8)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

fn escape(bytes: &[u8], pos: usize) -> Stepped {
    match byte(bytes, pos + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(pos + 2),
        // Lone surrogates pass: Node and Python write them, and we do not interpret the text.
        Some(b'u') => match bytes.get(pos + 2..pos + 6) {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => Ok(pos + 6),
            _ => fault(pos, What::BadEscape),
        },
        Some(_) => fault(pos, What::BadEscape),
        None => fault(pos, What::EndsInString),
    }
}

fn number(bytes: &[u8], mut pos: usize) -> Stepped {
    pos += usize::from(byte(bytes, pos) == Some(b'-'));
    pos = match byte(bytes, pos) {
        // JSON allows no leading zeros: a digit after this one fails as trailing text.
        Some(b'0') => pos + 1,
        _ => digits(bytes, pos)?,
    };
    if byte(bytes, pos) == Some(b'.') {
        pos = digits(bytes, pos + 1)?;
    }
    if let Some(b'e' | b'E') = byte(bytes, pos) {
        pos += 1;
        if let Some(b'+' | b'-') = byte(bytes, pos) {
            pos += 1;
        }
        pos = digits(bytes, pos)?;
    }
    Ok(pos)
}

/// Steps over one or more digits.
fn digits(bytes: &[u8], start: usize) -> Stepped {
    let mut pos = start;
    while let Some(b'0'..=b'9') = byte(bytes, pos) {
        pos += 1;
    }
    if pos == start { fault(pos, What::NoDigit) } else { Ok(pos) }
}

fn literal(bytes: &[u8], pos: usize) -> Stepped {
    let rest = &bytes[pos..];
    let word = [&b"null"[..], b"true", b"false"].into_iter().find(|word| rest.starts_with(word));
    word.map_or_else(|| fault(pos, What::NoValue), |word| Ok(pos + word.len()))
}

/// The open levels of a nested value: one bit each, true for an object.
struct Levels {
    bits: [u64; MAX_DEPTH / 64],
    depth: usize,
}

impl Default for Levels {
    fn default() -> Self {
        Self { bits: [0; MAX_DEPTH / 64], depth: 0 }
    }
}

impl Levels {
    fn push(&mut self, object: bool) -> Option<()> {
        // No word left: the nesting limit is reached.
        let word = self.bits.get_mut(self.depth / 64)?;
        let bit = 1 << (self.depth % 64);
        // Clearing matters too: an earlier level at this depth may have set the bit.
        *word = if object { *word | bit } else { *word & !bit };
        self.depth += 1;
        Some(())
    }

    fn pop(&mut self) {
        // The caller has seen an open level in `top`.
        self.depth -= 1;
    }

    fn top(&self) -> Option<bool> {
        let last = self.depth.checked_sub(1)?;
        Some(self.bits[last / 64] & (1 << (last % 64)) != 0)
    }
}

/// Offset of the next special byte inside a string, from `pos` on. Checks eight bytes at a time with word
/// arithmetic, which suits short strings; a long string continues in [`long_plain_end`].
fn plain_end(bytes: &[u8], mut pos: usize) -> usize {
    // Enough for the keys of MCP in `_meta`, which have up to 42 bytes.
    const SHORT_STRING_WORDS: usize = 6;
    for _ in 0..SHORT_STRING_WORDS {
        let Some(word) = word_at(bytes, pos) else {
            let rest = bytes.get(pos..).unwrap_or_default();
            return pos + rest.iter().position(|&b| is_special(b)).unwrap_or(rest.len());
        };
        match first_special(word) {
            Some(stop) => return pos + stop,
            None => pos += 8,
        }
    }
    long_plain_end(bytes, pos)
}

/// Same as [`plain_end`] for long strings. Works in stretches that fit the L1 cache: finds the next quote or
/// backslash, then checks the text before it for control characters, which the compiler vectorises.
fn long_plain_end(bytes: &[u8], mut pos: usize) -> usize {
    const STRETCH_BYTES: usize = 4096;
    loop {
        let stretch = &bytes[pos..bytes.len().min(pos + STRETCH_BYTES)];
        let stop = memchr::memchr2(b'"', b'\\', stretch);
        let plain = &stretch[..stop.unwrap_or(stretch.len())];
        // A minimum over all bytes: an early exit would prevent vector instructions.
        if plain.iter().fold(u8::MAX, |least, &b| least.min(b)) < 0x20 {
            return pos + plain.iter().position(|&b| b < 0x20).unwrap_or(plain.len());
        }
        pos += plain.len();
        if stop.is_some() || pos == bytes.len() {
            return pos;
        }
    }
}

/// Index of the first special byte among eight. A byte's top bit is set where the byte is special. A borrow
/// can set the bit wrongly, but only above a byte where it is set rightly, so the lowest set bit is correct.
#[inline(always)]
fn first_special(word: u64) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let quote = is_zero(word ^ (ONES * b'"' as u64));
    let backslash = is_zero(word ^ (ONES * b'\\' as u64));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let found = (quote | backslash | control) & TOPS;
    (found != 0).then(|| found.trailing_zeros() as usize / 8)
}

#[inline]
fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// The text of a quoted JSON string; `None` for a lone surrogate or a value that is not a string.
pub fn decode_string(quoted: &[u8]) -> Option<String> {
    serde_json::from_slice(quoted).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(text: &[u8]) -> Result<(), NotJson> {
        end(text, value(text, space(text, 0))?)
    }

    /// Reference implementation. `RawValue` neither decodes nor rejects lone surrogates, unlike
    /// `serde_json::Value`, which also stops at 128 levels.
    fn judge(text: &str) -> bool {
        serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
    }

    #[test]
    fn agrees_with_serde_json_on_chosen_texts() {
        for text in [
            "{}",
            "[]",
            "[[],{}]",
            "{\"a\":1}",
            "{\"a\":1,}",
            "[1,]",
            "[1 2]",
            "{\"a\" 1}",
            "{1:2}",
            "nul",
            "NaN",
            "-",
            "-0",
            "01",
            "1.",
            "1.5e+3",
            "1e",
            ".5",
            "+1",
            "\"a\\u12\"",
            "\"\\ud83d\"",
            "\"\\x\"",
            "\"a\tb\"",
            "\"open",
            "true false",
            "",
            " ",
            "{\"a\":{\"b\":[1,{\"c\":null}]}}",
            "[\"\u{7f}\"]",
            "Infinity",
            "{}}",
        ] {
            assert_eq!(whole(text.as_bytes()).is_ok(), judge(text), "{text:?}");
        }
    }

    #[test]
    fn finds_first_special_byte_of_a_word() {
        for byte in 0..=255u8 {
            for place in 0..8 {
                let mut word = *b"abcdefgh";
                word[place] = byte;
                let expect = word.iter().position(|&b| is_special(b));
                assert_eq!(first_special(u64::from_le_bytes(word)), expect, "{word:?}");
                // With another special byte after it, and bytes that a borrow could reach.
                let mut word = [0x80, 0xff, b'!', b' ', b'#', 0x7f, b']', b'"'];
                word[place] = byte;
                let expect = word.iter().position(|&b| is_special(b));
                assert_eq!(first_special(u64::from_le_bytes(word)), expect, "{word:?}");
            }
        }
    }

    #[test]
    fn depth_is_limited_long_strings_skipped() {
        let fits = "[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH);
        assert!(whole(fits.as_bytes()).is_ok());
        let bomb = "[".repeat(MAX_DEPTH + 2) + &"]".repeat(MAX_DEPTH + 2);
        assert_eq!(whole(bomb.as_bytes()).unwrap_err().what, What::TooDeep);
        for length in [0, 1, 31, 32, 33, 63, 64, 65, 1000] {
            let plain = format!("\"{}\"", "x".repeat(length));
            assert!(whole(plain.as_bytes()).is_ok(), "{length}");
            let control = format!("\"{}\u{1}\"", "x".repeat(length));
            assert!(whole(control.as_bytes()).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json_on_random_texts(text in "[\\[\\]{}:,\"\\\\ntrufalse0-9eE.+ \\-u]{0,24}") {
            prop_assert_eq!(whole(text.as_bytes()).is_ok(), judge(&text), "{:?}", text);
        }
    }
}

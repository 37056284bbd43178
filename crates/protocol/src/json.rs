//! A validating JSON scanner: it finds where values end, and decodes nothing.
//!
//! It exists because the forwarding path must know *where* things are in the bytes that arrived, for any
//! number of paths, in one pass. It accepts exactly what `serde_json` accepts (a property test and a fuzz
//! target compare the two), apart from the depth limit. It must not know what a message is.

/// Nesting beyond this is refused: no real message comes near, and a bomb should be cheap to turn away.
pub const MAX_DEPTH: usize = 1024;

/// Why bytes are not JSON, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotJson {
    pub at: usize,
    pub what: &'static str,
}

/// A cursor over bytes that are known to be UTF-8.
#[derive(Debug, Clone)]
pub struct Scanner<'a> {
    bytes: &'a [u8],
    pos: usize,
}

/// What stands at the cursor, by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Object,
    Array,
    String,
    Number,
    Literal,
}

impl<'a> Scanner<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, pos: 0 }
    }

    pub fn at(bytes: &'a [u8], pos: usize) -> Self {
        Self { bytes, pos }
    }

    pub fn pos(&self) -> usize {
        self.pos
    }

    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    pub fn fail<T>(&self, what: &'static str) -> Result<T, NotJson> {
        Err(NotJson { at: self.pos, what })
    }

    #[inline]
    pub fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.pos += 1;
        }
    }

    /// Consumes `byte` if it is next.
    #[inline]
    pub fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.pos += usize::from(taken);
        taken
    }

    pub fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), NotJson> {
        if self.take(byte) { Ok(()) } else { self.fail(what) }
    }

    pub fn next(&self) -> Result<Next, NotJson> {
        match self.peek() {
            Some(b'{') => Ok(Next::Object),
            Some(b'[') => Ok(Next::Array),
            Some(b'"') => Ok(Next::String),
            Some(b'-' | b'0'..=b'9') => Ok(Next::Number),
            Some(b't' | b'f' | b'n') => Ok(Next::Literal),
            Some(_) => self.fail("a JSON value was expected here"),
            None => self.fail("the text ends too early"),
        }
    }

    /// Steps over one whole value of any kind.
    pub fn skip_value(&mut self) -> Result<(), NotJson> {
        match self.next()? {
            Next::Object | Next::Array => self.skip_nested(),
            Next::String => self.skip_string(),
            Next::Number => self.skip_number(),
            Next::Literal => self.skip_literal(),
        }
    }

    /// Steps over an object or array without recursion: one bit per open level says which of the two it is.
    fn skip_nested(&mut self) -> Result<(), NotJson> {
        let mut open = Levels::default();
        loop {
            // At the start of a value.
            match self.next()? {
                Next::Object => {
                    self.pos += 1;
                    self.skip_space();
                    if !self.take(b'}') {
                        open.push(true).ok_or(self.too_deep())?;
                        self.skip_key()?;
                        continue;
                    }
                }
                Next::Array => {
                    self.pos += 1;
                    self.skip_space();
                    if !self.take(b']') {
                        open.push(false).ok_or(self.too_deep())?;
                        continue;
                    }
                }
                Next::String => self.skip_string()?,
                Next::Number => self.skip_number()?,
                Next::Literal => self.skip_literal()?,
            }
            // After a value: close levels until one goes on.
            loop {
                let Some(in_object) = open.top() else { return Ok(()) };
                self.skip_space();
                if self.take(b',') {
                    self.skip_space();
                    if in_object {
                        self.skip_key()?;
                    }
                    break;
                }
                self.expect(if in_object { b'}' } else { b']' }, "a comma or a closing bracket was expected here")?;
                open.pop();
            }
        }
    }

    fn too_deep(&self) -> NotJson {
        NotJson { at: self.pos, what: "it is nested too deep" }
    }

    fn skip_key(&mut self) -> Result<(), NotJson> {
        if self.peek() != Some(b'"') {
            return self.fail("a key in double quotes was expected here");
        }
        self.skip_string()?;
        self.skip_space();
        self.expect(b':', "a colon was expected here")?;
        self.skip_space();
        Ok(())
    }

    /// Steps over a string; the cursor stands on its opening quote.
    pub fn skip_string(&mut self) -> Result<(), NotJson> {
        self.pos += 1;
        loop {
            self.pos += plain_run(&self.bytes[self.pos..]);
            match self.peek() {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(());
                }
                Some(b'\\') => self.skip_escape()?,
                Some(_) => return self.fail("a control character stands unescaped in a string"),
                None => return self.fail("the text ends inside a string"),
            }
        }
    }

    fn skip_escape(&mut self) -> Result<(), NotJson> {
        match self.bytes.get(self.pos + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.pos += 2,
            Some(b'u') => {
                let digits = self.bytes.get(self.pos + 2..self.pos + 6);
                // Lone surrogates pass: node and Python write them, and the text is not ours to judge.
                if !digits.is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit)) {
                    return self.fail("\\u wants four hexadecimal digits");
                }
                self.pos += 6;
            }
            Some(_) => return self.fail("an unknown escape in a string"),
            None => return self.fail("the text ends inside a string"),
        }
        Ok(())
    }

    pub fn skip_number(&mut self) -> Result<(), NotJson> {
        self.take(b'-');
        match self.peek() {
            Some(b'0') => self.pos += 1,
            Some(b'1'..=b'9') => self.skip_digits(),
            _ => return self.fail("a number was expected here"),
        }
        if self.take(b'.') {
            self.need_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.pos += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.pos += 1;
            }
            self.need_digits()?;
        }
        Ok(())
    }

    fn need_digits(&mut self) -> Result<(), NotJson> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return self.fail("a digit was expected here");
        }
        self.skip_digits();
        Ok(())
    }

    fn skip_digits(&mut self) {
        while let Some(b'0'..=b'9') = self.peek() {
            self.pos += 1;
        }
    }

    fn skip_literal(&mut self) -> Result<(), NotJson> {
        let rest = &self.bytes[self.pos..];
        for word in [&b"null"[..], b"true", b"false"] {
            if rest.starts_with(word) {
                self.pos += word.len();
                return Ok(());
            }
        }
        self.fail("a JSON value was expected here")
    }
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
        let word = self.bits.get_mut(self.depth / 64)?;
        let bit = 1 << (self.depth % 64);
        *word = if object { *word | bit } else { *word & !bit };
        self.depth += 1;
        Some(())
    }

    fn pop(&mut self) {
        self.depth -= 1;
    }

    fn top(&self) -> Option<bool> {
        let last = self.depth.checked_sub(1)?;
        Some(self.bits[last / 64] & (1 << (last % 64)) != 0)
    }
}

/// How many bytes from the start need no attention inside a string. Whole blocks are tested without a
/// branch per byte, which the compiler turns into vector instructions.
#[inline]
fn plain_run(bytes: &[u8]) -> usize {
    const BLOCK: usize = 32;
    let mut run = 0;
    loop {
        // Short strings, and the last bytes of a long one, byte by byte.
        let near = &bytes[run..bytes.len().min(run + BLOCK)];
        if let Some(stop) = near.iter().position(|&b| is_special(b)) {
            return run + stop;
        }
        run += near.len();
        if near.len() < BLOCK {
            return run;
        }
        let (blocks, _) = bytes[run..].as_chunks::<BLOCK>();
        let clean = blocks
            .iter()
            .position(|block| block.iter().fold(false, |any, &b| any | is_special(b)))
            .unwrap_or(blocks.len());
        run += clean * BLOCK;
    }
}

#[inline]
fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// The text of a JSON string given with its quotes; `None` if it holds a lone surrogate or is no string.
pub fn decode_string(quoted: &[u8]) -> Option<String> {
    serde_json::from_slice(quoted).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(text: &[u8]) -> Result<(), NotJson> {
        let mut scanner = Scanner::new(text);
        scanner.skip_space();
        scanner.skip_value()?;
        scanner.skip_space();
        if scanner.pos() == text.len() { Ok(()) } else { scanner.fail("something follows the value") }
    }

    /// `serde_json` stops at 128 levels and refuses lone surrogates when it decodes; `RawValue` does neither
    /// decode nor mind surrogates, so it is the judge here.
    fn judge(text: &str) -> bool {
        serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
    }

    #[test]
    fn agrees_with_serde_json_on_hand_picked_texts() {
        for text in [
            "{}", "[]", "[[],{}]", "{\"a\":1}", "{\"a\":1,}", "[1,]", "[1 2]", "{\"a\" 1}", "{1:2}", "nul", "NaN",
            "-", "-0", "01", "1.", "1.5e+3", "1e", ".5", "+1", "\"a\\u12\"", "\"\\ud83d\"", "\"\\x\"", "\"a\tb\"",
            "\"open", "true false", "", " ", "{\"a\":{\"b\":[1,{\"c\":null}]}}", "[\"\u{7f}\"]", "Infinity", "{}}",
        ] {
            assert_eq!(whole(text.as_bytes()).is_ok(), judge(text), "{text:?}");
        }
    }

    #[test]
    fn depth_is_limited_and_long_strings_are_skipped() {
        let fits = "[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH);
        assert!(whole(fits.as_bytes()).is_ok());
        let bomb = "[".repeat(MAX_DEPTH + 2) + &"]".repeat(MAX_DEPTH + 2);
        assert_eq!(whole(bomb.as_bytes()).unwrap_err().what, "it is nested too deep");
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

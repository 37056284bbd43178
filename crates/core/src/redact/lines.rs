//! Private keys that span several lines of an output that is read line by line. Must not know the output.

use super::MASK;
use super::embedded::{key_ends, key_start};
use std::borrow::Cow;

/// Lines of the longest key. A key without an end hides no more than these.
const MAX_KEY_LINES: usize = 200;

/// The state between two lines of one output.
#[derive(Debug, Default)]
pub struct KeyLines {
    /// Lines of the current key that may still come.
    left: usize,
}

impl KeyLines {
    /// The line, without its part of a private key.
    pub fn mask<'a>(&mut self, line: &'a str) -> Cow<'a, str> {
        if self.left > 0 {
            self.left = if key_ends(line) { 0 } else { self.left - 1 };
            return Cow::Borrowed(MASK);
        }
        match key_start(line) {
            Some(start) if !key_ends(&line[start..]) => {
                self.left = MAX_KEY_LINES;
                Cow::Owned(format!("{}{MASK}", &line[..start]))
            }
            // A key within one line is found by its pattern.
            Some(_) | None => Cow::Borrowed(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_hidden_up_to_its_end() {
        let text = "a\nsee -----BEGIN PRIVATE KEY-----\nMIIE\n\n-----END PRIVATE KEY-----\nb";
        let mut lines = KeyLines::default();
        let masked: Vec<String> = text.lines().map(|line| lines.mask(line).into_owned()).collect();
        assert_eq!(masked, ["a", "see [redacted]", MASK, MASK, MASK, "b"]);
    }

    #[test]
    fn key_without_an_end_hides_no_more_than_a_key() {
        let mut lines = KeyLines::default();
        lines.mask("-----BEGIN PRIVATE KEY-----");
        let hidden = (0..1000).filter(|_| lines.mask("x") == MASK).count();
        assert_eq!(hidden, MAX_KEY_LINES);
    }
}

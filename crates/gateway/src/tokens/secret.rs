//! Random texts, their digests, and comparisons that leak no timing.

use crate::hex::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::io;

/// Prefix of our tokens, by which secret scanners and our own redaction know them.
const TOKEN_PREFIX: &str = "swb_";

/// SHA-256 of a token.
pub(crate) type Digest = [u8; 32];

/// A token in plain text. Its debug output does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A new token of 256 random bits.
    pub(crate) fn random() -> io::Result<Self> {
        Ok(Self(format!("{TOKEN_PREFIX}{}", random()?)))
    }

    /// The text itself, to be shown once or compared.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// 256 random bits, as text.
pub(crate) fn random() -> io::Result<String> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(hex(&bytes))
}

pub(crate) fn digest(token: &str) -> Digest {
    Sha256::digest(token.as_bytes()).into()
}

/// Comparison in constant time, so that a secret cannot be guessed byte by byte.
pub(crate) fn same(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |sum, (one, other)| sum | (one ^ other));
    // `black_box` keeps the compiler from ending the comparison early.
    one.len() == other.len() && std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_random_and_hidden() {
        let (one, other) = (Secret::random().unwrap(), Secret::random().unwrap());
        assert_ne!(one, other);
        assert!(one.expose().starts_with("swb_") && one.expose().len() == 4 + 64);
        assert!(!format!("{one:?}").contains(one.expose()));
    }

    #[test]
    fn equal_means_equal_to_the_last_byte() {
        assert!(same(b"", b"") && same(b"abc", b"abc"));
        for other in [&b"abd"[..], b"ab", b"abcd", b""] {
            assert!(!same(b"abc", other));
        }
    }
}

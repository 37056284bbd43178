//! Values after words that announce a secret: `token: x`, `"apiKey": "x"`, `--password x`, `Authorization:
//! Bearer x`. Must not know the config's own values.

use super::MASK;
use super::shape::{end_of, is_end, is_path, is_quote, is_readable};
use std::ops::Range;

/// A word that announces a secret.
struct Word {
    text: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The next value is a secret.
    Strong,
    /// The next value is a secret if it looks random.
    Weak,
    /// The next value is a secret unless it is a folder: `PWD` is also the working folder.
    Password,
    /// A scheme, and then the secret.
    Authorization,
    /// The secret follows without a sign in between.
    Scheme,
    /// Everything up to the end of the line.
    Cookies,
}

const fn word(text: &'static str, kind: Kind) -> Word {
    Word { text, kind }
}

/// In lower case; longer words before shorter ones with the same beginning.
const WORDS: &[Word] = &[
    word("token", Kind::Strong),
    word("secret", Kind::Strong),
    word("session_auth", Kind::Strong),
    word("signature", Kind::Weak),
    word("sig", Kind::Weak),
    word("set-cookie", Kind::Cookies),
    word("password", Kind::Strong),
    word("passwd", Kind::Strong),
    word("passphrase", Kind::Strong),
    word("passcode", Kind::Strong),
    word("private_key", Kind::Strong),
    word("private-key", Kind::Strong),
    word("privatekey", Kind::Strong),
    word("pwd", Kind::Password),
    word("api_key", Kind::Strong),
    word("api-key", Kind::Strong),
    word("apikey", Kind::Strong),
    word("access_key", Kind::Strong),
    word("access-key", Kind::Strong),
    word("accesskey", Kind::Strong),
    word("account_key", Kind::Strong),
    word("accountkey", Kind::Strong),
    word("authorization", Kind::Authorization),
    word("auth", Kind::Weak),
    word("bearer", Kind::Scheme),
    word("credentials", Kind::Strong),
    word("credential", Kind::Strong),
    word("cookie", Kind::Cookies),
    word("key", Kind::Weak),
];

/// Schemes of `Authorization` that precede one word.
const SCHEMES: &[&str] =
    &["apikey", "basic", "bearer", "dpop", "negotiate", "ntlm", "oauth", "splunk", "token"];
/// Schemes of `Authorization` whose parameters fill the line.
const LONG_SCHEMES: &[&str] = &["aws4-hmac-sha256", "digest", "hmac"];
/// Parameters of a challenge, which a server sends to a client: `Bearer realm="x"`.
const CHALLENGES: &[&str] = &["realm=", "error=", "scope=", "resource_metadata="];
/// Values that say that there is no secret.
const EMPTY: &[&str] = &["null", "none", "nil", "undefined", "true", "false"];

/// Longest text between a word and its value.
const MAX_BETWEEN_BYTES: usize = 24;
/// Values that follow without a sign are secrets from this length on, if they hold a digit.
const MIN_RANDOM_BYTES: usize = 8;
/// The same for values after words that also announce other things.
const MIN_WEAK_BYTES: usize = 16;
/// Unbroken text that is longer is not made to be read.
const MAX_READABLE_BYTES: usize = 256;
/// Words after `Bearer` that are longer are no words of a sentence.
const MAX_SENTENCE_WORD_BYTES: usize = 20;

/// All words, in lower case.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    WORDS.iter().map(|word| word.text)
}

/// The secret that a word at this position announces.
pub(super) fn find(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[at..];
    let is_here = |word: &&Word| {
        rest.get(..word.text.len()).is_some_and(|here| here.eq_ignore_ascii_case(word.text.as_bytes()))
    };
    let word = WORDS.iter().find(is_here)?;
    let between = Between::after(text, at + word.text.len())?;
    let start = between.end;
    let end = between.opening.map_or_else(|| end_of(text, start), |opening| opening.closing(text, start));
    let value = &text[start..end];
    match word.kind {
        Kind::Authorization if between.has_sign && between.opening.is_none() => {
            if let Some(range) = after_scheme(text, start..end) {
                return Some(range);
            }
        }
        Kind::Cookies if between.has_sign && between.opening.is_none() => {
            let end = line_end(text, start);
            return (!says_nothing(&text[start..end])).then_some(start..end);
        }
        Kind::Authorization | Kind::Cookies | Kind::Strong | Kind::Weak | Kind::Password | Kind::Scheme => {}
    }
    if says_nothing(value) {
        return None;
    }
    let is_secret = match word.kind {
        Kind::Strong | Kind::Authorization | Kind::Cookies => between.has_sign || looks_random(value),
        Kind::Weak => {
            between.has_sign
                && begins_word(text, at)
                && value.len() >= MIN_WEAK_BYTES
                && !is_plain(value, is_readable)
        }
        Kind::Password => between.has_sign && !is_plain(value, is_path),
        Kind::Scheme => between.has_sign || is_after_scheme(value),
    };
    is_secret.then_some(start..end)
}

/// The text between a word and its value.
struct Between {
    end: usize,
    /// `=` or `:`, not only a space.
    has_sign: bool,
    /// The quote that opens the value.
    opening: Option<Quote>,
}

#[derive(Clone, Copy)]
struct Quote {
    mark: u8,
    /// Depth of the string in strings: `"`, `\"`, `\\\"`.
    depth: u32,
}

impl Between {
    fn after(text: &str, start: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let (mut at, mut has_sign, mut quotes, mut commas) = (start, false, 0, 0);
        let mut opening: Option<Quote> = None;
        while let Some(&byte) = bytes.get(at).filter(|_| at - start < MAX_BETWEEN_BYTES) {
            let mut opens = None;
            match byte {
                b'=' | b':' => has_sign = true,
                b'%' if is_escaped_sign(&bytes[at..]) => (has_sign, at) = (true, at + 2),
                // Ruby writes `=>`; XML ends the name with it.
                b'>' if has_sign || at == start => has_sign = true,
                b'"' | b'\'' | b'`' => {
                    let mark = Quote::at(bytes, at);
                    // Two quotes next to each other are an empty value.
                    if has_sign && opening.is_some_and(|last| last.mark == mark.mark) {
                        return None;
                    }
                    opens = Some(mark);
                    quotes += 1;
                }
                b',' if !has_sign && quotes > 0 => commas += 1,
                b' ' | b'\t' | b'\\' => {}
                _ => break,
            }
            // The backslashes of an escaped quote come before it.
            opening = opens.or_else(|| opening.filter(|_| byte == b'\\'));
            at += 1;
        }
        let is_full = at >= bytes.len() || at - start >= MAX_BETWEEN_BYTES;
        // A space, or the end of one argument and the start of the next: `"--token", "x"`.
        let is_space = &bytes[start..at] == b" " || (commas == 1 && quotes == 2);
        (!is_full && (has_sign || is_space)).then_some(Self { end: at, has_sign, opening })
    }
}

impl Quote {
    fn at(bytes: &[u8], at: usize) -> Self {
        let backslashes = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        // A quote inside of a string is escaped, and so is the escape inside of another string.
        Self { mark: bytes[at], depth: backslashes.trailing_ones() }
    }

    /// The end of the string that begins at `start`: its closing quote, that of a string around it, or
    /// the end of the line.
    fn closing(self, text: &str, start: usize) -> usize {
        let bytes = text.as_bytes();
        let mut backslashes: usize = 0;
        for (at, &byte) in bytes.iter().enumerate().skip(start) {
            match byte {
                b'\\' => {
                    backslashes += 1;
                    continue;
                }
                b'\n' => return at,
                byte if byte == self.mark && backslashes.trailing_ones() <= self.depth => {
                    // The backslashes of the closing quote itself.
                    return at - (backslashes & ((1 << backslashes.trailing_ones()) - 1));
                }
                _ => {}
            }
            backslashes = 0;
        }
        bytes.len()
    }
}

fn is_escaped_sign(bytes: &[u8]) -> bool {
    bytes.get(..3).is_some_and(|sign| sign.eq_ignore_ascii_case(b"%3d") || sign.eq_ignore_ascii_case(b"%3a"))
}

/// The secret after a scheme of `Authorization`.
fn after_scheme(text: &str, scheme: Range<usize>) -> Option<Range<usize>> {
    let name = text[scheme.clone()].to_ascii_lowercase();
    let start = scheme.end + 1;
    if !text[scheme.end..].starts_with(' ') {
        return None;
    }
    let end = match () {
        () if LONG_SCHEMES.contains(&name.as_str()) => line_end(text, start),
        () if SCHEMES.contains(&name.as_str()) => end_of(text, start),
        () => return None,
    };
    let value = &text[start..end];
    (!says_nothing(value)).then_some(start..end)
}

fn line_end(text: &str, start: usize) -> usize {
    let length = text[start..].find(|c: char| is_quote(c) || matches!(c, '\n' | '\r' | '\\'));
    length.map_or(text.len(), |length| start + length)
}

/// Whether a value is no secret: nothing, a mask, a reference to a variable, or the next word of these.
fn says_nothing(value: &str) -> bool {
    let bare = value.trim_matches(|c: char| is_quote(c) || is_end(c));
    let is_word = |known: &str| bare.eq_ignore_ascii_case(known);
    let is_reference = || {
        let inner = bare.strip_prefix("${").or_else(|| bare.strip_prefix("$"));
        inner.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    bare.is_empty()
        || bare == MASK
        || EMPTY.iter().any(|known| is_word(known))
        || WORDS.iter().any(|word| is_word(word.text))
        || SCHEMES.iter().chain(LONG_SCHEMES).any(|known| is_word(known))
        || bare.chars().all(|c| matches!(c, '*' | '•' | '.'))
        || is_reference()
}

/// Distinguishes `--token a81bc81b4f` from `the token is missing`, which the reader needs to see.
fn looks_random(value: &str) -> bool {
    value.len() >= MIN_RANDOM_BYTES && value.contains(|c: char| c.is_ascii_digit()) && !value.contains(MASK)
}

/// Whether a value after a word that also announces other things is no secret.
fn is_plain(value: &str, is_harmless: fn(&str) -> bool) -> bool {
    // The limit also keeps the search linear: a value that stays is searched again.
    value.len() <= MAX_READABLE_BYTES && (value.contains(MASK) || is_harmless(value))
}

/// Distinguishes `Bearer abc.def` from `Bearer authentication is required`.
fn is_after_scheme(value: &str) -> bool {
    let word = value.trim_end_matches(['.', ':', '!', '?']);
    let is_word = word.chars().all(char::is_alphabetic) && word.len() <= MAX_SENTENCE_WORD_BYTES;
    !is_word && !CHALLENGES.iter().any(|start| word.starts_with(start)) && !value.contains(MASK)
}

fn begins_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn announced_values_are_masked() {
        for (text, expect) in [
            ("GITHUB_TOKEN=abc123 next", "GITHUB_TOKEN=[redacted] next"),
            (r#"{"apiKey":"k-1","name":"x"}"#, r#"{"apiKey":"[redacted]","name":"x"}"#),
            ("password = 'p w' x", "password = '[redacted]' x"),
            ("https://x/?token=abc&y=1", "https://x/?token=[redacted]&y=1"),
            ("?redirect=x%3Ftoken%3Dabc&y=1", "?redirect=x%3Ftoken%3D[redacted]&y=1"),
            ("run x --api-key a81bc81b4f --verbose", "run x --api-key [redacted] --verbose"),
            (r#"["--api-key", "a81bc81b4f"]"#, r#"["--api-key", "[redacted]"]"#),
            ("täglich token: ö", "täglich token: [redacted]"),
            ("<password>abc</password>", "<password>[redacted]"),
            (":password=>\"a b\", 1", ":password=>\"[redacted]\", 1"),
            ("aws_secret_access_key = wJalrXUtnFEMI/K7", "aws_secret_access_key = [redacted]"),
            ("Server=x;Uid=me;Pwd=hunter2;", "Server=x;Uid=me;Pwd=[redacted];"),
            ("AccountName=a;AccountKey=abc==;End", "AccountName=a;AccountKey=[redacted];End"),
            ("?key=0123456789abcdef0123", "?key=[redacted]"),
        ] {
            check(text, expect);
        }
    }

    #[test]
    fn quoted_values_end_at_their_quote() {
        for (text, expect) in [
            (r#""token":"a\"b c","x":1"#, r#""token":"[redacted]","x":1"#),
            (r#"\"token\":\"abc\",\"x\":1"#, r#"\"token\":\"[redacted]\",\"x\":1"#),
            (r#"\"token\":\"a\\\"b\",\"x\":1"#, r#"\"token\":\"[redacted]\",\"x\":1"#),
            (r#""body":"{\"token\":\"abc","x":1"#, r#""body":"{\"token\":\"[redacted]","x":1"#),
            ("\"token\":\"abc\nnext", "\"token\":\"[redacted]\nnext"),
            (r#"{"token":"","name":"x"}"#, r#"{"token":"","name":"x"}"#),
        ] {
            check(text, expect);
        }
    }

    #[test]
    fn headers_are_masked() {
        for (text, expect) in [
            ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"),
            ("Authorization: Bearer abcdef is bad", "Authorization: Bearer [redacted] is bad"),
            ("authorization: Basic bWU6eA== now", "authorization: Basic [redacted] now"),
            ("Authorization: Digest username=\"a\"", "Authorization: Digest [redacted]\"a\""),
            ("Authorization: abc", "Authorization: [redacted]"),
            (r#""Authorization":"Basic bWU6eA==""#, r#""Authorization":"[redacted]""#),
            ("Cookie: a=b; session=c", "Cookie: [redacted]"),
            (r#"{"cookie":"a=b; c=d","x":1}"#, r#"{"cookie":"[redacted]","x":1}"#),
        ] {
            check(text, expect);
        }
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "no secrets here, only a tokenizer",
            "1200 tokens were used, max_tokens=4096",
            "Error: GITHUB_TOKEN is not set",
            "token: null, secret=undefined",
            "Authorization: Bearer ${TOKEN}",
            "Bearer authentication is required.",
            "WWW-Authenticate: Bearer realm=\"x\"",
            "PWD=/home/me/app",
            "key: value, sort_key=name",
            "password: ****",
            "passEnv: [\"GITHUB_TOKEN\"]",
            "",
        ] {
            check(text, text);
        }
    }
}

//! Redaction: texts that look like secrets are masked in logs, and in the stderr lines that errors contain. A
//! best effort, based on how secrets are usually written; message bodies are not logged at all unless
//! requested. Must not know where a text comes from.

/// Words that precede a secret, as in `token: x`, `"apiKey": "x"`, `Authorization: Bearer x`.
const ANNOUNCING: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
    "api_key",
    "api-key",
    "authorization",
    "bearer",
    "credential",
    "private_key",
    "access_key",
    "session_auth",
    "cookie",
];
/// Prefixes of keys of well-known services.
const PREFIXES: &[&str] =
    &["sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "eyJ"];
const MASK: &str = "[redacted]";

/// The text with everything that looks like a secret masked.
pub fn redact(text: &str) -> String {
    // ASCII only, so that offsets are the same in both texts.
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    while let Some((start, end)) = next_secret(text, &lower, from) {
        out.push_str(&text[from..start]);
        out.push_str(MASK);
        from = end;
    }
    out.push_str(&text[from..]);
    out
}

/// The next secret at or after `from`.
fn next_secret(text: &str, lower: &str, from: usize) -> Option<(usize, usize)> {
    let announced = ANNOUNCING.iter().filter_map(|word| announced_by(text, lower, word, from));
    let prefixed = PREFIXES.iter().filter_map(|prefix| prefixed_by(text, prefix, from));
    announced.chain(prefixed).min()
}

fn announced_by(text: &str, lower: &str, word: &str, from: usize) -> Option<(usize, usize)> {
    let mut search = from;
    while let Some(found) = lower[search..].find(word) {
        let after = search + found + word.len();
        if let Some((skip, sign)) = value_start(&text[after..]) {
            let start = after + skip;
            let end = start + text[start..].find(is_end).unwrap_or(text.len() - start);
            // `bearer` and the like precede the secret; they are not the secret itself.
            let is_word = ANNOUNCING.contains(&lower[start..end].trim_matches(is_quote));
            let is_value = sign == Sign::Mark || word == "bearer" || looks_random(&text[start..end]);
            // A text may pass through here twice, so a mask is not masked again.
            if end > start && is_value && !is_word && &text[start..end] != MASK {
                return Some((start, end));
            }
        }
        search = after;
    }
    None
}

/// The text between a word and its value.
#[derive(PartialEq, Eq)]
enum Sign {
    /// `=` or `:`
    Mark,
    Space,
}

/// Offset of the value after a word, if one follows.
fn value_start(rest: &str) -> Option<(usize, Sign)> {
    let skipped = rest.find(|c: char| !(is_quote(c) || matches!(c, ' ' | '=' | ':' | '\\')))?;
    let between = &rest[..skipped];
    if between.contains(['=', ':']) {
        return Some((skipped, Sign::Mark));
    }
    (between == " ").then_some((skipped, Sign::Space))
}

/// Distinguishes `--token a81bc81b4f` from `the token is missing`, which the reader needs to see.
fn looks_random(value: &str) -> bool {
    value.len() >= 8 && value.contains(|c: char| c.is_ascii_digit())
}

fn prefixed_by(text: &str, prefix: &str, from: usize) -> Option<(usize, usize)> {
    let mut search = from;
    while let Some(found) = text[search..].find(prefix) {
        let start = search + found;
        let end = start + text[start..].find(is_end).unwrap_or(text.len() - start);
        let begins_word = !text[..start].ends_with(|c: char| c.is_ascii_alphanumeric());
        // Shorter words with such a prefix are not keys.
        if begins_word && end - start >= prefix.len() + 12 {
            return Some((start, end));
        }
        search = start + prefix.len();
    }
    None
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

fn is_end(c: char) -> bool {
    c.is_whitespace() || is_quote(c) || matches!(c, ',' | ';' | '}' | ')' | '&' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_nothing_else() {
        for (text, expect) in [
            ("GITHUB_TOKEN=abc123 next", "GITHUB_TOKEN=[redacted] next"),
            (r#"{"apiKey":"k-1","name":"x"}"#, r#"{"apiKey":"[redacted]","name":"x"}"#),
            ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"),
            ("password = 'p w' x", "password = '[redacted] w' x"),
            ("https://x/?token=abc&y=1", "https://x/?token=[redacted]&y=1"),
            ("use sk-abcdefghijklmnop now", "use [redacted] now"),
            ("no secrets here, only a tokenizer", "no secrets here, only a tokenizer"),
            ("1200 tokens were used", "1200 tokens were used"),
            ("Error: GITHUB_TOKEN is not set", "Error: GITHUB_TOKEN is not set"),
            ("run x --api-key a81bc81b4f --verbose", "run x --api-key [redacted] --verbose"),
            ("", ""),
            ("täglich token: ö", "täglich token: [redacted]"),
            (r#"\"token\":\"abc\""#, r#"\"token\":\"[redacted]\""#),
        ] {
            assert_eq!(redact(text), expect);
        }
    }
}

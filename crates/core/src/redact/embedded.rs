//! Private keys, and passwords in addresses: `postgres://me:PASSWORD@host`. Must not know what they are for.

use super::MASK;
use super::shape::{is_end, is_quote, is_readable};
use std::ops::Range;

/// The beginnings of what is searched for here.
pub(super) const STARTS: [&str; 2] = [BEGIN, "://"];

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const RULE: &str = "-----";
/// Certificates and public keys are no secrets.
const PRIVATE: &str = "PRIVATE KEY";
/// Longest text between `BEGIN` and the next rule.
const MAX_LABEL_BYTES: usize = 64;
/// Distance within which the end of a password is looked for.
const MAX_PASSWORD_BYTES: usize = 256;
/// Shorter users without a password are names, such as `git@`.
const MIN_USER_BYTES: usize = 16;

/// Whether a private key begins in this text, and where.
pub(super) fn key_start(text: &str) -> Option<usize> {
    text.match_indices(BEGIN).map(|(at, _)| at).find(|at| is_key(&text[*at..]))
}

/// Whether a private key ends in this text.
pub(super) fn key_ends(text: &str) -> bool {
    text.contains(END)
}

fn is_key(text: &str) -> bool {
    let label = &text[BEGIN.len()..];
    let end = label.find(RULE).unwrap_or(label.len());
    let is_label = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == ' ';
    end <= MAX_LABEL_BYTES && label[..end].contains(PRIVATE) && label[..end].chars().all(is_label)
}

/// The private key that begins at this position. One without an end is cut off, and hidden up to the end
/// of its text: a quote, which no key contains.
pub(super) fn key(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    if !rest.starts_with(BEGIN) || !is_key(rest) {
        return None;
    }
    let own = &rest[..rest.find(is_quote).unwrap_or(rest.len())];
    let end = own.find(END).and_then(|end| {
        let label = &own[end + END.len()..];
        label.find(RULE).map(|length| end + END.len() + length + RULE.len())
    });
    // A backslash before the quote belongs to the quote.
    let end = end.unwrap_or_else(|| own.trim_end_matches('\\').len());
    Some(at..at + end)
}

/// The password of an address whose `://` is at this position; with the user, where that is a key itself.
pub(super) fn password(text: &str, at: usize) -> Option<Range<usize>> {
    let start = at + text[at..].strip_prefix("://").map(|_| 3)?;
    let length = text[start..].find(|c: char| is_end(c) || matches!(c, '/' | '?' | '#'));
    let authority = &text[start..length.map_or(text.len(), |length| start + length)];
    let authority = with_slashes(text, start, authority);
    let user_info = &authority[..authority.rfind('@')?];
    let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
    let range = match password.is_empty() || is_key_like(user) {
        true if is_key_like(user) => start..start + user_info.len(),
        true => return None,
        false => start + user.len() + 1..start + user_info.len(),
    };
    let value = &text[range.clone()];
    (value != MASK && !value.starts_with("${")).then_some(range)
}

/// The authority with a password that holds a slash, although it should be encoded there.
fn with_slashes<'a>(text: &'a str, start: usize, authority: &'a str) -> &'a str {
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if authority.contains('@') || authority.split_once(':').is_none_or(|(_, port)| is_port(port)) {
        return authority;
    }
    let mut end = (start + MAX_PASSWORD_BYTES).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let near = &text[start..end];
    let word = &near[..near.find(is_end).unwrap_or(near.len())];
    word.rfind('@').map_or(authority, |at| &word[..=at])
}

fn is_key_like(user: &str) -> bool {
    user.len() >= MIN_USER_BYTES && !is_readable(user)
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn private_keys_are_masked() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE+/=\n\nabc\n-----END RSA PRIVATE KEY-----";
        check(&format!("see {key}\nnext"), "see [redacted]\nnext");
        let escaped = key.replace('\n', "\\n");
        check(&format!(r#"{{"k":"{escaped}","x":1}}"#), r#"{"k":"[redacted]","x":1}"#);
        check(r#"{"k":"-----BEGIN PRIVATE KEY-----\nMIIE","x":1}"#, r#"{"k":"[redacted]","x":1}"#);
        check(r#"\"-----BEGIN PRIVATE KEY-----\\nMIIE\",1"#, r#"\"[redacted]\",1"#);
        let public = "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----";
        check(public, public);
    }

    #[test]
    fn passwords_in_addresses_are_masked() {
        check("postgres://me:hunter2@db:5432/x", "postgres://me:[redacted]@db:5432/x");
        check("redis://:hunter2@db", "redis://:[redacted]@db");
        check("postgres://me:hun/ter+2@db/x", "postgres://me:[redacted]@db/x");
        check("see amqps://me:p@ss@mq, or", "see amqps://me:[redacted]@mq, or");
        check("https://0123456789abcdefabcd:x@github.com/a", "https://[redacted]@github.com/a");
        check("https://a1b2c3d4e5f6a7b8c9@github.com/a", "https://[redacted]@github.com/a");
        for plain in [
            "ssh://git@github.com/a/b",
            "https://example.com/@scope/x",
            "http://127.0.0.1:8080/mcp",
            "https://x/?to=me@example.com",
            "https://example.com:8443/@scope/package@1.2.3",
            "postgres://${USER}:${PASSWORD}@db",
            "://",
            "a://@",
        ] {
            check(plain, plain);
        }
    }
}

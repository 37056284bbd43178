//! Keys of well-known services, recognised by how they begin. Must not know what stands before them.

use super::shape::end_of;
use std::ops::Range;

/// The beginning of a key, and what must follow.
struct KeyStart {
    text: &'static str,
    rest: Rest,
}

/// The text after the beginning of a key.
enum Rest {
    /// At least twelve characters of a key.
    Any,
    /// At least this many letters and digits, among them a digit. For beginnings that are also names, such as
    /// `npm_config_registry`.
    Random(usize),
    /// Sixteen capitals and digits.
    Capitals,
}

/// Shorter words with the beginning of a key are no keys.
const MIN_REST_BYTES: usize = 12;
const MIN_CAPITALS: usize = 16;

const fn any(text: &'static str) -> KeyStart {
    KeyStart { text, rest: Rest::Any }
}

const fn random(text: &'static str, at_least: usize) -> KeyStart {
    KeyStart { text, rest: Rest::Random(at_least) }
}

const fn capitals(text: &'static str) -> KeyStart {
    KeyStart { text, rest: Rest::Capitals }
}

const STARTS: &[KeyStart] = &[
    // Our own.
    any("swb_"),
    // AWS, Google, Azure.
    capitals("AKIA"),
    random("ASIA", 16),
    any("AIza"),
    any("ya29."),
    // GitHub, GitLab, Atlassian.
    any("ghp_"),
    any("gho_"),
    any("ghu_"),
    any("ghs_"),
    any("ghr_"),
    any("github_pat_"),
    any("glpat-"),
    any("glrt-"),
    any("gldt-"),
    any("ATATT3"),
    // Package registries.
    random("npm_", 16),
    random("pypi-", 16),
    any("dckr_pat_"),
    // Models.
    any("sk-"),
    random("hf_", 16),
    random("gsk_", 16),
    random("xai-", 16),
    any("nvapi-"),
    random("r8_", 16),
    // Payment, messages, monitoring and others.
    any("sk_live_"),
    any("sk_test_"),
    any("rk_live_"),
    any("rk_test_"),
    any("whsec_"),
    any("xoxb-"),
    any("xoxp-"),
    any("xoxa-"),
    any("xoxr-"),
    any("xoxs-"),
    any("xapp-"),
    random("SG.", 16),
    any("glsa_"),
    any("dop_v1_"),
    any("shpat_"),
    any("shpss_"),
    any("lin_api_"),
    random("ntn_", 16),
    any("hvs."),
    any("sbp_"),
    any("figd_"),
    any("PMAK-"),
    any("AGE-SECRET-KEY-"),
    // JSON in base64: a JSON Web Token.
    any("eyJ"),
];

/// The key that begins at this position.
pub(super) fn find(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    let start = STARTS.iter().find(|start| rest.starts_with(start.text))?;
    if !begins_word(text, at) {
        return None;
    }
    // The end is looked for only once the key is certain, so that each stretch of text is searched once.
    start.rest.is_met(&rest[start.text.len()..]).then(|| at..end_of(text, at))
}

/// The beginnings of all keys.
pub(super) fn starts() -> impl Iterator<Item = &'static str> {
    STARTS.iter().map(|start| start.text)
}

impl Rest {
    fn is_met(&self, rest: &str) -> bool {
        let all = |count: usize, is: fn(&u8) -> bool| {
            rest.as_bytes().get(..count).is_some_and(|start| start.iter().all(is))
        };
        match *self {
            Self::Any => {
                all(MIN_REST_BYTES, |byte| byte.is_ascii_alphanumeric() || b"-_.+/=~".contains(byte))
            }
            Self::Random(count) => {
                let is_random = |start: &str| start.contains(|c: char| c.is_ascii_digit());
                all(count, u8::is_ascii_alphanumeric) && is_random(&rest[..count])
            }
            Self::Capitals => all(MIN_CAPITALS, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()),
        }
    }
}

/// Whether a word begins here. The letter of an escape such as `\n` does not belong to the word after it.
fn begins_word(text: &str, at: usize) -> bool {
    let mut before = text[..at].chars().rev();
    match (before.next(), before.next()) {
        (Some('n' | 't' | 'r'), Some('\\')) => true,
        (Some(c), _) => !c.is_ascii_alphanumeric(),
        (None, _) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::redact;

    #[test]
    fn keys_are_recognised() {
        for key in [
            "swb_0123456789abcdef0123456789abcdef",
            "AKIAIOSFODNN7EXAMPLE",
            "ASIAIOSFODNN7EXAMPLE",
            "AIzaSyA-1234567890abcdefghijklmnopqrstu",
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "github_pat_11ABCDEFG0abcdefghij_klmnop",
            "glpat-abcdefghijklmnopqrst",
            "npm_a1cdefghijklmnopqrstuvwxyz0123456789",
            "pypi-AgEIcHlwaS5vcmcCJDU0NzI1Zjg0",
            "hf_aBcDeFgH1jKlMnOpQrStUvWxYz01234567",
            "glsa_0123456789abcdefABCDEF0123456789_a1b2c3d4",
            "xapp-1-A0123456789-0123456789012-abcdef",
            "xoxb-123456789012-abcdefghijkl",
            "sk_live_0123456789abcdefghij",
            "rk_live_0123456789abcdefghij",
            "sk-proj-abcdefghijklmnop",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        ] {
            for text in [format!("use {key} now"), format!(r#"{{"x":"a\n{key}"}}"#), format!("({key})")] {
                assert_eq!(redact(&text), text.replace(key, "[redacted]"));
            }
        }
    }

    #[test]
    fn names_are_not_keys() {
        for text in [
            "npm_config_registry",
            "npm_lifecycle_event is set",
            "pypi-attestation-models",
            "hf_hub_enable_hf_transfer",
            "ASIANDEVELOPMENTBANK",
            "sk-short",
            "xghp_abcdefghijklmnopqrst",
            "eyJ",
        ] {
            assert_eq!(redact(text), text);
        }
    }
}

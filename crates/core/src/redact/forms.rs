//! Other spellings of a value: inside JSON, inside an address, and inside base64. Must not know which values.

use super::judge::MIN_SECRET_BYTES;
use crate::text::percent;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Longer values are searched for line by line.
pub(super) const MAX_VALUE_BYTES: usize = 4096;

/// Everything except the characters that `encodeURIComponent` of JavaScript keeps.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*');

/// All spellings of a value that are searched for, with the value itself.
pub(super) fn forms(value: &str) -> Vec<String> {
    if value.len() > MAX_VALUE_BYTES {
        return Vec::new();
    }
    let mut forms = vec![value.to_owned()];
    forms.extend(json(value));
    forms.extend(percent_encoded(value));
    forms.extend((0..3).flat_map(|offset| base64_at(value, offset)));
    forms.retain(|form| form.len() >= MIN_SECRET_BYTES);
    forms.sort();
    forms.dedup();
    forms
}

fn json(value: &str) -> Vec<String> {
    let escaped = serde_json::to_string(value).unwrap_or_default();
    let escaped = escaped.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned();
    // PHP escapes slashes, and Python all that is not ASCII.
    vec![escaped.replace('/', "\\/"), ascii(&escaped), escaped]
}

fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut units = [0; 2];
    for c in text.chars() {
        match c.is_ascii() {
            true => out.push(c),
            false => c.encode_utf16(&mut units).iter().for_each(|unit| out += &format!("\\u{unit:04x}")),
        }
    }
    out
}

fn percent_encoded(value: &str) -> Vec<String> {
    let upper = [
        percent::encode_segment(value).to_string(),
        percent::encode_path(value).to_string(),
        utf8_percent_encode(value, COMPONENT).to_string(),
    ];
    let with_plus = upper.clone().map(|form| form.replace("%20", "+"));
    let upper: Vec<String> = upper.into_iter().chain(with_plus).collect();
    let lower: Vec<String> = upper.iter().map(|form| lower_escapes(form)).collect();
    upper.into_iter().chain(lower).collect()
}

/// The same with `%2f` for `%2F`.
fn lower_escapes(form: &str) -> String {
    let mut parts = form.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (escape, rest) = part.split_at(part.len().min(2));
        out = out + "%" + &escape.to_ascii_lowercase() + rest;
    }
    out
}

/// The part of base64 that the value alone determines, if `offset` bytes precede it: `user:VALUE`, say.
fn base64_at(value: &str, offset: usize) -> Vec<String> {
    let padded = [&[0; 3][..offset], value.as_bytes()].concat();
    // Six bits to a character: the first and the last one may also hold bits of the neighbours.
    let own = (8 * offset).div_ceil(6)..8 * padded.len() / 6;
    let part = |text: String| text.get(own.clone()).unwrap_or_default().to_owned();
    vec![part(STANDARD_NO_PAD.encode(&padded)), part(URL_SAFE_NO_PAD.encode(&padded))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, text: &str) {
        let forms = forms(value);
        assert!(forms.iter().any(|form| text.contains(form)), "{text} has none of {forms:?}");
    }

    #[test]
    fn usual_spellings_are_among_the_forms() {
        check("pass word/1\"ä", "pass word/1\"ä");
        check("pass word/1\"ä", r#"{"x":"pass word/1\"ä"}"#);
        check("pass word/1\"ä", r#"{"x":"pass word\/1\"ä"}"#);
        check("pass word/1\"ä", r#"{"x":"pass word/1\"\u00e4"}"#);
        check("pass word/1", "?x=pass%20word%2F1&y");
        check("pass word/1", "?x=pass%20word%2f1&y");
        check("pass word/1", "?x=pass+word%2F1&y");
        check("pass word/1", "https://h/pass%20word/1");
        for user in ["", "a", "ab", "abc"] {
            let plain = format!("{user}:hunter22-and-more!");
            check("hunter22-and-more!", &STANDARD_NO_PAD.encode(&plain));
            check("hunter22-and-more!", &URL_SAFE_NO_PAD.encode(&plain));
        }
    }

    #[test]
    fn short_and_huge_values_have_no_forms() {
        assert!(forms("1234567").iter().all(|form| form.len() >= MIN_SECRET_BYTES));
        assert!(forms(&"x1".repeat(MAX_VALUE_BYTES)).is_empty());
    }
}

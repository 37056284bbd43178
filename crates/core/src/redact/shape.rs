//! The shape of a text: random, as keys are, or made to be read. Must not know what a text is called.

/// Words of letters that are longer than this are no words.
const MAX_WORD_CHARS: usize = 24;
/// Mixtures of letters and digits up to this length, and with so few changes between the two, are
/// abbreviations: `utf8mb4`, `k8s`.
const MAX_MIXED_CHARS: usize = 7;
const MAX_MIXED_CHANGES: usize = 3;
/// With the digits at one end only, as in `server2026`, a mixture may be longer.
const MAX_NUMBERED_CHARS: usize = 16;
/// A text with so many changes, and one of them for every three characters, is random even if each part of it
/// is short.
const MIN_RANDOM_CHANGES: usize = 6;
/// Words within a word, and their average length, that `camelCase` hardly has.
const MIN_RANDOM_STARTS: usize = 3;
const MIN_WORD_CHARS: usize = 4;

/// Whether a text consists of words, numbers and abbreviations: a host, a version, a model, a date, a path.
/// Random texts change between letters and digits all the time.
pub(super) fn is_readable(text: &str) -> bool {
    let (mut changes, mut length) = (0, 0);
    for part in parts(text) {
        if !is_readable_part(part) {
            return false;
        }
        changes += class_changes(part);
        length += part.chars().count();
    }
    changes < MIN_RANDOM_CHANGES || 3 * changes < length
}

/// Words and numbers of a text.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty())
}

/// Number of words in a text, without numbers.
pub(super) fn word_count(text: &str) -> usize {
    parts(text).filter(|part| part.contains(char::is_alphabetic)).count()
}

fn is_readable_part(part: &str) -> bool {
    let length = part.chars().count();
    match class_changes(part) {
        0 if part.chars().all(char::is_numeric) => true,
        0 => length <= MAX_WORD_CHARS && !has_random_case(part, length),
        1 => length <= MAX_NUMBERED_CHARS,
        2..=MAX_MIXED_CHANGES => length <= MAX_MIXED_CHARS,
        _ => false,
    }
}

/// Number of changes between letters and digits.
fn class_changes(part: &str) -> usize {
    let digits: Vec<bool> = part.chars().map(char::is_numeric).collect();
    digits.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Whether capitals stand where no word of `camelCase` begins.
fn has_random_case(part: &str, length: usize) -> bool {
    let capitals: Vec<bool> = part.chars().map(char::is_uppercase).collect();
    let starts = capitals.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    starts >= MIN_RANDOM_STARTS && length < MIN_WORD_CHARS * (starts + 1)
}

/// Whether a text begins like a path of a file system.
pub(super) fn is_path(text: &str) -> bool {
    let mut chars = text.chars();
    let is_drive = chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.next() == Some(':')
        && matches!(chars.next(), Some('\\' | '/'));
    is_drive || ["/", "~", "./", "../", ".\\", "..\\", "\\\\"].iter().any(|start| text.starts_with(start))
}

/// The end of an unquoted value.
pub(super) fn is_end(c: char) -> bool {
    c.is_whitespace() || is_quote(c) || matches!(c, ',' | ';' | '}' | ')' | '&' | '\\')
}

pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

/// The offset of the first end at or after `start`.
pub(super) fn end_of(text: &str, start: usize) -> usize {
    text[start..].find(is_end).map_or(text.len(), |length| start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readable_texts_are_told_from_random_ones() {
        for readable in [
            "",
            "production",
            "us-east-1",
            "gpt-4o-mini-2024-07-18",
            "claude-sonnet-4-20250514",
            "@modelcontextprotocol/server-github@2025.1.1",
            "en_US.UTF-8",
            "utf8mb4",
            "getHTTPResponseCodeXYZ",
            "https://example.com:8443/mcp",
            "me@example.com",
            "2026-11-18T00:12:33.123Z",
            "123456789012",
            "täglich",
            "ip-10-0-0-12.ec2.internal",
        ] {
            assert!(is_readable(readable), "{readable}");
        }
        for random in [
            "9f8a7b6c5d",
            "canary-7f3a9b",
            "c4n4ry-0f-th3-sh4p3d-k1nd",
            "canary-9f8a7b6c5d",
            "550e8400-e29b-41d4-a716-446655440000",
            "s3cret99",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "AKIAIOSFODNN7EXAMPLE",
            "abcdefghijklmnopqrstuvwxyz",
        ] {
            assert!(!is_readable(random), "{random}");
        }
    }

    #[test]
    fn paths_are_recognised() {
        for path in [
            "/home/me/app",
            "~/keys.json",
            "./x",
            "C:\\Users\\me",
            "C:/Users",
            "\\\\host\\share",
            "/tmp/.tmpA1b2C3d4",
        ] {
            assert!(is_path(path), "{path}");
        }
        for other in ["home/me", "C:x", "https://x/y", ""] {
            assert!(!is_path(other), "{other}");
        }
    }
}

//! Search for texts that are written like secrets, in one pass. The time is linear in the length of the text,
//! whoever wrote it: a stretch that one search has covered is masked, or ends where the next search begins.

use super::shape::is_end;
use super::{MASK, announced, embedded, tokens};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// Length up to which the beginning of a key may not be recognised, and that of an address with a password.
const MAX_UNKNOWN_BYTES: usize = 64;
const MAX_ADDRESS_BYTES: usize = 256;

/// A bit for each pair of bytes with which something begins that is searched for. Few positions of a text
/// pass, so that the searches behind it need not be fast.
static BEGINNINGS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut bits = vec![0; (1 << 16) / u64::BITS as usize];
    let mut set = |one: u8, other: u8| {
        let (word, bit) = place(one, other);
        bits[word] |= bit;
    };
    let all = tokens::starts().chain(embedded::STARTS.iter().copied());
    all.for_each(|text| set(text.as_bytes()[0], text.as_bytes()[1]));
    for word in announced::words().map(str::as_bytes) {
        // Words may be written in capitals.
        let both = |byte: u8| [byte, byte.to_ascii_uppercase()];
        both(word[0]).iter().for_each(|one| both(word[1]).iter().for_each(|other| set(*one, *other)));
    }
    bits
});

/// The place of a pair of bytes in the table: a word, and the bit in it.
fn place(one: u8, other: u8) -> (usize, u64) {
    let pair = usize::from(one) << 8 | usize::from(other);
    (pair / u64::BITS as usize, 1 << (pair % u64::BITS as usize))
}

/// The text with everything masked that is written like a secret.
pub(super) fn mask(text: &str) -> Cow<'_, str> {
    let beginnings = &**BEGINNINGS;
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut at, mut copied) = (0, 0);
    // A secret that was announced, and begins further on. A word in between may announce more of it.
    let mut ahead: Option<Range<usize>> = None;
    while at + 1 < bytes.len() {
        let (word, bit) = place(bytes[at], bytes[at + 1]);
        if beginnings[word] & bit != 0
            && let Some(found) = find(text, at)
        {
            let known = ahead.take().unwrap_or(found.clone());
            ahead = Some(known.start.min(found.start)..known.end.max(found.end));
        }
        at += 1;
        if let Some(Range { start, end }) = ahead.take_if(|secret| secret.start <= at) {
            out.push_str(&text[copied..start]);
            out.push_str(MASK);
            (at, copied) = (end, end);
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// The secret that begins at this position, or that a word at this position announces.
fn find(text: &str, at: usize) -> Option<Range<usize>> {
    // All of these begin with ASCII, so that the position is a character's.
    match text.as_bytes()[at] {
        b'-' => embedded::key(text, at),
        b':' => embedded::password(text, at),
        _ => tokens::find(text, at).or_else(|| announced::find(text, at)),
    }
}

/// A text that was cut, without its last word, since half a key is not recognised. A longer one is: by its
/// beginning.
pub(super) fn whole_words(text: &str) -> &str {
    let end = text.rfind(is_end).unwrap_or(0);
    let most = if text[end..].contains("://") { MAX_ADDRESS_BYTES } else { MAX_UNKNOWN_BYTES };
    if text.len() - end <= most { &text[..end] } else { text }
}

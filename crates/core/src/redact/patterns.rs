//! Search for texts that are written like secrets, in one pass. The time is linear in the length of the text,
//! whoever wrote it: a stretch that one search has covered is masked, or ends where the next search begins.

use super::shape::is_end;
use super::{MASK, announced, embedded, tokens};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// Searches that a byte can begin.
#[derive(Clone, Copy, Default)]
struct Begins {
    token: bool,
    word: bool,
}

static BEGINS: LazyLock<[Begins; 256]> = LazyLock::new(|| {
    let mut all = [Begins::default(); 256];
    for (byte, begins) in (0..=u8::MAX).zip(&mut all) {
        *begins = Begins { token: tokens::may_begin_with(byte), word: announced::may_begin_with(byte) };
    }
    all
});

/// The text with everything masked that is written like a secret.
pub(super) fn mask(text: &str) -> Cow<'_, str> {
    let begins = &*BEGINS;
    let mut out = String::new();
    let (mut at, mut copied) = (0, 0);
    // A secret that was announced, and begins further on. A word in between may announce more of it.
    let mut ahead: Option<Range<usize>> = None;
    while let Some(&byte) = text.as_bytes().get(at) {
        if let Some(found) = find(text, at, byte, begins[usize::from(byte)]) {
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
fn find(text: &str, at: usize, byte: u8, begins: Begins) -> Option<Range<usize>> {
    match byte {
        b'-' => embedded::key(text, at),
        b':' => embedded::password(text, at),
        // All of these begin with ASCII, so that the position is a character's.
        _ => {
            let token = begins.token.then(|| tokens::find(text, at)).flatten();
            token.or_else(|| begins.word.then(|| announced::find(text, at)).flatten())
        }
    }
}

/// A text that was cut, without its last word, unless that begins before the limit: half a key is not
/// recognised.
pub(super) fn whole_words(text: &str, limit: usize) -> &str {
    match text.rfind(is_end) {
        Some(end) if end >= limit => &text[..end],
        Some(_) | None => text,
    }
}

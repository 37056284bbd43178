//! Search for exact values in a text, all at once and in one pass: every form has at least eight bytes, so the
//! first eight of them are looked up at each position. Must not know what the values are.

use super::MASK;
use super::forms::forms;
use super::judge::MIN_SECRET_BYTES;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// Values that are kept; the oldest are forgotten first. Each has about ten forms.
const MAX_VALUES: usize = 4096;
/// Bits of the filter in front of the index.
const FILTER_BITS: u32 = 14;
const KEY_BYTES: usize = MIN_SECRET_BYTES;

/// Exact values, and an index of their forms.
pub(super) struct Values {
    /// Oldest first.
    order: VecDeque<Arc<str>>,
    known: BTreeSet<Arc<str>>,
    /// Forms by their first eight bytes, the longest first.
    index: HashMap<u64, Vec<Arc<str>>>,
    /// The same forms by their first byte.
    by_first: Vec<Vec<Arc<str>>>,
    /// Length of the longest form.
    longest: usize,
    /// A bit for each hash of such eight bytes: most positions of a text need no lookup.
    filter: Box<[u64]>,
}

impl Values {
    /// The values of `known` and more; `None` if there are no new ones.
    pub(super) fn with(known: Option<&Self>, more: impl IntoIterator<Item = String>) -> Option<Self> {
        let mut order = known.map(|values| values.order.clone()).unwrap_or_default();
        let mut all = known.map(|values| values.known.clone()).unwrap_or_default();
        let before = order.len();
        for value in more.into_iter().filter(|value| value.len() >= MIN_SECRET_BYTES) {
            let value: Arc<str> = value.into();
            if all.insert(value.clone()) {
                order.push_back(value);
            }
        }
        if order.len() == before {
            return None;
        }
        while order.len() > MAX_VALUES {
            if let Some(oldest) = order.pop_front() {
                all.remove(&oldest);
            }
        }
        let mut values = Self {
            order,
            known: all,
            index: HashMap::new(),
            by_first: vec![Vec::new(); 256],
            longest: 0,
            filter: vec![0; 1 << (FILTER_BITS - u64::BITS.ilog2())].into(),
        };
        values.fill_index();
        Some(values)
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    fn fill_index(&mut self) {
        for form in self.order.iter().flat_map(|value| forms(value)) {
            let Some(key) = key_at(form.as_bytes(), 0) else { continue };
            let (word, bit) = place(key);
            self.filter[word] |= bit;
            self.longest = self.longest.max(form.len());
            let form: Arc<str> = form.into();
            self.by_first[usize::from(form.as_bytes()[0])].push(form.clone());
            self.index.entry(key).or_default().push(form);
        }
        for forms in self.index.values_mut() {
            forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
            forms.dedup();
        }
    }

    /// The text with all values masked. Values that overlap are masked together: the rest of one must not
    /// stay visible behind another.
    pub(super) fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        while let Some(key) = key_at(text.as_bytes(), at) {
            if text.as_bytes()[at..].starts_with(MASK.as_bytes()) {
                // A mask is not searched, so that a second pass changes nothing.
                at += MASK.len();
                continue;
            }
            if let Some(length) = self.length_at(text, at, key) {
                match ranges.last_mut() {
                    Some(last) if at <= last.end => last.end = last.end.max(at + length),
                    Some(_) | None => ranges.push(at..at + length),
                }
            }
            at += 1;
        }
        replace(text, &ranges)
    }

    /// The length of the longest form at this position.
    fn length_at(&self, text: &str, at: usize, key: u64) -> Option<usize> {
        let (word, bit) = place(key);
        if self.filter[word] & bit == 0 {
            return None;
        }
        let rest = &text.as_bytes()[at..];
        let is_here = |form: &&Arc<str>| rest.starts_with(form.as_bytes()) && !reaches_mask(rest, form.len());
        self.index.get(&key)?.iter().find(is_here).map(|form| form.len())
    }

    /// The length of a cut text without the beginning of a value at its end.
    pub(super) fn whole_until(&self, text: &str) -> usize {
        let from = text.len().saturating_sub(self.longest.saturating_sub(1));
        let begins_at = |at: &usize| {
            let rest = &text.as_bytes()[*at..];
            // A form as long as the rest is a whole value, which is masked.
            let begins = |form: &Arc<str>| form.len() > rest.len() && form.as_bytes().starts_with(rest);
            self.by_first[usize::from(rest[0])].iter().any(begins)
        };
        (from..text.len()).find(begins_at).unwrap_or(text.len())
    }

    /// Length of the longest form.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }
}

/// Whether a mask begins within the first bytes: then they are no value.
fn reaches_mask(rest: &[u8], length: usize) -> bool {
    let is_mask = |at: usize| rest[at..].starts_with(MASK.as_bytes());
    (1..length).any(|at| rest[at] == MASK.as_bytes()[0] && is_mask(at))
}

/// The eight bytes at a position, as a number; `None` near the end.
fn key_at(bytes: &[u8], at: usize) -> Option<u64> {
    let key = bytes.get(at..at + KEY_BYTES)?;
    key.try_into().ok().map(u64::from_le_bytes)
}

/// The place of a key in the filter: a word, and the bit in it.
fn place(key: u64) -> (usize, u64) {
    // Fibonacci hashing: the upper bits of the product depend on all bits of the key.
    let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - FILTER_BITS);
    ((hash >> 6) as usize, 1 << (hash & 63))
}

/// The text with a mask in place of each range.
fn replace<'a>(text: &'a str, ranges: &[Range<usize>]) -> Cow<'a, str> {
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for range in ranges {
        out.push_str(&text[from..range.start]);
        out.push_str(MASK);
        from = range.end;
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(all: &[&str]) -> Values {
        Values::with(None, all.iter().map(|&value| value.to_owned())).expect("a value")
    }

    #[test]
    fn exact_values_are_masked() {
        let values = values(&["hunter22", "hunter22-and-more", "pass word"]);
        for (text, expect) in [
            ("", ""),
            ("hunter2", "hunter2"),
            ("hunter22", "[redacted]"),
            ("xhunter22x", "x[redacted]x"),
            ("hunter22-and-more", "[redacted]"),
            ("hunter22-and-mor", "[redacted]-and-mor"),
            ("hunter22 pass word hunter22", "[redacted] [redacted] [redacted]"),
            ("pass%20word", "[redacted]"),
            ("ähunter22ä", "ä[redacted]ä"),
            ("[redacted]", "[redacted]"),
        ] {
            assert_eq!(values.mask(text), expect);
        }
    }

    #[test]
    fn overlapping_values_leave_nothing() {
        assert_eq!(values(&["abcdefgh", "efghijklmnop"]).mask("-abcdefghijklmnop-"), "-[redacted]-");
    }

    #[test]
    fn values_next_to_masks_are_stable() {
        let values = values(&["]abcdefgh", "abcdefg[", "redacted"]);
        for text in ["[redacted]abcdefgh", "abcdefg[redacted]", "redacted"] {
            let once = values.mask(text).into_owned();
            assert_eq!(values.mask(&once), once);
        }
    }

    #[test]
    fn beginning_of_a_value_is_found() {
        let values = values(&["hunter22"]);
        assert_eq!(values.whole_until("see hunter2"), 4);
        assert_eq!(values.whole_until("see hunter22"), "see hunter22".len());
        assert_eq!(values.whole_until("see h"), 4);
        assert_eq!(values.whole_until("see x"), 5);
    }

    #[test]
    fn oldest_values_are_forgotten() {
        let all = Values::with(None, (0..MAX_VALUES + 10).map(|n| format!("value-{n:08}"))).expect("values");
        assert_eq!(all.len(), MAX_VALUES);
        assert_eq!(all.mask("value-00000000"), "value-00000000");
        assert_eq!(all.mask(&format!("value-{:08}", MAX_VALUES + 9)), MASK);
        assert!(Values::with(Some(&all), vec![format!("value-{:08}", MAX_VALUES + 9)]).is_none());
    }
}

//! Names that someone may have meant who said one that does not exist.

use super::View;
use crate::catalogue::list::List;
use std::borrow::Cow;

const MOST: usize = 5;
/// So many names are looked at, and so many pairs of letters compared: an error answer must not take long.
const MOST_NAMES: usize = 100_000;
const MOST_PAIRS: usize = 3_000_000;
/// Longer names are not compared.
const LONGEST: usize = 128;

/// At most five of the names that are shown, the nearest first.
pub(in crate::catalogue) fn nearest<'a>(
    shown: impl Iterator<Item = Cow<'a, str>>,
    name: &str,
) -> Vec<String> {
    if name.is_empty() || name.len() > LONGEST {
        return Vec::new();
    }
    let limit = (name.len() / 3).clamp(1, 6);
    let mut pairs = 0;
    let mut near: Vec<(usize, String)> = Vec::new();
    for shown in shown.take(MOST_NAMES) {
        let distance = if is_part(&shown, name) {
            0
        } else if shown.len().abs_diff(name.len()) <= limit && pairs < MOST_PAIRS {
            let (one, other) = differing(shown.as_bytes(), name.as_bytes());
            pairs += one.len() * other.len();
            distance(one, other)
        } else {
            continue;
        };
        if distance <= limit {
            near.push((distance, shown.into_owned()));
            // Only the best are kept; the sort is stable, so that of equals the first stay.
            if near.len() > 4 * MOST {
                near.sort_by_key(|(distance, _)| *distance);
                near.truncate(MOST);
            }
        }
    }
    near.sort_by_key(|(distance, _)| *distance);
    near.truncate(MOST);
    near.into_iter().map(|(_, name)| name).collect()
}

impl View {
    /// At most five, the nearest first.
    pub fn nearest(&self, list: List, name: &str) -> Vec<String> {
        nearest(self.shown(list), name)
    }

    fn shown(&self, list: List) -> impl Iterator<Item = Cow<'_, str>> {
        let known = self.members.iter().enumerate().filter_map(move |(at, m)| Some((at, m.list(list)?)));
        known.flat_map(move |(member, listing)| {
            (0..listing.len() as u32).map(move |entry| match self.alias(list, member, entry) {
                Some(alias) => alias.into(),
                None => listing.public(entry),
            })
        })
    }
}

/// The prefix was forgotten, or is another's.
fn is_part(shown: &str, name: &str) -> bool {
    let bare = name.split_once("__").map_or(name, |(_, bare)| bare);
    let ends = |end: &str| {
        !end.is_empty()
            && shown.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with("__"))
    };
    ends(name) || ends(bare)
}

/// What is left of both without their common beginning and end: prefixes make most of a name.
fn differing<'a>(one: &'a [u8], other: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let start = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[start..], &other[start..]);
    let end = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    (&one[..one.len() - end], &other[..other.len() - end])
}

/// How many letters must be put, taken or changed (Levenshtein); case counts for nothing.
fn distance(one: &[u8], other: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(!a.eq_ignore_ascii_case(b));
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

//! Suggestions for a misspelt name: the known names that are most similar. Each kind of name has its own
//! rules for equality and tolerance; the ranking is the same for all.

use std::borrow::Cow;
use strsim::{generic_levenshtein, osa_distance};

/// Number of suggestions for a name in a catalogue.
const MAX_SUGGESTIONS: usize = 5;
/// Longest config keys, command-line names and catalogue names to compare: longer ones are not typing mistakes.
const MAX_KEY_BYTES: usize = 40;
const MAX_NAME_BYTES: usize = 200;
const MAX_LISTED_BYTES: usize = 128;
/// Limits on the work for one error answer: names examined, and pairs of letters compared.
const MAX_LISTED_NAMES: usize = 100_000;
const MAX_LETTER_PAIRS: usize = 3_000_000;
/// Minimum length of an abbreviation.
const MIN_ABBREVIATION_BYTES: usize = 2;

/// The config key that was probably meant: one that `key` abbreviates (`cmd`), otherwise one that it misspells.
pub fn nearest_key<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    if key.len() > MAX_KEY_BYTES {
        return None;
    }
    // `start_timeout` and `startTimeout` are the same word.
    let key = folded(key, &['_', '-']);
    let rank = |known: &&str| {
        let known = folded(known, &['_', '-']);
        Some((!abbreviates(&key, &known), osa_distance(&key, &known)))
    };
    let ((is_misspelt, distance), near) = ranked(known.iter().copied(), 1, rank).pop()?;
    (!is_misspelt || distance <= near.len() / 3).then_some(near)
}

/// The most similar known name (a tool, a server, a subcommand), with or without its server's prefix.
pub fn nearest_name<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let plain = |name: &str| folded(name, &['_', '-', '.']);
    let wanted = plain(name);
    let rank = |known: &&str| {
        let own = known.split_once("__").map_or(*known, |(_, own)| own);
        [*known, own].map(|known| osa_distance(&wanted, &plain(known))).into_iter().min()
    };
    let (distance, near) = ranked(known.iter().map(String::as_str), 1, rank).pop()?;
    let length = wanted.chars().count();
    // A word in which every letter differs is another word.
    (distance <= length.div_ceil(3) && distance < length).then_some(near)
}

/// At most five names from a catalogue, nearest first. Bounded work, whatever a client sends.
pub fn nearest_listed<'a>(shown: impl Iterator<Item = Cow<'a, str>>, name: &str) -> Vec<String> {
    if name.is_empty() || name.len() > MAX_LISTED_BYTES {
        return Vec::new();
    }
    let limit = (name.len() / 3).clamp(1, 6);
    let mut pairs = 0;
    let rank = |shown: &Cow<'a, str>| {
        // The right name behind another prefix: nothing can be nearer.
        if is_part(shown, name) {
            return Some(0);
        }
        // The difference in length is a lower bound of the distance.
        if shown.len().abs_diff(name.len()) > limit || pairs >= MAX_LETTER_PAIRS {
            return None;
        }
        let (one, other) = differing(shown.as_bytes(), name.as_bytes());
        pairs += one.len() * other.len();
        let distance = generic_levenshtein(&one.to_ascii_lowercase(), &other.to_ascii_lowercase());
        (distance <= limit).then_some(distance)
    };
    let near = ranked(shown.take(MAX_LISTED_NAMES), MAX_SUGGESTIONS, rank);
    near.into_iter().map(|(_, name)| name.into_owned()).collect()
}

/// The `count` names of lowest rank, lowest first; of equal ranks, the earlier. Names without a rank are left out.
fn ranked<N, R: Ord>(
    names: impl Iterator<Item = N>,
    count: usize,
    mut rank: impl FnMut(&N) -> Option<R>,
) -> Vec<(R, N)> {
    let mut best: Vec<(R, N)> = Vec::new();
    let sort = |best: &mut Vec<(R, N)>| {
        // A stable sort: of equal ranks the earlier name stays in front.
        best.sort_by(|(one, _), (other, _)| one.cmp(other));
        best.truncate(count);
    };
    for name in names {
        if let Some(rank) = rank(&name) {
            best.push((rank, name));
            // There may be very many names: only the best are kept.
            if best.len() > 4 * count {
                sort(&mut best);
            }
        }
    }
    sort(&mut best);
    best
}

fn folded(name: &str, separators: &[char]) -> String {
    name.replace(separators, "").to_lowercase()
}

/// Whether `short` has letters of `word` in order, starting with the first letter, and is either its
/// beginning or ends with its last letter.
fn abbreviates(short: &str, word: &str) -> bool {
    let first = short.chars().next();
    if short.len() < MIN_ABBREVIATION_BYTES || first != word.chars().next() {
        return false;
    }
    let mut letters = word.chars();
    let is_within = short.chars().all(|letter| letters.any(|other| other == letter));
    is_within && (word.starts_with(short) || short.chars().last() == word.chars().last())
}

/// Whether the shown name equals this one without a prefix, or with another server's.
fn is_part(shown: &str, name: &str) -> bool {
    let bare = name.split_once("__").map_or(name, |(_, bare)| bare);
    let ends = |end: &str| {
        // Every name ends with an empty text.
        !end.is_empty()
            && shown.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with("__"))
    };
    ends(name) || ends(bare)
}

/// Both without their common beginning and end, since prefixes make up most of a name.
fn differing<'a>(one: &'a [u8], other: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let start = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[start..], &other[start..]);
    let end = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    (&one[..one.len() - end], &other[..other.len() - end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_misspelt_or_abbreviated() {
        let known =
            ["command", "args", "env", "cwd", "timeout", "startTimeout", "maxBackends", "capabilities"];
        for (key, expect) in [
            ("cmd", Some("command")),
            ("cd", Some("cwd")),
            ("comand", Some("command")),
            ("arg", Some("args")),
            ("timeot", Some("timeout")),
            ("tmout", Some("timeout")),
            ("start_timeout", Some("startTimeout")),
            ("cap", Some("capabilities")),
            ("c", None),
            ("", None),
            ("é", None),
            ("something", None),
        ] {
            assert_eq!(nearest_key(key, &known), expect, "{key}");
        }
    }

    #[test]
    fn names_match_with_and_without_server() {
        let known = ["github__search_code", "files__read_file", "echo"].map(str::to_owned);
        for (name, expect) in [
            ("github__serch_code", Some("github__search_code")),
            ("search-code", Some("github__search_code")),
            ("readFile", Some("files__read_file")),
            ("ecoh", Some("echo")),
            ("something", None),
            ("e", None),
        ] {
            assert_eq!(nearest_name(name, &known), expect, "{name}");
        }
        assert_eq!(nearest_name("x", &[]), None);
    }

    #[test]
    fn best_names_survive_in_order() {
        let names = (0..1000u32).rev();
        let near = ranked(names, 3, |name| (name % 2 == 0).then_some(name / 100));
        assert_eq!(near, [(0, 98), (0, 96), (0, 94)]);
    }
}

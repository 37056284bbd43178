//! The key that a mistyped one was probably meant to be.

/// The known key that was probably meant: one that `key` abbreviates (`cmd`), or else one that it misspells.
pub(super) fn nearest<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    const MAX_LENGTH: usize = 40;
    if key.len() > MAX_LENGTH {
        return None;
    }
    // `start_timeout` and `startTimeout` are the same word.
    let plain = |key: &str| key.replace(['_', '-'], "").to_lowercase();
    let key = plain(key);
    let near = known.iter().map(|known| {
        let candidate = plain(known);
        (*known, abbreviates(&key, &candidate), strsim::osa_distance(&key, &candidate))
    });
    let (near, is_short_for, distance) = near.min_by_key(|(_, is_short, far)| (!is_short, *far))?;
    (is_short_for || distance <= near.len() / 3).then_some(near)
}

/// Whether `short` has the letters of `word` in their order, from the first letter on, and is either its beginning or
/// has its last letter too.
fn abbreviates(short: &str, word: &str) -> bool {
    const SHORTEST: usize = 2;
    if short.len() < SHORTEST || !word.starts_with(&short[..short.chars().next().map_or(0, char::len_utf8)]) {
        return false;
    }
    let mut letters = word.chars();
    let is_within = short.chars().all(|letter| letters.any(|other| other == letter));
    is_within && (word.starts_with(short) || short.chars().last() == word.chars().last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_key_is_meant_or_abbreviated() {
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
            assert_eq!(nearest(key, &known), expect, "{key}");
        }
    }
}

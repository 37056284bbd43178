//! Globs: `*` matches any text, `?` any one character.

/// Glob match. Only the last `*` is retried, so the time is at most the product of both lengths.
pub fn matches(glob: &str, name: &str) -> bool {
    let (glob, name) = (glob.as_bytes(), name.as_bytes());
    let (mut g, mut n) = (0, 0);
    // Where to continue if the text after the last star did not match: one character further.
    let mut again = None;
    while n < name.len() {
        match glob.get(g) {
            Some(b'*') => {
                g += 1;
                again = Some((g, n));
            }
            Some(b'?') => {
                g += 1;
                n = next_character(name, n);
            }
            // Bytes suffice here: no UTF-8 character contains the bytes of another.
            Some(&b) if b == name[n] => {
                g += 1;
                n += 1;
            }
            _ => {
                let Some((star, from)) = again else { return false };
                let from = next_character(name, from);
                (g, n) = (star, from);
                again = Some((star, from));
            }
        }
    }
    glob[g..].iter().all(|&b| b == b'*')
}

fn next_character(text: &[u8], at: usize) -> usize {
    // Continuation bytes of UTF-8 belong to the character before them.
    let is_inside = |&&b: &&u8| b & 0xc0 == 0x80;
    at + 1 + text[at + 1..].iter().take_while(is_inside).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn globs_match() {
        for (glob, name, expect) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "any/thing", true),
            ("read_*", "read_file", true),
            ("read_*", "unread_file", false),
            ("*file*", "read_file_now", true),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbXbX", false),
            ("?", "ö", true),
            ("??", "ö", false),
            ("r?ad", "read", true),
            ("*é", "cafe\u{301}é", true),
            ("a?", "a", false),
        ] {
            assert_eq!(matches(glob, name), expect, "{glob} {name}");
        }
    }

    #[test]
    fn hostile_glob_takes_bounded_time() {
        let glob = "*a".repeat(40) + "b";
        assert!(!matches(&glob, &"a".repeat(20_000)));
    }

    /// Reference implementation by definition, in exponential time.
    fn plainly(glob: &[char], name: &[char]) -> bool {
        match (glob, name) {
            ([], []) => true,
            (['*', rest @ ..], _) => plainly(rest, name) || (!name.is_empty() && plainly(glob, &name[1..])),
            (['?', rest @ ..], [_, more @ ..]) => plainly(rest, more),
            ([a, rest @ ..], [b, more @ ..]) => a == b && plainly(rest, more),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn globs_match_as_defined(glob in "[ab*?é]{0,7}", name in "[abé]{0,8}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(matches(&glob, &name), plainly(&chars(&glob), &chars(&name)));
        }
    }
}

//! The source line shown under a problem, with the values masked. Problems are printed to stderr, which
//! IDEs keep in log files, and a config line may well hold a token: so only brackets, keys and, where the
//! reader allows it, the value that the problem is about can be read.

use std::ops::Range;

/// How much of the line is shown on either side of where the meant part starts.
const BEFORE: usize = 70;
const AFTER: usize = 70;
const MASK: char = '•';
const CUT: char = '…';

/// A part of one line of the file, as it may be shown, and what in it is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) text: String,
    /// Characters before the underlined part, and in it.
    before: usize,
    width: usize,
}

impl Excerpt {
    /// The line that `span` (in bytes) starts on; `reveal` says whether what is inside `span` may be read.
    /// Looks at no more of the line than it shows, since a minified file is a single one.
    pub(super) fn of(source: &str, span: Range<usize>, reveal: bool) -> Self {
        let on_line = |c: &char| !matches!(c, '\n' | '\r');
        let (before, rest) = source.split_at(span.start);
        let before = before.chars().rev().take_while(on_line).take(BEFORE + 1).collect::<Vec<_>>();
        let after = rest.chars().take_while(on_line).take(AFTER + 1).collect::<Vec<_>>();
        let (is_cut_before, is_cut_after) = (before.len() > BEFORE, after.len() > AFTER);
        let start = before.len().min(BEFORE);

        let before = before.into_iter().take(BEFORE).rev();
        let line: Vec<char> = before.chain(after.into_iter().take(AFTER)).collect();
        let meant = source[span].chars().take_while(on_line).take(line.len() - start).count();

        let mut shown = mask(&line);
        if reveal {
            shown[start..start + meant].copy_from_slice(&line[start..start + meant]);
        }
        let cut = |is_cut: bool| is_cut.then_some(CUT);
        let shown = cut(is_cut_before).into_iter().chain(shown).chain(cut(is_cut_after));
        Self {
            text: shown.map(printable).collect(),
            before: start + usize::from(is_cut_before),
            width: meant.max(1),
        }
    }

    pub(super) fn underline(&self) -> String {
        " ".repeat(self.before) + &"^".repeat(self.width)
    }
}

/// Hides everything but brackets, commas, colons and keys. It goes by the look of this piece alone, so that
/// it also works where the syntax is broken, or where the piece starts inside a string: what it then takes
/// for the outside of strings is hidden just the same.
fn mask(line: &[char]) -> Vec<char> {
    let mut shown: Vec<char> = line.iter().map(|&c| if is_structure(c) { c } else { MASK }).collect();
    let mut at = 0;
    while at < line.len() {
        if line[at..].starts_with(&['/', '/']) {
            shown[at..].fill(MASK);
            break;
        }
        if line[at] != '"' {
            at += 1;
            continue;
        }
        let inside = at + 1..end_of_string(line, at + 1);
        if is_key(line, inside.end) {
            shown[inside.clone()].copy_from_slice(&line[inside.clone()]);
        } else {
            shown[inside.clone()].fill(MASK);
        }
        at = inside.end + 1;
    }
    shown
}

fn is_structure(c: char) -> bool {
    c.is_whitespace() || matches!(c, '{' | '}' | '[' | ']' | ',' | ':' | '"')
}

/// A control character could move the cursor or colour the terminal, and a tab would shift the underline.
fn printable(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

fn end_of_string(line: &[char], mut at: usize) -> usize {
    while at < line.len() && line[at] != '"' {
        at += if line[at] == '\\' { 2 } else { 1 };
    }
    at.min(line.len())
}

fn is_key(line: &[char], closing_quote: usize) -> bool {
    line.iter().skip(closing_quote + 1).find(|c| !c.is_whitespace()) == Some(&':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, marked: &str, reveal: bool, expect: &str) {
        let start = source.find(marked).expect("the marked text is in the source");
        let excerpt = Excerpt::of(source, start..start + marked.len(), reveal);
        assert_eq!(format!("{}\n{}", excerpt.text, excerpt.underline()), expect);
    }

    #[test]
    fn shows_keys_and_the_marked_value_only() {
        check(
            r#"  "env": { "TOKEN": "ghp_1" }, "timeout": "soon""#,
            "\"soon\"",
            true,
            "  \"env\": { \"TOKEN\": \"•••••\" }, \"timeout\": \"soon\"\n                                          ^^^^^^",
        );
    }

    #[test]
    fn hides_the_marked_value_when_told_to() {
        check(r#"{ "PIN": 1234 }"#, "1234", false, "{ \"PIN\": •••• }\n         ^^^^");
    }

    #[test]
    fn hides_comments_and_broken_strings() {
        check(r#""a": 1, // old: ghp_1"#, "1", true, "\"a\": 1, •••••••••••••\n     ^");
        check(r#""TOKEN": "ghp_1"#, "\"TOKEN\"", true, "\"TOKEN\": \"•••••\n^^^^^^^");
        check(r#""TOKEN: "ghp_1","#, "ghp_1", false, "\"•••••••\"•••••\"•\n         ^^^^^");
        check(r#""x": "a\"b" ghp"#, "ghp", false, "\"x\": \"••••\" •••\n            ^^^");
    }

    #[test]
    fn counts_characters_and_keeps_tabs_from_shifting() {
        check("\t\"é\": x", "x", true, " \"é\": x\n      ^");
        check("{\r\n\"a\": x\r\n}", "x", true, "\"a\": x\n     ^");
    }

    #[test]
    fn removes_terminal_escapes() {
        check("\"\u{1b}[31m\": x", "x", true, "\" [31m\": x\n         ^");
    }

    #[test]
    fn cuts_long_lines_around_the_place() {
        let source = format!("{}\"key\": 1{}", "[".repeat(200), "]".repeat(200));
        let excerpt = Excerpt::of(&source, 200..205, true);
        assert_eq!(excerpt.text.chars().count(), BEFORE + AFTER + 2);
        assert_eq!(excerpt.underline(), format!("{}^^^^^", " ".repeat(BEFORE + 1)));
        assert!(excerpt.text.contains("[\"key\": •]"));
    }

    #[test]
    fn hides_a_string_whose_start_is_cut_off() {
        let source = format!("{{ \"env\": {{ \"T\": \"{}s3cret\" }}, \"x\": y }}", "s3cret ".repeat(20));
        let at = source.find('y').expect("there is a y");
        assert!(!Excerpt::of(&source, at..at + 1, true).text.contains('3'));
    }

    #[test]
    fn takes_the_end_of_the_file() {
        assert_eq!(Excerpt::of("", 0..0, true).underline(), "^");
        assert_eq!(Excerpt::of("{\n", 2..2, true).text, "");
    }
}

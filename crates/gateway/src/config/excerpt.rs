//! Source line shown under a problem. Problems go to stderr, which IDEs keep in log files, and a config line
//! may contain a token. So values are masked, except for keys that never hold a secret, and for the marked
//! value where the reader allows it. Keys are always shown.

use std::ops::Range;

/// Longest excerpt. With the line number it fits into 80 columns.
const MAX_SHOWN_CHARS: usize = 72;
/// Longest search for the start of the line, in characters. A minified file may be one line of megabytes.
const MAX_LOOKBACK_CHARS: usize = 4096;
const MASK: char = '•';
const CUT: char = '…';

/// Displayable part of one line, with its marked part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) text: String,
    /// Characters before the underlined part, and in it.
    before: usize,
    width: usize,
}

impl Excerpt {
    /// Excerpt of the line on which `span` (in bytes) starts. `reveal` allows the text inside `span`
    /// to be shown. Masking starts at the line's start if that is near: from a fragment, keys and
    /// values cannot be told apart.
    pub(super) fn of(source: &str, span: Range<usize>, reveal: bool) -> Self {
        let on_line = |c: &char| !matches!(c, '\n' | '\r');
        let (before, rest) = source.split_at(span.start);
        let before: Vec<char> =
            before.chars().rev().take_while(on_line).take(MAX_LOOKBACK_CHARS + 1).collect();
        let after: Vec<char> = rest.chars().take_while(on_line).take(MAX_SHOWN_CHARS + 1).collect();
        // The marked part and the text after it get at least half of the room.
        let room_after =
            after.len().min(MAX_SHOWN_CHARS.saturating_sub(before.len()).max(MAX_SHOWN_CHARS / 2));
        let start = before.len().min(MAX_SHOWN_CHARS - room_after);
        let (is_cut_before, is_cut_after) = (before.len() > start, after.len() > room_after);

        let starts_line = before.len() <= MAX_LOOKBACK_CHARS;
        let masked_from = if starts_line { before.len() } else { start };
        let hidden = masked_from - start;
        let before = before.into_iter().take(masked_from).rev();
        let whole: Vec<char> = before.chain(after.into_iter().take(room_after)).collect();
        let line = &whole[hidden..];
        // The marked part may reach into the next line, which is not shown.
        let meant = source[span].chars().take_while(on_line).take(line.len() - start).count();

        let mut shown = mask(&whole, !starts_line).split_off(hidden);
        if reveal {
            // Only the marked part is revealed: its neighbours may be secrets.
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

/// Masks values. Works on the look of this piece alone, so it also handles broken syntax and a piece that
/// starts inside a string (`is_cut`): text that seems to be outside of strings is masked as well.
fn mask(line: &[char], is_cut: bool) -> Vec<char> {
    let mut shown: Vec<char> = line.iter().map(|&c| if is_structure(c) { c } else { MASK }).collect();
    // Key whose value comes next.
    let mut key = String::new();
    let mut at = 0;
    while at < line.len() {
        if line[at..].starts_with(&['/', '/']) {
            // A comment may hold a token that its author only meant to put aside.
            shown[at..].fill(MASK);
            break;
        }
        let Some(token) = Token::at(line, at, is_cut) else {
            if matches!(line[at], '{' | '}' | '[' | ']' | ',') {
                // A bracket or comma ends the reach of a key.
                key.clear();
            }
            at += 1;
            continue;
        };
        let text: String = line[token.text.clone()].iter().collect();
        let is_shown = token.is_key || secrets::may_show(&key, &text);
        let filled: Vec<char> = match is_shown {
            true => line[token.text.clone()].to_vec(),
            false => vec![MASK; token.text.len()],
        };
        shown[token.text].copy_from_slice(&filled);
        key = if token.is_key { text } else { String::new() };
        at = token.next;
    }
    shown
}

/// A string or a word.
struct Token {
    text: Range<usize>,
    is_key: bool,
    /// Index at which to continue.
    next: usize,
}

impl Token {
    fn at(line: &[char], at: usize, is_cut: bool) -> Option<Self> {
        if line[at] == '"' {
            let text = at + 1..end_of_string(line, at + 1);
            let key = word(line, text.start);
            // In `"key: "value"`, the second quote opens the value.
            if !key.is_empty() && is_colon_to(line, key.end, text.end) {
                return Some(Self { next: text.end, text: key, is_key: true });
            }
            return Some(Self { is_key: is_before_colon(line, text.end + 1), next: text.end + 1, text });
        }
        // Words without double quotes are keys only where a key may start.
        let may_be_key = || !is_cut && starts_key(line, at);
        if line[at] == '\'' {
            let text = word(line, at + 1);
            let is_key =
                may_be_key() && line.get(text.end) == Some(&'\'') && is_before_colon(line, text.end + 1);
            return is_key.then(|| Self { next: text.end + 1, text, is_key });
        }
        let text = word(line, at);
        if text.is_empty() {
            return None;
        }
        Some(Self { is_key: may_be_key() && is_before_colon(line, text.end), next: text.end, text })
    }
}

fn word(line: &[char], start: usize) -> Range<usize> {
    let is_of_word = |c: &&char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '.');
    start..start + line[start.min(line.len())..].iter().take_while(is_of_word).count()
}

fn is_structure(c: char) -> bool {
    c.is_whitespace() || matches!(c, '{' | '}' | '[' | ']' | ',' | ':' | '"' | '\'')
}

/// Replaces control characters, which could move the cursor or colour the terminal; a
/// tab would shift the underline.
fn printable(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

fn end_of_string(line: &[char], mut at: usize) -> usize {
    while at < line.len() && line[at] != '"' {
        at += if line[at] == '\\' { 2 } else { 1 };
    }
    at.min(line.len())
}

fn is_before_colon(line: &[char], at: usize) -> bool {
    line.iter().skip(at).find(|c| !c.is_whitespace()) == Some(&':')
}

/// Whether only a colon and blanks stand from `at` to `end`, with `end` inside the line.
fn is_colon_to(line: &[char], at: usize, end: usize) -> bool {
    let between = line.get(at..end).unwrap_or_default();
    end < line.len() && between.first() == Some(&':') && between[1..].iter().all(|c| c.is_whitespace())
}

fn starts_key(line: &[char], at: usize) -> bool {
    line[..at].iter().rev().find(|c| !c.is_whitespace()).is_none_or(|c| matches!(c, '{' | ','))
}

/// Values that cannot be secrets.
mod secrets {
    /// Keys whose values may be shown.
    const PLAIN: &str = "arguments bodies capabilities clientEra clients command cwd defaultRoot dialect disabled enabled era eventBytes fallback file \
                         format framing guard hardTimeout health idleTtl inheritEnv inputTimeout lazy level linger listGrace \
                         maxBackends maxBytes maxInFlight maxMessageBytes maxQueue maxSessions memoryLimit mode names onTimeout \
                         openRoots packages pageSize pinning preset required retryAfterCrash scope sessionTtl shareAdHoc \
                         shutdownGrace startTimeout state timeout type";
    /// Longest value of a setting.
    const MAX_VALUE_BYTES: usize = 80;

    /// `key` is empty for an element of an array.
    pub(super) fn may_show(key: &str, text: &str) -> bool {
        match key {
            // No secret consists of one of these words.
            _ if matches!(text, "true" | "false" | "null") => true,
            "" | "args" => is_flag(text),
            _ => PLAIN.split(' ').any(|plain| plain == key) && is_word(text),
        }
    }

    /// `-y` or `--long-name`; not `-pPASSWORD` or `--token=…`.
    fn is_flag(text: &str) -> bool {
        match text.strip_prefix("--") {
            Some(name) => name.chars().all(|c| c.is_ascii_lowercase() || c == '-'),
            None => text.strip_prefix('-').is_some_and(|letter| letter.chars().count() == 1),
        }
    }

    /// A program, a path or a setting; not a command line, an assignment or an address.
    fn is_word(text: &str) -> bool {
        let is_plain = |c: char| c.is_alphanumeric() || "_-./\\:~${}".contains(c);
        text.len() <= MAX_VALUE_BYTES && !text.contains("://") && text.chars().all(is_plain)
    }
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
        check(r#""TOKEN: "ghp_1","#, "ghp_1", false, "\"TOKEN: \"•••••\",\n         ^^^^^");
        check(r#""x": "a\"b" ghp"#, "ghp", false, "\"x\": \"••••\" •••\n            ^^^");
    }

    #[test]
    fn shows_settings_and_flags() {
        let line =
            r#""command": "npx", "args": ["-y", "--key", "s3cret", "--k=s3cret", "-ps3cret"], "lazy": true"#;
        let shown = r#""command": "npx", "args": ["-y", "--key", "••••••", "••••••••••", "•••••…"#;
        assert_eq!(Excerpt::of(line, 0..1, false).text, shown);
        for (line, shown) in [
            (r#""cwd": "~/a", "url": "https://h/s3cret""#, r#""cwd": "~/a", "url": "••••••••••••••••""#),
            (r#""command": "KEY=s3cret npx""#, r#""command": "••••••••••••••""#),
            (r#""env": { "A": "true", "B": "x" }"#, r#""env": { "A": "true", "B": "•" }"#),
        ] {
            assert_eq!(Excerpt::of(line, 0..1, false).text, shown);
        }
    }

    #[test]
    fn shows_keys_in_broken_text() {
        for (line, shown) in [
            ("{ command: npx, TOKEN: ghp_1 }", "{ command: npx, TOKEN: ••••• }"),
            ("'TOKEN': 'ghp_1',", "'TOKEN': '•••••',"),
            ("ghp_1, more", "•••••, ••••"),
            ("[ghp_1: x]", "[•••••: •]"),
        ] {
            assert_eq!(Excerpt::of(line, 0..1, false).text, shown);
        }
    }

    #[test]
    fn counts_chars_and_replaces_tabs() {
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
        assert_eq!(excerpt.text.chars().count(), MAX_SHOWN_CHARS + 2);
        assert_eq!(excerpt.underline(), format!("{}^^^^^", " ".repeat(MAX_SHOWN_CHARS / 2 + 1)));
        assert!(excerpt.text.contains("[\"key\": •]"));
    }

    #[test]
    fn hides_a_string_whose_start_is_cut_off() {
        let source = format!("{{ \"env\": {{ \"T\": \"{}s3cret\" }}, \"x\": y }}", "s3cret ".repeat(20));
        let at = source.find('y').expect("there is a y");
        assert!(!Excerpt::of(&source, at..at + 1, true).text.contains('3'));
    }

    #[test]
    fn shows_keys_far_from_the_line_start() {
        let filler = "\"TOKEN\": \"ghp_1\", ".repeat(20);
        let source = format!("{{ {filler}\"tools\": {{ \"alow\": [] }}, \"TOKEN\": \"ghp_1\" }}");
        for shift in 0..20 {
            let source = format!("{}{source}", " ".repeat(shift));
            let at = source.find("\"alow\"").expect("the key is in the source");
            let text = Excerpt::of(&source, at..at + 6, false).text;
            assert!(
                text.contains("\"TOKEN\": \"•••••\", \"tools\": { \"alow\": [] }, \"TOKEN\": \"••"),
                "{text}"
            );
            assert!(!text.contains("ghp_1"), "{text}");
        }
    }

    #[test]
    fn hides_values_far_from_the_line_start() {
        let filler = "\"TOKEN\": \"ghp_1\", ".repeat(MAX_LOOKBACK_CHARS / 8);
        let source = format!("{{ {filler}\"alow\": [] }}");
        for shift in 0..20 {
            let source = format!("{}{source}", " ".repeat(shift));
            let at = source.find("\"alow\"").expect("the key is in the source");
            assert!(!Excerpt::of(&source, at..at + 6, false).text.contains("ghp_1"));
        }
    }

    #[test]
    fn takes_the_end_of_the_file() {
        assert_eq!(Excerpt::of("", 0..0, true).underline(), "^");
        assert_eq!(Excerpt::of("{\n", 2..2, true).text, "");
    }
}

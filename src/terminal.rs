//! Properties of the terminal, and text that is safe to print on it.

use std::io::IsTerminal;

#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Out,
    Err,
}

pub(crate) fn is_one(stream: Stream) -> bool {
    match stream {
        Stream::Out => std::io::stdout().is_terminal(),
        Stream::Err => std::io::stderr().is_terminal(),
    }
}

/// Width in columns. Without a terminal it is unlimited, unless `COLUMNS` is set.
pub(crate) fn width(stream: Stream) -> Option<usize> {
    let size = match stream {
        _ if !is_one(stream) => None,
        Stream::Out => terminal_size::terminal_size_of(std::io::stdout()),
        Stream::Err => terminal_size::terminal_size_of(std::io::stderr()),
    };
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    // Terminals may report a width of 0.
    size.map(|(width, _)| width.0.into()).or_else(said).filter(|width| *width > 0)
}

/// Width of the terminal; `None` without one. For sentences, which scripts need unbroken.
pub(crate) fn screen_width(stream: Stream) -> Option<usize> {
    width(stream).filter(|_| is_one(stream))
}

/// Whether to use colours; see <https://no-color.org>.
pub(crate) fn has_colours(stream: Stream) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    is_one(stream) && !is_set("NO_COLOR") && !is_dumb
}

/// Foreign text on one line, with control characters replaced.
pub(crate) fn one_line(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.trim().replace("\r\n", "\n").chars().map(shown).collect()
}

pub(crate) fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).take(room).collect()
}

/// Wraps lines between words, with continuations indented by two more. A word
/// longer than a line stands alone.
pub(crate) fn wrap(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let wrapped = text.lines().map(|line| {
        // Short lines stay as they are: excerpts of a file rely on their blanks.
        if line.chars().count() <= width {
            return line.to_owned();
        }
        let indent = line.len() - line.trim_start().len();
        let (mut out, mut column) = (" ".repeat(indent), indent);
        for (index, word) in line.split_whitespace().enumerate() {
            let length = word.chars().count();
            if index > 0 && column + 1 + length > width {
                out += &format!("\n{}", " ".repeat(indent + 2));
                column = indent + 2;
            } else if index > 0 {
                out.push(' ');
                column += 1;
            }
            out += word;
            column += length;
        }
        out
    });
    wrapped.collect::<Vec<_>>().join("\n")
}

/// Wraps one paragraph between words, with all lines indented alike.
pub(crate) fn wrap_at(text: &str, width: usize, indent: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut line = " ".repeat(indent);
    let mut column = indent;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            column = indent;
        }
        if column > indent {
            line.push(' ');
            column += 1;
        }
        line += word;
        column += length;
    }
    lines.push(line);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        for (text, expect) in [
            ("one two three", "one two\n  three"),
            ("  hint: a b c d", "  hint:\n    a b\n    c d"),
            ("incomprehensible word\nnext", "incomprehensible\n  word\nnext"),
            ("", ""),
        ] {
            assert_eq!(wrap(text, Some(7)), expect);
        }
        assert_eq!(wrap("one two three", None), "one two three");
    }

    #[test]
    fn text_is_cut_to_its_room() {
        for (text, room, expect) in
            [("abcd", 4, "abcd"), ("abcde", 4, "abc…"), ("äöüé", 2, "ä…"), ("ab", 0, "")]
        {
            assert_eq!(cut(text, room), expect);
        }
    }

    #[test]
    fn control_characters_are_removed() {
        assert_eq!(one_line(" a\r\nb\tc\x1b[2J\u{7} "), "a b c�[2J�");
    }
}

//! The demo's output: at most 80 columns, with colours only on a terminal.

use std::io::IsTerminal;
use std::time::Duration;

/// Longest line, apart from long paths.
const LINE_CHARS: usize = 79;
const INDENT: usize = 4;
/// Width of the request's column; the answer follows it.
const LABEL_CHARS: usize = 22;

pub(super) struct Screen {
    colours: bool,
}

enum Style {
    Bold,
    Dim,
    Green,
    Red,
    Cyan,
    Yellow,
}

impl Screen {
    /// Honors <https://no-color.org>.
    pub(super) fn for_stdout() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { colours: std::io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb }
    }

    pub(super) fn intro(&self) {
        let title = self.paint(Style::Bold, "Switchboard in six steps");
        let wire = self.paint(Style::Dim, "<-- MCP -->");
        self.line(&format!(
            "\n  {title}\n\n  Your IDE starts Switchboard in place of its MCP servers. Switchboard runs the\n  \
             servers, and passes every message on as it is. In this demo:\n\n    \
             this program       {wire}  switchboard   {wire}  example server\n    \
             (two IDE windows)               (one daemon)"
        ));
    }

    pub(super) fn step(&self, number: u8, title: &str) {
        self.line(&format!("\n  {}", self.paint(Style::Bold, &format!("{number}. {title}"))));
    }

    /// Shows one request, its answer, and the time taken.
    pub(super) fn ask(&self, asked: &str, answer: &str, took: Option<Duration>) {
        let took = took.map(time).unwrap_or_default();
        let arrow = self.paint(Style::Cyan, "->");
        let room = LINE_CHARS - INDENT - 3 - LABEL_CHARS - 1 - 10;
        let answer = shorten(answer, room);
        self.line(&format!(
            "    {arrow} {asked:<LABEL_CHARS$} {answer:<room$} {:>9}",
            self.paint_right(&took, 9)
        ));
    }

    /// Shows the text of an answer or log line.
    pub(super) fn quote(&self, text: &str) {
        for line in wrap(text, LINE_CHARS - INDENT - 3) {
            self.line(&format!("       {}", self.paint(Style::Yellow, &line)));
        }
    }

    pub(super) fn good(&self, text: &str) {
        self.verdict(&self.paint(Style::Green, "ok"), text);
    }

    /// Shows the error, then the gateway's stderr.
    pub(super) fn failed(&self, text: &str) {
        let (what, log) = text.split_once('\n').unwrap_or((text, ""));
        self.verdict(&self.paint(Style::Red, "FAILED:"), what);
        self.line(log.trim_end());
    }

    pub(super) fn outro(&self, text: &str) {
        self.line(&format!("\n  {}\n\n{text}", self.paint(Style::Bold, "Use it with your own servers")));
    }

    fn verdict(&self, mark: &str, text: &str) {
        let mut lines = wrap(text, LINE_CHARS - INDENT - 3).into_iter();
        self.line(&format!("    {mark} {}", lines.next().unwrap_or_default()));
        for line in lines {
            self.line(&format!("       {line}"));
        }
    }

    /// Pads before painting, since colour codes must not count.
    fn paint_right(&self, text: &str, width: usize) -> String {
        self.paint(Style::Dim, &format!("{text:>width$}"))
    }

    fn paint(&self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Bold => 1,
            Style::Dim => 2,
            Style::Red => 31,
            Style::Green => 32,
            Style::Yellow => 33,
            Style::Cyan => 36,
        };
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn line(&self, text: &str) {
        // A reader that has gone away must not fail the demo.
        let _ = crate::commands::print(&format!("{text}\n"));
    }
}

fn time(took: Duration) -> String {
    let ms = took.as_secs_f64() * 1e3;
    match ms {
        ..1.0 => format!("{ms:.2} ms"),
        1.0..100.0 => format!("{ms:.1} ms"),
        100.0..1000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.2} s", ms / 1e3),
    }
}

fn shorten(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room - 1).chain(['…']).collect()
}

/// Wraps at spaces; a word longer than the width stands alone.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_wrapped_and_cut() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("a-very-long-word x", 4), ["a-very-long-word", "x"]);
        assert_eq!(wrap("", 4), Vec::<String>::new());
        assert_eq!(shorten("abcdef", 4), "abc…");
        assert_eq!(shorten("äöü", 3), "äöü");
    }

    #[test]
    fn times_have_the_unit_that_reads_best() {
        for (micros, expect) in
            [(80, "0.08 ms"), (4200, "4.2 ms"), (123_000, "123 ms"), (1_004_000, "1.00 s")]
        {
            assert_eq!(time(Duration::from_micros(micros)), expect);
        }
    }
}

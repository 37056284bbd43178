//! A page of the documentation as plain text. Supports the elements of our pages: headings, paragraphs,
//! lists, tables, code and links. Pure.

use crate::terminal::wrap_at;

/// `topics` are the pages that links may refer to.
pub(super) fn plain(page: &str, width: usize, topics: &[&str], colours: bool) -> String {
    let mut out = Page { text: String::new(), width, topics, colours };
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            let code: Vec<&str> =
                lines.by_ref().take_while(|line| !line.trim_start().starts_with("```")).collect();
            out.code(&code);
        } else if trimmed.starts_with('#') {
            out.heading(trimmed);
        } else if trimmed.starts_with('|') {
            let mut rows = vec![cells(trimmed)];
            while let Some(row) = lines.next_if(|line| line.trim_start().starts_with('|')) {
                rows.push(cells(row.trim_start()));
            }
            out.table(&rows);
        } else if !trimmed.is_empty() {
            let mut block = trimmed.to_owned();
            while let Some(more) = lines.next_if(|line| goes_on(line)) {
                block = format!("{block} {}", more.trim());
            }
            out.paragraph(&block, line.len() - trimmed.len());
        }
    }
    out.text
}

/// Whether a line continues the paragraph or list item before it.
fn goes_on(line: &str) -> bool {
    let line = line.trim_start();
    !(line.is_empty() || line.starts_with(['#', '|']) || line.starts_with("```") || bullet(line).is_some())
}

/// Marker of a list item: `-`, `*` or `1.`.
fn bullet(line: &str) -> Option<&str> {
    let (marker, _) = line.split_once(' ')?;
    let is_number = marker.strip_suffix('.').is_some_and(|number| number.parse::<u32>().is_ok());
    (matches!(marker, "-" | "*") || is_number).then_some(marker)
}

/// Cells of a row. `\|` is a literal bar.
fn cells(row: &str) -> Vec<String> {
    // A placeholder that cannot occur in a page.
    let row = row.replace("\\|", "\u{1}");
    let row = row.trim().trim_start_matches('|').trim_end_matches('|');
    row.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

struct Page<'a> {
    text: String,
    width: usize,
    topics: &'a [&'a str],
    colours: bool,
}

impl Page<'_> {
    fn code(&mut self, lines: &[&str]) {
        self.gap();
        for line in lines {
            self.text += format!("    {line}").trim_end();
            self.text.push('\n');
        }
    }

    fn heading(&mut self, line: &str) {
        let title = self.inline(line.trim_start_matches('#').trim());
        let rule = match line.chars().take_while(|c| *c == '#').count() {
            1 => "=",
            2 => "-",
            _ => "",
        };
        self.gap();
        self.text += &self.strong(&title);
        self.text.push('\n');
        if !rule.is_empty() {
            self.text += &rule.repeat(title.chars().count().min(self.width));
            self.text.push('\n');
        }
    }

    /// A paragraph, or a list item, whose lines align with its first word.
    fn paragraph(&mut self, block: &str, indent: usize) {
        let (marker, rest) = match bullet(block) {
            Some(marker) => (format!("{marker} "), block[marker.len()..].trim_start()),
            None => (String::new(), block),
        };
        if marker.is_empty() || !self.is_after_item() {
            self.gap();
        }
        let text = wrap_at(&self.inline(rest), self.width, indent + marker.len());
        let at = indent.min(text.len());
        self.text += &format!("{}{marker}{}\n", " ".repeat(at), text.trim_start());
    }

    /// A table, with each row's further cells below the first: columns would be too narrow.
    fn table(&mut self, rows: &[Vec<String>]) {
        let Some((head, rest)) = rows.split_first() else { return };
        let is_rule =
            |row: &&Vec<String>| row.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':')));
        for row in rest.iter().filter(|row| !is_rule(row)) {
            self.gap();
            let first = self.inline(row.first().map_or("", String::as_str));
            for line in wrap_at(&first, self.width, 2).lines() {
                self.text += &format!("{}\n", self.strong(line));
            }
            for (number, cell) in row.iter().enumerate().skip(1).filter(|(_, cell)| !cell.is_empty()) {
                let name = head.get(number).filter(|name| row.len() > 2 && !name.is_empty());
                let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
                let text = self.inline(&format!("{name}{cell}"));
                self.text += &format!("{}\n", wrap_at(&text, self.width, 6));
            }
        }
    }

    fn strong(&self, text: &str) -> String {
        if self.colours { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Starts a new block with an empty line.
    fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    fn is_after_item(&self) -> bool {
        let mut lines = self.text.lines().rev();
        lines.by_ref().take_while(|line| !line.is_empty()).any(|line| bullet(line.trim_start()).is_some())
    }

    /// Replaces links with their text, and removes emphasis.
    fn inline(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        // Code stays as it is.
        while let Some((before, after)) = rest.split_once('`') {
            out += &self.links(before);
            let (code, after) = after.split_once('`').unwrap_or((after, ""));
            out += &format!("`{code}`");
            rest = after;
        }
        self.ends(&(out + &self.links(rest)))
    }

    /// Removes emphasis from text without code.
    fn links(&self, text: &str) -> String {
        text.replace("**", "").replace('*', "")
    }

    /// Replaces `[text](target)`, whose text may contain code.
    fn ends(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, target)) = rest.split_once("](") {
            let Some((target, after)) = target.split_once(')') else { break };
            let Some((before, shown)) = before.rsplit_once('[') else { break };
            let page = target.split('#').next().unwrap_or_default().trim_end_matches(".md");
            out += before;
            out += shown;
            match () {
                () if target.contains("://") => out += &format!(" <{target}>"),
                () if self.topics.contains(&page) => out += &format!(" (help {page})"),
                () => {}
            }
            rest = after;
        }
        out + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_plain_text() {
        let page = "# The `title`\n\nA paragraph that is **longer** than\na line, with [a link](config.md#keys) and\n\
                    [another](#here).\n\n- one\n- two of them, which\n  goes on\n\n## Next\n\n```json\n{ \"a\": 1 }\n```\n\n\
                    | key | meaning |\n|---|---|\n| `a` | the first \\| letter of them all, which is long |\n| `b` | |\n\n\
                    | a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n";
        let expect = "The `title`\n===========\n\nA paragraph that is longer than a line,\n\
                      with a link (help config) and another.\n\n- one\n- two of them, which goes on\n\nNext\n----\n\n    { \"a\": 1 }\n\n  \
                      `a`\n      the first | letter of them all,\n      which is long\n\n  `b`\n\n  1\n      b: 2\n      c: 3\n";
        assert_eq!(plain(page, 40, &["config"], false), expect);
    }

    #[test]
    fn headings_are_bold_on_a_terminal() {
        assert_eq!(plain("### x", 40, &[], true), "\x1b[1mx\x1b[0m\n");
    }
}

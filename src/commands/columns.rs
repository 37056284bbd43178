//! Names and descriptions in two columns.

use crate::terminal::{cut, one_line};

/// Longer names do not widen the column.
const MAX_NAME_CHARS: usize = 44;
const COLUMN_GAP: &str = "  ";
/// Narrowest column for a description.
const MIN_TEXT_CHARS: usize = 20;
const INDENT: &str = "    ";

pub(super) struct Row {
    pub(super) name: String,
    pub(super) about: String,
}

impl Row {
    /// Keeps the first line of the description.
    pub(super) fn new(name: &str, about: &str) -> Self {
        let first = about.trim().lines().next().unwrap_or_default();
        Self { name: one_line(name), about: one_line(first) }
    }
}

/// One line per row. A name is never cut, so that it can be copied: where it leaves too little room, its
/// description moves to the next line.
pub(super) fn shown(rows: &[Row], width: Option<usize>, colours: bool) -> String {
    let length = |row: &Row| row.name.chars().count();
    let column = rows.iter().map(length).filter(|length| *length <= MAX_NAME_CHARS).max().unwrap_or_default();
    let line = |row: &Row| {
        let name = if colours { format!("\x1b[1m{}\x1b[0m", row.name) } else { row.name.clone() };
        if row.about.is_empty() {
            return format!("{name}\n");
        }
        let taken = length(row).max(column) + COLUMN_GAP.len();
        let padding = " ".repeat(taken - length(row));
        match width {
            None => format!("{name}{padding}{}\n", row.about),
            Some(width) if taken + MIN_TEXT_CHARS <= width => {
                format!("{name}{padding}{}\n", cut(&row.about, width - taken))
            }
            Some(width) => {
                format!("{name}\n{INDENT}{}\n", cut(&row.about, width.saturating_sub(INDENT.len())))
            }
        }
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_aligned_and_cut() {
        let long = "n".repeat(MAX_NAME_CHARS + 1);
        let rows = [
            Row::new("echo", "Says the same\nand more"),
            Row::new("search_all", "Finds\twhat there is"),
            Row::new("bare", ""),
            Row::new(&long, "Last"),
        ];
        let expect =
            format!("echo        Says the same\nsearch_all  Finds what there is\nbare\n{long}  Last\n");
        assert_eq!(shown(&rows, None, false), expect);
        let rows =
            [Row::new("echo", "Says the same"), Row::new("search_all", "Finds whatever there is to find")];
        let cut = "echo        Says the same\nsearch_all  Finds whatever there is…\n";
        assert_eq!(shown(&rows, Some(36), false), cut);
        let below = "echo\n    Says the same\nsearch_all\n    Finds whatever there is t…\n";
        assert_eq!(shown(&rows, Some(30), false), below);
        assert!(shown(&rows, None, true).starts_with("\x1b[1mecho\x1b[0m        Says"));
    }
}

//! Names with what is said about them, in two columns.

use super::terminal::{cut, one_line};

/// Names that are longer do not move the others' descriptions.
const WIDEST_NAME: usize = 44;
const GAP: &str = "  ";

pub(super) struct Row {
    pub(super) name: String,
    pub(super) about: String,
}

impl Row {
    /// Of the description only the first line.
    pub(super) fn new(name: &str, about: &str) -> Self {
        let first = about.trim().lines().next().unwrap_or_default();
        Self { name: one_line(name), about: one_line(first) }
    }
}

/// A line each. A name is never cut: somebody may want to copy it.
pub(super) fn shown(rows: &[Row], width: Option<usize>, colours: bool) -> String {
    let length = |row: &Row| row.name.chars().count();
    let column = rows.iter().map(length).filter(|length| *length <= WIDEST_NAME).max().unwrap_or_default();
    let line = |row: &Row| {
        let padding = " ".repeat(column.saturating_sub(length(row)));
        let taken = length(row) + padding.len() + GAP.len();
        let about = match width {
            Some(width) => cut(&row.about, width.saturating_sub(taken)),
            None => row.about.clone(),
        };
        let name = if colours { format!("\x1b[1m{}\x1b[0m", row.name) } else { row.name.clone() };
        let rest = if about.is_empty() { String::new() } else { format!("{padding}{GAP}{about}") };
        format!("{name}{rest}\n")
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_stand_below_each_other_and_are_cut() {
        let long = "n".repeat(WIDEST_NAME + 1);
        let rows = [
            Row::new("echo", "Says the same\nand more"),
            Row::new("search_all", "Finds\twhat there is"),
            Row::new("bare", ""),
            Row::new(&long, "Last"),
        ];
        let expect =
            format!("echo        Says the same\nsearch_all  Finds what there is\nbare\n{long}  Last\n");
        assert_eq!(shown(&rows, None, false), expect);
        let cut = format!("echo        Says the…\nsearch_all  Finds wh…\nbare\n{long}\n");
        assert_eq!(shown(&rows, Some(21), false), cut);
        assert!(shown(&rows, None, true).starts_with("\x1b[1mecho\x1b[0m        Says"));
    }
}

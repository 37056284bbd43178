//! Lines on a server's stdout that are no messages.

use std::collections::VecDeque;

/// Lines that are remembered, to be shown when the process ends.
const MAX_LINES: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    /// All lines so far.
    total: u64,
    /// The last lines of the present process, cut and redacted.
    lines: VecDeque<String>,
}

impl Quarantine {
    pub(crate) fn add(&mut self, line: String) {
        self.total += 1;
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The process has ended: these were its last lines.
    pub(crate) fn take_text(&mut self) -> String {
        let lines: Vec<String> = std::mem::take(&mut self.lines).into();
        lines.join("\n")
    }
}

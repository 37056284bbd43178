//! Lines on a server's stdout that are not messages. Must not know how a message is recognised.

use std::collections::VecDeque;

/// Limit on stored lines, shown when the process ends.
const MAX_LINES: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    /// Number of all lines so far.
    total: u64,
    /// The last lines of the current process, truncated and redacted.
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

    /// Takes the last lines of a process that has ended.
    pub(crate) fn take_text(&mut self) -> String {
        let lines: Vec<String> = std::mem::take(&mut self.lines).into();
        lines.join("\n")
    }
}

//! The pins of a server while it runs, and lists that were compared with them before. Must not know backends.

use crate::catalogue::{Digest, Held, Sighting};
use crate::pins::{Comparison, PinNews, Pinning, Pins, Sight};
use std::collections::VecDeque;
use std::sync::Arc;

/// Limit on remembered pages: a few kinds of clients, and a few pages each.
const MAX_KNOWN_PAGES: usize = 32;

#[derive(Debug)]
pub(crate) struct PinnedTools {
    pinning: Pinning,
    pins: Pins,
    /// The server lists items that have no name, which cannot be approved.
    has_nameless: bool,
    /// Pages whose tools are all approved, to the letter, by kind of client. The oldest first.
    known_pages: VecDeque<(Sight, Digest)>,
}

impl PinnedTools {
    pub(super) fn new(pinning: Pinning, pins: Pins) -> Self {
        Self { pinning, pins, has_nameless: false, known_pages: VecDeque::new() }
    }

    pub(crate) fn pins(&self) -> &Pins {
        &self.pins
    }

    /// Whether a page need not be compared again: it was, and no tool of the server has changed.
    pub(crate) fn knows_page(&self, sight: Sight, page: Digest) -> bool {
        !self.pins.has_changed() && !self.pins.is_closed() && self.known_pages.contains(&(sight, page))
    }

    pub(crate) fn compare(&mut self, sight: Sight, seen: &Sighting) -> Comparison {
        self.has_nameless |= seen.has_nameless();
        let comparison = self.pins.compare(sight, seen);
        let page = (sight, seen.raw());
        if comparison.unapproved.is_empty() && !seen.has_nameless() && !self.known_pages.contains(&page) {
            if self.known_pages.len() >= MAX_KNOWN_PAGES {
                self.known_pages.pop_front();
            }
            self.known_pages.push_back(page);
        }
        comparison
    }

    /// Tools to hide.
    pub(crate) fn held(&self) -> Option<Held> {
        match self.pinning {
            Pinning::Off | Pinning::Warn => None,
            Pinning::Hold => self.pins.held(self.has_nameless),
        }
    }

    pub(crate) fn restore(&mut self, tool: &str) -> Option<PinNews> {
        self.pins.restore(tool)
    }

    /// Adds what was approved elsewhere, as stored. Returns the tools whose changes are approved now.
    pub(crate) fn adopt(&mut self, stored: &Pins) -> Vec<Arc<str>> {
        let before: Vec<Arc<str>> = self.pins.changed().cloned().collect();
        self.pins.adopt(stored);
        self.known_pages.clear();
        let still: Vec<&Arc<str>> = self.pins.changed().collect();
        before.into_iter().filter(|tool| !still.contains(&tool)).collect()
    }

    pub(super) fn forget(&mut self) {
        *self = Self::new(self.pinning, Pins::default());
    }
}

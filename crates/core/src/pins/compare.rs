//! A list of tools, compared with the pins. The first definition that a kind of client sees is approved, unless
//! the tool has changed for others: a changed tool must not be approved by a client that comes with other
//! capabilities.

use super::news::PinNews;
use super::sight::Sight;
use super::table::{MAX_APPROVED, MAX_CHANGED, MAX_NAME_BYTES, MAX_SIGHTS, MAX_TOOLS, Pin, Pins};
use crate::catalogue::{Digest, SeenTool, Sighting};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Result of a comparison.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Changes of the pins.
    pub news: Vec<PinNews>,
    /// Tools with a definition that is neither approved nor known as a change.
    pub changed: Vec<Arc<str>>,
    /// Tools with a second approved definition, for another kind of client.
    pub variants: Vec<Arc<str>>,
    /// All definitions that are not approved.
    pub unapproved: Vec<(Arc<str>, Digest)>,
    /// Tools with changes that are defined as approved in this list.
    pub restored: Vec<Arc<str>>,
    /// Tools beyond the limit were left out for the first time.
    pub is_full: bool,
}

/// Verdict on one definition.
enum Verdict {
    Approved,
    FirstSight,
    Changed,
}

impl Pins {
    /// Compares the tools of a list, or of a page of it, as a kind of client sees them.
    pub fn compare(&mut self, sight: Sight, seen: &Sighting) -> Comparison {
        let mut comparison = Comparison::default();
        // Before the first approval below: a list may have several tools of the same name.
        let is_first = |tool: &SeenTool| self.tools.get(&tool.name).is_none_or(|pin| pin.is_new_to(sight));
        let first: BTreeSet<Arc<str>> =
            seen.tools().iter().filter(|tool| is_first(tool)).map(|tool| tool.name.clone()).collect();
        for tool in seen.tools() {
            let is_beyond = self.tools.len() >= MAX_TOOLS || tool.name.len() > MAX_NAME_BYTES;
            if is_beyond && !self.tools.contains_key(&tool.name) {
                comparison.is_full |= !std::mem::replace(&mut self.is_full, true);
                continue;
            }
            let pin = self.tools.entry(tool.name.clone()).or_default();
            let verdict = match pin.approves(tool.digest) {
                true => Verdict::Approved,
                false if first.contains(&tool.name) && pin.changed.is_empty() && !self.is_closed => {
                    Verdict::FirstSight
                }
                false => Verdict::Changed,
            };
            pin.record(verdict, tool, sight, &mut comparison);
        }
        comparison
    }
}

impl Pin {
    /// Whether this kind of client has not seen the tool.
    fn is_new_to(&self, sight: Sight) -> bool {
        !self.sights.contains(&sight) && self.sights.len() < MAX_SIGHTS
    }

    fn record(&mut self, verdict: Verdict, tool: &SeenTool, sight: Sight, comparison: &mut Comparison) {
        let SeenTool { name, digest, definition } = tool;
        let (name, digest, definition) = (name.clone(), *digest, definition.clone());
        let is_new = self.is_new_to(sight);
        if is_new {
            self.sights.push(sight);
        }
        match verdict {
            Verdict::Approved => {
                // The one seen last stays longest.
                self.approved.retain(|known| *known != digest);
                self.approved.insert(0, digest);
                if !self.changed.is_empty() {
                    comparison.restored.push(name.clone());
                }
                if is_new {
                    comparison.news.push(PinNews::Seen { tool: name, sight });
                }
            }
            Verdict::FirstSight => {
                if !self.approved.is_empty() {
                    comparison.variants.push(name.clone());
                }
                self.approved.insert(0, digest);
                comparison.news.push(PinNews::FirstSight { tool: name.clone(), digest, sight, definition });
                if self.approved.len() > MAX_APPROVED
                    && let Some(digest) = self.approved.pop()
                {
                    comparison.news.push(PinNews::Dropped { tool: name, digest });
                }
            }
            Verdict::Changed => {
                comparison.unapproved.push((name.clone(), digest));
                if self.changed.contains(&digest) {
                    return;
                }
                if self.changed.len() >= MAX_CHANGED {
                    self.changed.remove(0);
                }
                self.changed.push(digest);
                comparison.changed.push(name.clone());
                comparison.news.push(PinNews::Changed { tool: name, digest, sight, definition });
            }
        }
    }
}

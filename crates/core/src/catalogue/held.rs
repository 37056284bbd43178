//! Tools that are hidden from all clients until their owner approves them. Must not know why.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Names of hidden tools, as the server spells them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// Possibly none: then only items are hidden that have no name to approve.
    These(BTreeSet<Arc<str>>),
    AllBut(BTreeSet<Arc<str>>),
}

impl Held {
    pub fn hides(&self, own: &str) -> bool {
        match self {
            Self::These(names) => names.contains(own),
            Self::AllBut(names) => !names.contains(own),
        }
    }

    pub(super) fn hides_all(&self) -> bool {
        matches!(self, Self::AllBut(names) if names.is_empty())
    }

    /// Hidden names, as far as they are known.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        match self {
            Self::These(names) => Some(names),
            Self::AllBut(_) => None,
        }
        .into_iter()
        .flatten()
    }
}

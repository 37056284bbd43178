//! The pins of one server: approved and changed definitions of each tool. Everything is bounded, since servers
//! choose the names and the number of their tools.

use super::news::PinNews;
use super::sight::Sight;
use crate::catalogue::{Digest, Held, Offer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Limit on approved definitions of one tool; the one that was not seen for longest makes room.
pub const MAX_APPROVED: usize = 16;

/// Limit on changed definitions of one tool; the oldest makes room.
pub const MAX_CHANGED: usize = 16;

/// Limit on kinds of clients per tool. Beyond it, no new kind approves anything.
pub(super) const MAX_SIGHTS: usize = 64;

/// Limit on tools of one server. Beyond it, new tools are not pinned.
pub(super) const MAX_TOOLS: usize = 4096;

/// Limit on the length of a tool's name. Longer ones are not pinned.
pub(super) const MAX_NAME_BYTES: usize = 1024;

/// Pins of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pin {
    /// Approved definitions, the one seen last first.
    pub(super) approved: Vec<Digest>,
    /// Kinds of clients that have seen the tool.
    pub(super) sights: Vec<Sight>,
    /// Definitions that are not approved, the newest last.
    pub(super) changed: Vec<Digest>,
}

/// Pins of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pins {
    pub(super) tools: BTreeMap<Arc<str>, Pin>,
    /// No first sight approves anything: stored pins were lost.
    pub(super) is_closed: bool,
    /// The server has tools that are not pinned, since they are beyond a limit.
    pub(super) is_full: bool,
}

impl Pin {
    pub fn new(approved: Vec<Digest>, sights: Vec<Sight>, changed: Vec<Digest>) -> Self {
        Self { approved, sights, changed }
    }

    pub(super) fn approves(&self, digest: Digest) -> bool {
        self.approved.contains(&digest)
    }
}

impl Pins {
    pub fn new(tools: impl IntoIterator<Item = (Arc<str>, Pin)>, is_closed: bool) -> Self {
        Self { tools: tools.into_iter().collect(), is_closed, is_full: false }
    }

    /// Pins of a server whose stored ones cannot be read: nothing is approved.
    pub fn lost() -> Self {
        Self { is_closed: true, ..Self::default() }
    }

    /// Whether the stored pins were lost, and nothing has been approved since.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Names of tools with a definition that is not approved.
    pub fn changed(&self) -> impl Iterator<Item = &Arc<str>> {
        self.tools.iter().filter(|(_, pin)| !pin.changed.is_empty()).map(|(name, _)| name)
    }

    pub(crate) fn has_changed(&self) -> bool {
        self.changed().next().is_some()
    }

    pub(crate) fn approves(&self, tool: &str, digest: Digest) -> bool {
        self.tools.get(tool).is_some_and(|pin| pin.approves(digest))
    }

    /// Tools to hide until they are approved. `has_nameless`: the server lists items without a name.
    pub fn held(&self, has_nameless: bool) -> Option<Held> {
        if self.is_closed || self.is_full {
            let is_shown = |pin: &Pin| !pin.approved.is_empty() && pin.changed.is_empty();
            let shown = self.tools.iter().filter(|(_, pin)| is_shown(pin));
            return Some(Held::AllBut(shown.map(|(name, _)| name.clone()).collect()));
        }
        (has_nameless || self.has_changed()).then(|| Held::These(self.changed().cloned().collect()))
    }

    /// Whether all tools of an offer that are not held are defined as approved. Never after a loss: the server must
    /// list its tools, so that its owner can approve them.
    pub fn vouch_for(&self, offer: &Offer) -> bool {
        if self.is_closed {
            return false;
        }
        let Some(seen) = offer.sighting() else { return true };
        let held = self.held(false);
        let is_held = |name: &str| held.as_ref().is_some_and(|held| held.hides(name));
        (held.is_some() || !seen.has_nameless())
            && seen.tools().iter().all(|tool| is_held(&tool.name) || self.approves(&tool.name, tool.digest))
    }

    /// Adds what was approved elsewhere, as stored.
    pub fn adopt(&mut self, stored: &Self) {
        for (name, pin) in &stored.tools {
            let own = self.tools.entry(name.clone()).or_default();
            for digest in
                pin.approved.iter().rev().filter(|digest| !own.approves(**digest)).collect::<Vec<_>>()
            {
                own.approved.insert(0, *digest);
            }
            own.approved.truncate(MAX_APPROVED);
            own.changed.retain(|digest| !pin.approves(*digest));
        }
        self.is_closed = stored.is_closed;
    }

    /// Forgets the changes of a tool that is defined as approved again.
    pub(crate) fn restore(&mut self, tool: &str) -> Option<PinNews> {
        let (name, pin) = self.tools.iter_mut().find(|(name, _)| ***name == *tool)?;
        let had_any = !std::mem::take(&mut pin.changed).is_empty();
        had_any.then(|| PinNews::Restored { tool: name.clone() })
    }
}

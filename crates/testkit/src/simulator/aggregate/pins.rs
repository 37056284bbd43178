//! Pins of servers: what a next run would load, and the tools that nobody may call meanwhile. Every item has a mark of
//! its own, so that a tool which becomes another under the same name has changed.

use super::verb::Verb;
use super::{AggregateTurn, AggregateWorld, server_id};
use crate::simulator::engine::Check;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use switchboard_core::Launch;
use switchboard_core::catalogue::{Digest, Held, List};
use switchboard_core::pins::{Pin, PinNews, Pinning, Pins, Sight};

/// Pins of a server, as stored.
#[derive(Debug, Default)]
pub(super) struct StoredPins {
    tools: BTreeMap<Arc<str>, ToolPins>,
    /// Tools that were held at any time.
    ever_held: BTreeSet<Arc<str>>,
}

#[derive(Debug, Default)]
struct ToolPins {
    approved: Vec<Digest>,
    sights: Vec<Sight>,
    changed: Vec<Digest>,
}

impl StoredPins {
    pub(super) fn pins(&self) -> Pins {
        let pin =
            |pins: &ToolPins| Pin::new(pins.approved.clone(), pins.sights.clone(), pins.changed.clone());
        Pins::new(self.tools.iter().map(|(name, pins)| (name.clone(), pin(pins))), false)
    }

    fn changed(&self) -> BTreeSet<Arc<str>> {
        let changed = self.tools.iter().filter(|(_, pins)| !pins.changed.is_empty());
        changed.map(|(name, _)| name.clone()).collect()
    }

    fn apply(&mut self, news: PinNews) -> Check {
        let see = |pins: &mut ToolPins, sight: Sight| {
            if !pins.sights.contains(&sight) {
                pins.sights.push(sight);
            }
        };
        match news {
            PinNews::FirstSight { tool, digest, sight, .. } => {
                let pins = self.tools.entry(tool.clone()).or_default();
                if !pins.changed.is_empty() {
                    return Err(format!("{tool} has changed, and is approved at first sight"));
                }
                see(pins, sight);
                pins.approved.insert(0, digest);
            }
            PinNews::Seen { tool, sight } => see(self.tools.entry(tool).or_default(), sight),
            PinNews::Changed { tool, digest, sight, .. } => {
                let pins = self.tools.entry(tool.clone()).or_default();
                if pins.approved.contains(&digest) {
                    return Err(format!("{tool} is approved, and counts as changed"));
                }
                see(pins, sight);
                pins.changed.push(digest);
                self.ever_held.insert(tool);
            }
            PinNews::Restored { tool } => self.tools.entry(tool).or_default().changed.clear(),
            PinNews::Dropped { tool, digest } => {
                self.tools.entry(tool).or_default().approved.retain(|known| *known != digest);
            }
            PinNews::Forgotten => self.tools.clear(),
        }
        Ok(())
    }
}

impl AggregateWorld {
    pub(super) fn pins_stored(&mut self, at: usize, news: Vec<PinNews>) -> Check {
        self.stats.count("pins");
        for it in news {
            let is_change = matches!(it, PinNews::Changed { .. });
            self.stats.count_if("changed_tools", is_change);
            self.own.servers[at].pins.apply(it)?;
        }
        self.renew_held(at);
        Ok(())
    }

    /// Hides what is held now, by one more naming that the server has had.
    pub(super) fn renew_held(&mut self, at: usize) {
        let server = &mut self.own.servers[at];
        if server.settings.pinning != Pinning::Hold {
            return;
        }
        let changed = server.pins.changed();
        let held = (!changed.is_empty()).then(|| Arc::new(Held::These(changed)));
        if held != server.settings.naming.tools.held {
            server.settings.naming = Arc::new(server.settings.naming.holding(held));
            server.namings.push(server.settings.naming.clone());
            self.own.change += 1;
        }
    }

    /// The owner approves the changed tools of a server.
    pub(super) fn approves(&mut self) -> Check {
        let has_changed = |at: &usize| !self.own.servers[*at].pins.changed().is_empty();
        let some: Vec<usize> = (0..self.own.servers.len()).filter(has_changed).collect();
        let Some(at) = self.rng.choose(&some).filter(|at| !self.owner.is_removed(*at)) else { return Ok(()) };
        self.tell(|| format!("the owner approves the tools of server {at}"));
        self.stats.count("approvals");
        for pins in self.own.servers[at].pins.tools.values_mut() {
            let changed = std::mem::take(&mut pins.changed);
            pins.approved.splice(0..0, changed);
            pins.approved.truncate(switchboard_core::pins::MAX_APPROVED);
        }
        self.renew_held(at);
        self.own.change += 1;
        let (now, pins) = (self.now, self.own.servers[at].pins.pins());
        self.handle_by(AggregateTurn::default(), |core, actions| {
            core.adopt_pins(now, server_id(at), &pins, actions);
        })
    }

    /// No call reaches a held tool, or a process that has not said what its tools are.
    pub(super) fn check_held(&mut self, launch: Launch, tag: usize, heard: &str) -> Check {
        let p = &self.processes[&launch];
        let server = &self.own.servers[p.server];
        let is_call = matches!(self.ledger.requests[tag].verb, Verb::Call { .. });
        if server.settings.pinning != Pinning::Hold || !is_call {
            return Ok(());
        }
        let client = self.ledger.requests[tag].client;
        if server.pins.changed().contains(heard) {
            return Err(format!("{heard} is held, and {launch} is asked for it by {client}"));
        }
        if !p.has_listed && server.menu(p.class.unwrap_or_default()).declares(List::Tools) {
            return Err(format!("{launch} was not asked for its tools, and {client} calls {heard}"));
        }
        self.stats.count("checked_calls");
        Ok(())
    }

    /// Whether a refusal is about a tool that is held, as it says.
    pub(super) fn is_about_held(&self, tag: usize, error: &Value) -> bool {
        let text = |path: &str| error.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let at = (0..self.own.servers.len()).find(|at| self.name_of(*at) == text("/data/server"));
        let meant = self.ledger.requests[tag].meant.map(|mark| self.own.items[mark].name.as_str());
        let was_held = |at: usize| {
            let held = &self.own.servers[at].pins.ever_held;
            meant.map_or(!held.is_empty(), |name| held.contains(name))
        };
        text("/data/hint").contains("switchboard approve tools") && at.is_some_and(was_held)
    }
}

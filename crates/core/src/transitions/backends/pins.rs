//! Tool pinning: lists of tools are compared with the approved definitions before a client sees them, and changed
//! tools are reported or held back. While tools are held back, no call reaches a process whose tools have not been
//! compared.

use crate::backends::Backend;
use crate::catalogue::{Digest, Offer, Sighting};
use crate::core::{Core, Followup};
use crate::event::Action;
use crate::fact::Fact;
use crate::ids::{BackendId, ServerId};
use crate::moment::Moment;
use crate::pending::Pending;
use crate::pins::{Comparison, PinNews, Pinning, Pins, Sight};
use crate::servers::Server;
use std::sync::Arc;
use switchboard_protocol::{ErrorAnswer, Message, Part};

impl Core {
    /// Compares a page of tools that a client has asked for. `Err` if the client must not see it.
    pub(crate) fn compare_page(&mut self, backend: BackendId, answer: &Message) -> Result<(), ErrorAnswer> {
        let pinning = self.settings_of(backend).pinning;
        if pinning == Pinning::Off || !answer.has(Part::Result) {
            return Ok(());
        }
        let result = answer.bytes().slice(answer.span(Part::Result).range());
        let Some(server) = self.pinned_server(backend) else {
            return match pinning {
                // Its pins went with the earlier config.
                Pinning::Hold => Err(self.outdated_tools(backend)),
                Pinning::Off | Pinning::Warn => Ok(()),
            };
        };
        let sight = self.sight_of(backend);
        let is_known = self.servers.get(server).is_some_and(|it| {
            // Cheaper than reading the page, and a change may not be told from its absence by less.
            it.tools().knows_page(sight, Digest::of_bytes(&result))
        });
        if is_known {
            return Ok(());
        }
        match (Sighting::of_page(&result), pinning) {
            (Ok(seen), _) => {
                let restored = self.compare_tools(backend, server, &seen);
                self.restore_tools(backend, server, restored);
                Ok(())
            }
            (Err(unreadable), Pinning::Hold) => Err(self.bad_answer(backend, &unreadable.to_string())),
            (Err(_), Pinning::Off | Pinning::Warn) => Ok(()),
        }
    }

    /// Compares the tools of lists that we have asked for. Returns those that are defined as approved again.
    pub(crate) fn compare_offer(&mut self, backend: BackendId, offer: &Offer) -> Vec<Arc<str>> {
        if self.settings_of(backend).pinning == Pinning::Off {
            return Vec::new();
        }
        match (self.pinned_server(backend), offer.sighting()) {
            (Some(server), Some(seen)) => self.compare_tools(backend, server, seen),
            (Some(_), None) | (None, _) => Vec::new(),
        }
    }

    /// The server of a backend, unless its settings have changed since the backend was created.
    fn pinned_server(&self, backend: BackendId) -> Option<ServerId> {
        let b = self.backends.get(&backend)?;
        let is_same = Arc::ptr_eq(self.servers.get(b.server())?.settings(), b.settings());
        (is_same || !b.is_retired()).then(|| b.server())
    }

    /// The kind of client that a backend serves.
    fn sight_of(&self, backend: BackendId) -> Sight {
        let profile = self.backends.get(&backend).and_then(|b| b.key().profile.as_deref());
        Sight::of(profile.unwrap_or_default())
    }

    fn compare_tools(&mut self, backend: BackendId, server: ServerId, seen: &Sighting) -> Vec<Arc<str>> {
        let sight = self.sight_of(backend);
        let Some(known) = self.servers.get_mut(server) else { return Vec::new() };
        let Comparison { news, changed, variants, unapproved, restored, is_full } =
            known.tools_mut().compare(sight, seen);
        if let Some(b) = self.backends.get_mut(&backend) {
            b.lists_mut().record_unapproved(seen, unapproved);
        }
        // Before the lists are stored: after a crash in between, a changed tool must not look approved.
        self.store_pins(server, news);
        let are_held = self.settings_of(backend).pinning == Pinning::Hold;
        if !changed.is_empty() {
            self.report(Fact::ToolsChanged { backend, tools: changed, are_held });
        }
        if !variants.is_empty() {
            self.report(Fact::ToolVariants { backend, tools: variants });
        }
        if is_full {
            self.report(Fact::TooManyTools { backend, are_held });
        }
        self.renew_held(server);
        restored
    }

    /// Forgets the changes of tools that no process and no stored list shows any more.
    pub(crate) fn restore_tools(&mut self, backend: BackendId, server: ServerId, tools: Vec<Arc<str>>) {
        let gone: Vec<Arc<str>> =
            tools.into_iter().filter(|tool| !self.is_shown_changed(server, tool)).collect();
        let Some(known) = self.servers.get_mut(server) else { return };
        let news: Vec<PinNews> = gone.iter().filter_map(|tool| known.tools_mut().restore(tool)).collect();
        if news.is_empty() {
            return;
        }
        self.store_pins(server, news);
        self.report(Fact::ToolsRestored { backend, tools: gone });
        self.renew_held(server);
    }

    /// Whether some client could see a definition of this tool that is not approved.
    fn is_shown_changed(&self, server: ServerId, tool: &str) -> bool {
        let Some(known) = self.servers.get(server) else { return false };
        let pins = known.tools().pins();
        let is_changed = |offer: &Arc<Offer>| {
            let seen = offer.sighting().map(|seen| seen.tools()).unwrap_or_default();
            seen.iter().any(|seen| *seen.name == *tool && !pins.approves(tool, seen.digest))
        };
        let runs_changed = |b: &Backend| b.lists().is_unapproved(tool);
        self.backends.of_server(server).any(runs_changed)
            || known.offers().values().filter_map(|stored| stored.offer()).any(is_changed)
    }

    fn store_pins(&mut self, server: ServerId, news: Vec<PinNews>) {
        if !news.is_empty() {
            self.actions.push(Action::StorePins { server, news });
        }
    }

    /// Hides the tools that are held, and shows those that no longer are, to all clients of a server.
    fn renew_held(&mut self, server: ServerId) {
        let Some(known) = self.servers.get(server) else { return };
        let (held, naming) = (known.tools().held(), &known.settings().naming);
        if held.as_ref() == naming.tools.held.as_deref() {
            return;
        }
        let naming = Arc::new(naming.holding(held.map(Arc::new)));
        self.rename(server, naming);
        self.renew_aggregates_of(server);
    }

    /// Applies what the owner has approved, as stored.
    pub fn adopt_pins(&mut self, now: Moment, server: ServerId, stored: &Pins, actions: &mut Vec<Action>) {
        self.transition(now, actions, |core| core.pins_adopted(server, stored));
    }

    fn pins_adopted(&mut self, server: ServerId, stored: &Pins) {
        let Some(known) = self.servers.get_mut(server) else { return };
        let approved = known.tools_mut().adopt(stored);
        let name = known.name().to_owned();
        let Some(pins) = self.servers.get(server).map(|known| known.tools().pins()) else { return };
        for b in self.backends.values_mut().filter(|b| b.server() == server) {
            b.lists_mut().approve(|tool, digest| pins.approves(tool, digest));
        }
        if !approved.is_empty() {
            self.report(Fact::ToolsApproved { server: name, tools: approved });
        }
        self.renew_held(server);
    }

    /// Forgets the pins of a server: its tools are seen for the first time again.
    pub(super) fn forget_pins(&mut self, server: ServerId) {
        if self.servers.get(server).is_none_or(|known| known.settings().pinning == Pinning::Off) {
            return;
        }
        self.store_pins(server, vec![PinNews::Forgotten]);
        if let Some(known) = self.servers.get_mut(server) {
            known.forget_pins();
        }
        for b in self.backends.values_mut().filter(|b| b.server() == server) {
            b.lists_mut().approve(|_, _| true);
        }
        self.renew_held(server);
    }

    /// Asks for the tools of a process that a call waits for, unless this is under way.
    pub(crate) fn check_tools(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let Some(launch) = b.launch() else { return };
        let overdue = b.lists_mut().take_postponed(self.clock.now());
        match overdue.is_empty() {
            true => self.fetch_offer(launch),
            // They could not be fetched before, and the next attempt is some time away.
            false => self.ask_for(launch, &overdue),
        }
    }

    /// Continues with calls that waited for the tools of a process, or refuses them.
    pub(crate) fn tools_checked(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get(&backend).filter(|b| b.settings().pinning == Pinning::Hold) else {
            return;
        };
        if b.lists().are_tools_checked() {
            return self.followups.push(Followup::GiveTurn { backend });
        }
        if !b.lists().have_tools_failed() {
            return;
        }
        let waits = |pending: &Pending| b.must_check_first(pending.method());
        let own = b.queue().requests().filter(|minted| self.pending.get(*minted).is_some_and(waits));
        let error = self.unchecked_tools(backend);
        for minted in own.collect::<Vec<u64>>() {
            self.unqueue(backend, minted);
            self.fail_one(minted, &error);
        }
        // Requests of other kinds may have waited behind them.
        self.followups.push(Followup::GiveTurn { backend });
    }

    /// Names of the tools of a server that have changed, and of those that are hidden.
    pub(crate) fn changed_tools(server: &Server) -> (Vec<String>, Vec<String>) {
        let changed: Vec<String> = server.tools().pins().changed().map(|tool| tool.to_string()).collect();
        match server.settings().pinning {
            Pinning::Off => (Vec::new(), Vec::new()),
            Pinning::Warn => (changed, Vec::new()),
            Pinning::Hold => (changed.clone(), changed),
        }
    }
}

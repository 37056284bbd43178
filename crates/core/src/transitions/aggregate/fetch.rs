//! List requests to a backend, page by page: once it is ready, and again when it announces a change. Must not
//! know how lists are merged: see `lists`.

use crate::backends::{AfterPage, Backend};
use crate::catalogue::{List, Offer, OfferKey};
use crate::clients::Role;
use crate::core::Core;
use crate::event::Action;
use crate::ids::{BackendId, ClientId, Launch};
use crate::messages::is_not_offered;
use crate::pending::Asker;
use crate::pins::Pinning;
use std::sync::Arc;
use std::time::Duration;
use switchboard_protocol::{Message, Method, Part};

/// Timeout of one page.
const PAGE_TIMEOUT: Duration = Duration::from_secs(30);

impl Core {
    /// Requests a backend's lists, if it can be asked and a client needs them.
    pub(crate) fn fetch_offer(&mut self, launch: Launch) {
        let is_wanted = self.lessees(launch.backend).any(|client| self.wants_offer(client));
        let can_be_asked = |b: &Backend| b.is_current(launch) && b.can_be_asked_for_lists();
        if is_wanted && self.backends.get(&launch.backend).is_some_and(can_be_asked) {
            self.ask_for(launch, &List::ALL);
        }
    }

    /// Whether a client's lists come from our own requests, instead of the client's.
    pub(crate) fn wants_offer(&self, client: ClientId) -> bool {
        let Some(c) = self.clients.get(&client) else { return false };
        match c.role() {
            Role::Delegate { .. } | Role::Prefetch { .. } | Role::Standby => true,
            // A plain client sends its own requests. But the stored lists it was shown may be outdated.
            Role::Plain => {
                c.was_shown_stored() || self.needs_templates(client) || c.settings().pinning == Pinning::Hold
            }
            Role::Aggregate(_) => false,
        }
    }

    /// Handles a notification of a changed list.
    pub(crate) fn offer_changed(&mut self, launch: Launch, method: Method) {
        let lists: &[List] = match method {
            Method::ToolsChanged => &[List::Tools],
            Method::PromptsChanged => &[List::Prompts],
            _ => &[List::Resources, List::Templates],
        };
        self.fetch_anew(launch.backend, lists);
    }

    /// Fetches lists again, which may have changed, if they have been fetched before.
    pub(crate) fn fetch_anew(&mut self, backend: BackendId, lists: &[List]) {
        let Some(b) = self.backends.get_mut(&backend) else { return };
        b.lists_mut().mark_changed(lists);
        if let Some(due) = b.lists().next_round_at() {
            self.clock.wake_at(due);
            // The pause since the last round may be over already.
            self.tick_fetches();
        }
    }

    /// Fetches a list again from servers whose announcements do not reach us, if it is no longer fresh. Returns whether one
    /// is not.
    pub(super) fn refresh_stale(&mut self, client: ClientId, list: List) -> bool {
        let now = self.clock.now();
        let homes: Vec<BackendId> =
            self.delegates(client).iter().filter_map(|delegate| self.clients.get(delegate)?.home()).collect();
        let tells = |b: &Backend| !b.own_listen().is_deaf() && b.announced_changes().includes_list(list);
        let is_stale = |b: &Backend| b.lists().is_stale(list, now) && !tells(b);
        let stale = homes.into_iter().filter(|home| self.backends.get(home).is_some_and(is_stale));
        let stale: Vec<BackendId> = stale.collect();
        for backend in &stale {
            let Some(b) = self.backends.get_mut(backend) else { continue };
            b.lists_mut().mark_changed(&[list]);
            if let Some(due) = b.lists().next_round_at() {
                self.clock.wake_at(due);
            }
        }
        if !stale.is_empty() {
            self.tick_fetches();
        }
        !stale.is_empty()
    }

    /// Continues with backends whose pause is over.
    pub(crate) fn tick_fetches(&mut self) {
        let now = self.clock.now();
        let is_due = |b: &&Backend| b.lists().next_round_at().is_some_and(|due| due <= now);
        let due: Vec<BackendId> = self.backends.values().filter(is_due).map(|b| b.id()).collect();
        for backend in due {
            let Some(b) = self.backends.get_mut(&backend) else { continue };
            let changed = b.lists_mut().take_changed();
            if let Some(launch) = b.launch() {
                self.ask_for(launch, &changed);
            }
        }
    }

    /// Requests the first page of these lists; the others stay as known.
    pub(crate) fn ask_for(&mut self, launch: Launch, lists: &[List]) {
        let begun = self.backends.get_mut(&launch.backend).and_then(|b| b.begin_list_round(lists));
        let Some((round, offered)) = begun else { return };
        for list in offered {
            self.ask_page(launch, list, round, None);
        }
        // If the server declares none of these lists, no answer will complete the round.
        self.read_if_complete(launch);
    }

    fn ask_page(&mut self, launch: Launch, list: List, round: u32, cursor: Option<&[u8]>) {
        let minted = self.pending.mint();
        let params = cursor.map(|cursor| format!(r#""cursor":{}"#, String::from_utf8_lossy(cursor)));
        let asker = Asker::Catalogue { list, round };
        self.ask_ourselves(launch.backend, minted, asker, list.method(), PAGE_TIMEOUT);
        let request = self.own_request(launch.backend, minted, list.method(), &params.unwrap_or_default());
        self.send_to_backend(launch, request);
    }

    pub(crate) fn page_came(
        &mut self,
        launch: Launch,
        list: List,
        round: u32,
        message: &Message,
        failed: bool,
    ) {
        if failed || !message.has(Part::Result) {
            // Only "method not found" means that there is no such list; any other failure may pass.
            if is_not_offered(message) {
                return self.list_absent(launch.backend, list, round);
            }
            return self.page_missed(launch.backend, list, round);
        }
        self.learn_offer(launch.backend, list.method(), message);
        let result = message.bytes().slice(message.span(Part::Result).range());
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        match b.lists_mut().add_page(list, round, result) {
            Some(AfterPage::Next(cursor)) => self.ask_page(launch, list, round, Some(&cursor)),
            Some(AfterPage::LastPage) => self.read_if_complete(launch),
            // A late page of an earlier round.
            None => {}
        }
    }

    /// Records that a list could not be fetched. The rest is shown, but not stored, and requested again later.
    pub(crate) fn page_missed(&mut self, backend: BackendId, list: List, round: u32) {
        if let Some(b) = self.backends.get_mut(&backend) {
            b.lists_mut().mark_failed(list, round);
        }
        self.list_absent(backend, list, round);
    }

    /// Records that a list is not offered, contrary to the server's declaration.
    fn list_absent(&mut self, backend: BackendId, list: List, round: u32) {
        let Some(b) = self.backends.get_mut(&backend) else { return };
        if b.lists_mut().mark_absent(list, round)
            && let Some(launch) = b.launch()
        {
            self.read_if_complete(launch);
        }
    }

    fn read_if_complete(&mut self, launch: Launch) {
        let complete = self.backends.get_mut(&launch.backend).and_then(Backend::take_complete_lists);
        if let Some((round, raw)) = complete {
            self.actions.push(Action::ReadOffer { launch, round, raw: Box::new(raw) });
        }
    }

    pub(crate) fn offer_read(&mut self, launch: Launch, round: u32, offer: Arc<Offer>) {
        let now = self.clock.now();
        let is_current = |b: &Backend| b.is_current(launch) && b.lists().is_in_round(round);
        if !self.backends.get(&launch.backend).is_some_and(is_current) {
            return;
        }
        // First: what is held back must be hidden before the lists are shown.
        let restored = self.compare_offer(launch.backend, &offer);
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        let Some((offer, is_partial)) = b.finish_list_round(round, offer, now) else { return };
        if let Some(due) = b.lists().next_round_at() {
            self.clock.wake_at(due);
        }
        // A partial offer must not replace a complete one on disk.
        let offer = if is_partial { offer } else { self.store_offer(launch.backend, offer) };
        if let Some(b) = self.backends.get_mut(&launch.backend) {
            b.lists_mut().set_offer(offer.clone(), is_partial, self.clock.now());
            b.touch(now);
        }
        if is_partial {
            self.plan_retry_of(launch.backend);
        } else {
            self.forget_retry(launch.backend);
        }
        self.end_prefetches(launch.backend);
        self.correct_stored(launch.backend, &offer);
        self.heard_of(launch.backend);
        self.decide_parked(launch.backend);
        // After the lists are stored, which may still have shown the change.
        if let Some(server) = self.backends.get(&launch.backend).map(|b| b.server()) {
            self.restore_tools(launch.backend, server, restored);
        }
        self.tools_checked(launch.backend);
    }

    /// Stores a server's offer for later clients. If it equals the known one, returns that one, so that
    /// pointer comparison shows no change.
    fn store_offer(&mut self, backend: BackendId, offer: Arc<Offer>) -> Arc<Offer> {
        let Some(b) = self.backends.get(&backend) else { return offer };
        if let Some(own) = b.offer().filter(|own| own.same_as(&offer)) {
            return own.clone();
        }
        let (server, profile) = (b.server(), b.key().profile.clone());
        // Nobody's if its process served several principals: it was retired for that.
        let Some(principal) = self.viewers_of(b, &offer) else { return offer };
        let root = b.root().filter(|_| b.settings().launch_uses_root).map(Arc::from);
        let (Some(profile), Some(origin)) = (profile, self.origin(backend)) else { return offer };
        let key = OfferKey { profile, root, principal };
        if let Some(known) = origin.store_offer(key.clone(), &offer) {
            return known;
        }
        self.actions.push(Action::StoreOffer { server, key, offer: offer.clone() });
        offer
    }
}

//! Asking a backend what it offers: all lists, all pages. Once it is ready, and again when it says that something has
//! changed.

use crate::backends::{Backend, BackendState, FetchStage, ListFetch, ListProgress};
use crate::catalogue::{List, Offer, OfferKey, RawList, RawOffer, next_cursor};
use crate::clients::Role;
use crate::core::Core;
use crate::event::Action;
use crate::ids::{BackendId, ClientId, Launch};
use crate::pending::Asker;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use switchboard_protocol::{Message, Method, Outgoing, Part};

/// More pages than this no server has; one that goes on for ever is not followed.
const MAX_PAGES: usize = 10_000;

/// A server that says again and again that something has changed is asked so often.
const MIN_FETCH_INTERVAL: Duration = Duration::from_millis(250);

/// When a list that could not be had is asked for again.
const FAILED_LIST_RETRY_DELAY: Duration = Duration::from_secs(60);

/// How long a page may take.
const PAGE_TIMEOUT: Duration = Duration::from_secs(30);

impl Core {
    /// Asks a backend what it offers, if it can be asked and somebody wants to know.
    pub(crate) fn fetch_offer(&mut self, launch: Launch) {
        let is_wanted = self.lessees(launch.backend).any(|client| self.wants_offer(client));
        let can_be_asked = |b: &Backend| {
            // The welcome of one that is being stopped may be an earlier process's.
            let is_leaving = matches!(b.state, BackendState::Stopping { .. });
            b.is_current(launch)
                && !is_leaving
                && b.is_initialized
                && b.welcome.is_some()
                && b.fetch.is_none()
        };
        if is_wanted && self.backends.get(&launch.backend).is_some_and(can_be_asked) {
            self.ask_for(launch, &List::ALL);
        }
    }

    /// Whether a client's lists come from what its server was asked, and not from the server itself.
    pub(super) fn wants_offer(&self, client: ClientId) -> bool {
        let Some(c) = self.clients.get(&client) else { return false };
        match c.role() {
            Role::Delegate { .. } | Role::Prefetch { .. } | Role::Standby => true,
            // It asks by itself. But what it was told from the store may be wrong.
            Role::Plain => c.was_shown_stored() || self.needs_templates(client),
            Role::Aggregate(_) => false,
        }
    }

    /// It says that a list is another now.
    pub(crate) fn offer_changed(&mut self, launch: Launch, method: Method) {
        let lists: &[List] = match method {
            Method::ToolsChanged => &[List::Tools],
            Method::PromptsChanged => &[List::Prompts],
            _ => &[List::Resources, List::Templates],
        };
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        // One that nobody has asked is asked for everything when it is time.
        let Some(fetch) = &mut b.fetch else { return };
        for list in lists {
            if !fetch.again.contains(list) {
                fetch.again.push(*list);
            }
        }
        if let Some(due) = fetch.due() {
            self.clock.wake_at(due);
            self.tick_fetches();
        }
    }

    /// Goes on with those that have rested long enough.
    pub(crate) fn tick_fetches(&mut self) {
        let now = self.clock.now();
        let is_due = |b: &&Backend| b.fetch.as_ref().and_then(ListFetch::due).is_some_and(|due| due <= now);
        let due: Vec<BackendId> = self.backends.values().filter(is_due).map(|b| b.id).collect();
        for backend in due {
            let Some(b) = self.backends.get_mut(&backend) else { continue };
            let again = b.fetch.as_mut().map(|fetch| std::mem::take(&mut fetch.again)).unwrap_or_default();
            if let Some(launch) = b.launch() {
                self.ask_for(launch, &again);
            }
        }
    }

    /// Asks for the first page of these lists; the others stay as they are.
    fn ask_for(&mut self, launch: Launch, lists: &[List]) {
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        let Some(welcome) = welcome_of(b) else { return };
        let offered = Offer::new(welcome);
        b.fetches += 1;
        let round = b.fetches;
        let known = b.offer.clone();
        let progress = List::ALL.map(|list| match known.as_ref().and_then(|offer| offer.list(list)) {
            _ if lists.contains(&list) && offered.declares(list) => ListProgress::Asked(Vec::new()),
            Some(_) if !lists.contains(&list) => ListProgress::Unchanged,
            Some(_) | None => ListProgress::Absent,
        });
        b.fetch = Some(ListFetch {
            round,
            stage: FetchStage::Asking(progress),
            again: Vec::new(),
            failed: Vec::new(),
        });
        for list in lists.iter().copied().filter(|list| offered.declares(*list)) {
            self.ask_page(launch, list, round, None);
        }
        self.read_if_complete(launch);
    }

    fn ask_page(&mut self, launch: Launch, list: List, round: u32, cursor: Option<&[u8]>) {
        let minted = self.pending.mint();
        let method = list.method().name().unwrap_or("?");
        let params =
            cursor.map(|cursor| format!(r#","params":{{"cursor":{}}}"#, String::from_utf8_lossy(cursor)));
        let params = params.unwrap_or_default();
        let request = format!(r#"{{"jsonrpc":"2.0","id":{minted},"method":"{method}"{params}}}"#);
        let asker = Asker::Catalogue { list, round };
        self.ask_ourselves(launch.backend, minted, asker, list.method(), PAGE_TIMEOUT);
        self.send_to_backend(launch, Outgoing::raw(request.into()));
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
            if is_not_offered(message) {
                return self.list_absent(launch.backend, list, round);
            }
            return self.page_missed(launch.backend, list, round);
        }
        self.note_offer(launch.backend, list.method(), message);
        let result = message.bytes().slice(message.span(Part::Result).range());
        let cursor = next_cursor(&result);
        let Some(progress) = self.progress_of(launch.backend, list, round) else { return };
        let ListProgress::Asked(pages) = progress else { return };
        let is_new =
            |cursor: &Bytes| pages.last().and_then(|last| next_cursor(last)).as_ref() != Some(cursor);
        let next = cursor.filter(|cursor| pages.len() < MAX_PAGES && is_new(cursor));
        pages.push(result);
        match next {
            Some(cursor) => self.ask_page(launch, list, round, Some(&cursor)),
            None => {
                *progress = ListProgress::Done(std::mem::take(pages));
                self.read_if_complete(launch);
            }
        }
    }

    /// A list could not be had this time. What there is is shown, but not stored: it is asked for again.
    pub(crate) fn page_missed(&mut self, backend: BackendId, list: List, round: u32) {
        let fetch = self.backends.get_mut(&backend).and_then(|b| b.fetch.as_mut());
        if let Some(fetch) = fetch.filter(|fetch| fetch.round == round) {
            fetch.failed.push(list);
        }
        self.list_absent(backend, list, round);
    }

    /// A list is not offered, whatever its server said of itself: it goes without.
    fn list_absent(&mut self, backend: BackendId, list: List, round: u32) {
        let Some(progress) = self.progress_of(backend, list, round) else { return };
        *progress = ListProgress::Absent;
        if let Some(launch) = self.backends.get(&backend).and_then(Backend::launch) {
            self.read_if_complete(launch);
        }
    }

    fn progress_of(&mut self, backend: BackendId, list: List, round: u32) -> Option<&mut ListProgress> {
        let fetch = self.backends.get_mut(&backend)?.fetch.as_mut().filter(|fetch| fetch.round == round)?;
        match &mut fetch.stage {
            FetchStage::Asking(progress) => Some(&mut progress[list as usize]),
            FetchStage::Reading(_) | FetchStage::Resting { .. } => None,
        }
    }

    fn read_if_complete(&mut self, launch: Launch) {
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        let (known, naming, welcome) = (b.offer.clone(), b.settings.naming.clone(), welcome_of(b));
        let (Some(fetch), Some(welcome)) = (&mut b.fetch, welcome) else { return };
        let FetchStage::Asking(progress) = &mut fetch.stage else { return };
        if progress.iter().any(|progress| matches!(progress, ListProgress::Asked(_))) {
            return;
        }
        let mut lists = List::ALL.map(|_| RawList::Absent);
        for list in List::ALL {
            lists[list as usize] = match std::mem::replace(&mut progress[list as usize], ListProgress::Absent)
            {
                ListProgress::Done(pages) => RawList::Pages(pages),
                ListProgress::Unchanged => match known.as_ref().and_then(|offer| offer.list(list)) {
                    Some(listing) => RawList::Unchanged(listing.clone()),
                    None => RawList::Absent,
                },
                ListProgress::Absent | ListProgress::Asked(_) => RawList::Absent,
            };
        }
        let round = fetch.round;
        fetch.stage = FetchStage::Reading(naming.clone());
        let raw = Box::new(RawOffer { welcome, lists, naming });
        self.actions.push(Action::ReadOffer { launch, round, raw });
    }

    pub(crate) fn offer_read(&mut self, launch: Launch, round: u32, offer: Arc<Offer>) {
        let now = self.clock.now();
        let Some(b) = self.backends.get_mut(&launch.backend).filter(|b| b.is_current(launch)) else { return };
        let Some(fetch) = b.fetch.as_mut().filter(|fetch| fetch.round == round) else { return };
        let before =
            std::mem::replace(&mut fetch.stage, FetchStage::Resting { until: now + MIN_FETCH_INTERVAL });
        // It may be shown otherwise by now.
        let offer = match before {
            FetchStage::Reading(naming) if !Arc::ptr_eq(&naming, &b.settings.naming) => {
                Arc::new(offer.under(&b.settings.naming))
            }
            FetchStage::Reading(_) | FetchStage::Asking(_) | FetchStage::Resting { .. } => offer,
        };
        let failed = std::mem::take(&mut fetch.failed);
        let is_partial = !failed.is_empty();
        if is_partial {
            fetch.again.extend(failed);
            fetch.stage = FetchStage::Resting { until: now + FAILED_LIST_RETRY_DELAY };
        }
        if let Some(due) = fetch.due() {
            self.clock.wake_at(due);
        }
        let offer = if is_partial { offer } else { self.keep_offer(launch.backend, offer) };
        if let Some(b) = self.backends.get_mut(&launch.backend) {
            b.offer = Some(offer.clone());
            b.is_offer_partial = is_partial;
            b.last_used = now;
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
    }

    /// Keeps what a server offers for those who come later. If it is what was known already, that is given back: whoever
    /// looks at it sees that nothing has changed.
    fn keep_offer(&mut self, backend: BackendId, offer: Arc<Offer>) -> Arc<Offer> {
        let Some(b) = self.backends.get(&backend) else { return offer };
        if let Some(own) = b.offer.as_ref().filter(|own| own.same_as(&offer)) {
            return own.clone();
        }
        let (server, profile) = (b.server, b.key.profile.clone());
        let root = b.key.root.as_deref().filter(|_| b.settings.launch_uses_root).map(Arc::from);
        let (Some(profile), Some(origin)) = (profile, self.origin(backend)) else { return offer };
        let key = OfferKey { profile, root };
        if let Some(known) = origin.store_offer(key.clone(), &offer) {
            return known;
        }
        self.actions.push(Action::KeepOffer { server, key, offer: offer.clone() });
        offer
    }
}

/// Whether a server says that it does not know the method, for good.
fn is_not_offered(answer: &Message) -> bool {
    const METHOD_NOT_FOUND: i64 = -32601;
    let answer = serde_json::from_slice::<serde_json::Value>(answer.bytes());
    answer.is_ok_and(|answer| answer["error"]["code"] == METHOD_NOT_FOUND)
}

/// What it answered to the handshake.
fn welcome_of(b: &Backend) -> Option<Bytes> {
    let welcome = b.welcome.as_ref()?;
    welcome.has(Part::Result).then(|| welcome.bytes().slice(welcome.span(Part::Result).range()))
}

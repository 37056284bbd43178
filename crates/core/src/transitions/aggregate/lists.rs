//! The merged lists of all servers: their completeness, what the client has read, and notifications of changes.

use crate::aggregate::{Aggregate, Delegate, OfferState};
use crate::backends::BackendState;
use crate::catalogue::{List, Offer, OfferKey, Page, View};
use crate::clients::{Client, Role};
use crate::core::{Core, Followup};
use crate::fact::Outcome;
use crate::ids::{BackendId, ClientId, ServerId};
use crate::moment::Moment;
use crate::pending::{Asker, NOWHERE, Unrouted};
use crate::routing::NamedPath;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use switchboard_protocol::{Era, ErrorKind, Message, Part, RawId};

/// Changes within this time are reported together.
const LIST_CHANGE_DELAY: Duration = Duration::from_millis(100);

/// Delay before a notification that did not fit is sent again.
const NOTICE_RETRY_DELAY: Duration = Duration::from_secs(1);

impl Core {
    /// The offer of a delegate's server: from its own backend, otherwise the latest stored one for its kind of client.
    pub(crate) fn offer_for(&self, delegate: ClientId) -> Option<Arc<Offer>> {
        let c = self.clients.get(&delegate)?;
        let home = c.home().and_then(|home| self.backends.get(&home));
        let own = home.filter(|b| self.may_be_shown(b, c.principal())).and_then(|b| b.offer().cloned());
        own.or_else(|| {
            let server = self.servers.get(c.server())?;
            let (profile, root) = (c.profile().cloned()?, self.offer_root(c)?);
            let key = OfferKey { profile, root, principal: None };
            server.offers().seen_by(c.principal(), &key)?.offer().cloned()
        })
    }

    /// The root that a client's stored lists depend on, if any; `None` if it is not known yet.
    fn offer_root(&self, c: &Client) -> Option<Option<Arc<str>>> {
        if !c.settings().launch_uses_root {
            return Some(None);
        }
        let root = self.backends.get(&c.home()?)?.root();
        Some(root.map(Arc::from))
    }

    /// The offer shown to a client: its own, or, once it no longer waits, the newest one made to other kinds
    /// of clients. Those of the other era are shown other tools: only while the era of the server is not known,
    /// a modern client is shown what legacy ones were.
    pub(super) fn shown_offer(&self, delegate: ClientId) -> Option<Arc<Offer>> {
        self.offer_for(delegate).or_else(|| {
            let c = self.clients.get(&delegate)?;
            let offer = self.aggregate(c.connection())?.delegate_at(c.server())?.offer();
            let is_awaited = offer.is_awaited(self.clock.now());
            let root = self.offer_root(c).filter(|_| !is_awaited)?;
            let offers = self.servers.get(c.server())?.offers();
            let newest = |era| offers.newest(root.as_deref(), c.principal(), era);
            let may_be_legacy = c.is_modern() && self.era_of(c.server()) != Some(Era::Modern);
            let found = newest(c.era()).or_else(|| newest(Era::Legacy).filter(|_| may_be_legacy));
            found?.offer().cloned()
        })
    }

    /// Whether a backend's lists are needed, with or without a waiting client.
    pub(crate) fn is_awaited(&self, backend: BackendId) -> bool {
        let is_it = |client: ClientId| {
            let Some(c) = self.clients.get(&client) else { return false };
            let is_asked = match *c.role() {
                Role::Prefetch { .. } | Role::Standby => true,
                Role::Delegate { of } => {
                    let it = self.aggregate(of).and_then(|aggregate| aggregate.delegate_at(c.server()));
                    it.is_some_and(|it| it.offer().is_asked_for())
                }
                Role::Plain | Role::Aggregate(_) => false,
            };
            is_asked && self.offer_for(client).is_none()
        };
        self.lessees(backend).any(is_it)
    }

    /// Whether all servers have answered, or are given up for now.
    pub(super) fn is_settled(&self, client: ClientId) -> bool {
        let is_awaited =
            |it: &Delegate| it.offer().is_awaited(self.clock.now()) && self.offer_for(it.client()).is_none();
        self.aggregate(client)
            .is_none_or(|aggregate| !aggregate.delegates().any(|(_, delegate)| is_awaited(delegate)))
    }

    /// Holds a request until the offers of all servers are known.
    pub(super) fn hold(
        &mut self,
        client: ClientId,
        id: RawId,
        batch: Option<u32>,
        message: Message,
        paths: Vec<NamedPath>,
    ) {
        let minted = self.accept(client, NOWHERE, id, batch, message);
        self.give_time(client, minted);
        if let Some(aggregate) = self.aggregate_mut(client) {
            aggregate.hold(Unrouted { minted, paths });
        }
    }

    /// Continues with everything that waited for more knowledge.
    pub(super) fn aggregate_progress(&mut self, client: ClientId) {
        if self.ending.is_stopping() {
            // The shutdown answers all of it in a moment.
            return;
        }
        self.finish_opening(client);
        if !self.aggregate(client).is_some_and(Aggregate::has_held) || !self.is_settled(client) {
            return;
        }
        let held = self.aggregate_mut(client).map(Aggregate::take_held).unwrap_or_default();
        for Unrouted { minted, paths } in held {
            let Some(pending) = self.close(minted) else { continue };
            let Asker::Client { id, batch, .. } = pending.asker() else { continue };
            let Some(message) = pending.waiting().cloned() else { continue };
            // The request is accepted again below, so the first acceptance is undone.
            self.one_fewer(client);
            self.aggregate_request(client, id.clone(), *batch, message, paths);
        }
    }

    /// The client's current view of its servers.
    pub(super) fn view(&mut self, client: ClientId) -> Option<Arc<View>> {
        let aggregate = self.aggregate(client)?;
        if let Some(view) = aggregate.view() {
            return Some(view.clone());
        }
        let members = self.members(client, |core, c| core.shown_offer(c.id()));
        let view = self.views.of(members);
        self.aggregate_mut(client)?.set_view(view.clone());
        Some(view)
    }

    pub(super) fn aggregate_list(
        &mut self,
        client: ClientId,
        id: RawId,
        batch: Option<u32>,
        message: Message,
        list: List,
    ) {
        // Some clients send a null cursor with the first page.
        let found = match message.part(Part::Cursor).filter(|cursor| *cursor != b"null") {
            None => self.view(client).map(|view| (view, Page::First)),
            Some(_) => self.page_meant(client, &message),
        };
        let Some((view, page)) = found else {
            let error = self.stale_cursor();
            return self.refuse(client, &id, batch, &message, &error);
        };
        let is_modern = self.clients.get(&client).is_some_and(|c| c.is_modern());
        let is_stale = is_modern && self.refresh_stale(client, list);
        let Some(c) = self.clients.get(&client) else { return };
        let page_size = self.settings.aggregates.page_size;
        let out = match c.era() {
            Era::Legacy => view.answer(list, page, page_size, &id, c.dialect()),
            Era::Modern => view.modern_answer(list, (page, page_size), is_stale, &id, c.dialect()),
        };
        // Accepted and closed at once, so that it counts and is reported like any other request.
        let minted = self.accept(client, NOWHERE, id.clone(), batch, message);
        let Some(pending) = self.close(minted) else { return };
        // A list that did not fit was not seen, so no name may be resolved by it.
        if !self.answer(client, &id, batch, out) {
            return self.conclude(&pending, Outcome::Refused(ErrorKind::ClientTooSlow));
        }
        // Later pages belong to the view of the first one.
        if let (Page::First, Some(aggregate)) = (page, self.aggregate_mut(client)) {
            aggregate.show_list(list, view);
        }
        self.conclude(&pending, Outcome::Ok);
    }

    /// The page behind a cursor, if it is one of ours and its view still exists.
    fn page_meant(&self, client: ClientId, message: &Message) -> Option<(Arc<View>, Page)> {
        let cursor = message.text(Part::Cursor)?;
        let (number, offset) = View::read_cursor(&cursor)?;
        let view = self.aggregate(client)?.earlier_view(number)?;
        // A filter or a right may have hidden some of its items since.
        let is_current = (0..view.members().len()).all(|at| self.seen_delegate(client, view, at).is_some());
        is_current.then(|| (view.clone(), Page::At(offset)))
    }

    /// Schedules a check whether the lists of a delegate's client have changed.
    pub(crate) fn renew_soon(&mut self, delegate: ClientId) {
        self.renew_aggregate_soon(self.connection_of(delegate));
    }

    pub(super) fn renew_aggregate_soon(&mut self, client: ClientId) {
        let at = self.clock.now() + LIST_CHANGE_DELAY;
        let Some(aggregate) = self.aggregate_mut(client) else { return };
        aggregate.plan_renewal(at);
        self.clock.wake_at(at);
    }

    /// Schedules the same check for all clients that see a server among others.
    pub(crate) fn renew_aggregates_of(&mut self, server: ServerId) {
        for client in self.aggregates() {
            if self.aggregate(client).is_some_and(|aggregate| aggregate.has_delegate_at(server)) {
                self.renew_aggregate_soon(client);
            }
        }
    }

    /// Notifies a client of the changed lists among those it has seen. If the notification does not fit, it
    /// is sent later.
    fn renew(&mut self, client: ClientId) {
        let Some(view) = self.view(client) else { return };
        let Some(aggregate) = self.aggregate_mut(client) else { return };
        let changed = aggregate.renew(&view);
        for method in List::change_notices(|list| changed.contains(&list)) {
            let is_told = self.notify_client(client, json!({ "method": method }));
            let at = self.clock.now() + NOTICE_RETRY_DELAY;
            let Some(aggregate) = self.aggregate_mut(client) else { return };
            for list in changed.iter().filter(|list| is_told && list.change_notice() == method) {
                aggregate.tell_list(*list, view.clone());
            }
            if !is_told {
                aggregate.postpone_renewal(at);
                self.clock.wake_at(at);
            }
        }
    }

    pub(crate) fn next_of_aggregates(&self) -> Option<Moment> {
        let there = self.clients.values().filter(|c| !c.is_lost());
        let moments = there.filter_map(|c| c.aggregate()?.next_deadline(self.clock.now()));
        moments
            .chain(self.next_retry())
            .chain(self.next_prefetch_end())
            .chain(self.backends.values().filter_map(|b| b.lists().next_round_at()))
            .min()
    }

    pub(crate) fn tick_aggregates(&mut self) {
        self.tick_fetches();
        let later = self.clock.now() + LIST_CHANGE_DELAY;
        self.tick_retries();
        self.tick_prefetches();
        for client in self.aggregates() {
            // First: a budget that is over lets the requests below go on.
            self.end_budget(client);
            self.aggregate_progress(client);
            let now = self.clock.now();
            if !self.aggregate(client).is_some_and(|aggregate| aggregate.is_renewal_due(now)) {
                continue;
            }
            if self.is_settled(client) {
                self.renew(client);
            } else if let Some(aggregate) = self.aggregate_mut(client) {
                // More is about to come, and will be reported together with this.
                aggregate.postpone_renewal(later);
                self.clock.wake_at(later);
            }
        }
    }

    /// Handles new knowledge about the offer of a backend's server.
    pub(crate) fn heard_of(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get(&backend) else { return };
        let (server, profile) = (b.server(), b.key().profile.clone());
        for client in self.aggregates() {
            let delegate = self.aggregate(client).and_then(|aggregate| aggregate.delegate_at(server));
            let Some(c) = delegate.and_then(|it| self.clients.get(&it.client())) else { continue };
            // A client without lists of its own is shown those of others.
            if c.home() == Some(backend)
                || c.profile() == profile.as_ref()
                || self.offer_for(c.id()).is_none()
            {
                self.renew_aggregate_soon(client);
                self.aggregate_progress(client);
            }
        }
    }

    /// Handles a backend that could not be started or is gone: its clients no longer wait. They continue
    /// after the current event, since their next request may start the very backend whose fate is being decided.
    pub(crate) fn missed(&mut self, backend: BackendId) {
        let wants_lists = |client: &ClientId| self.wants_offer(*client);
        let wanting: Vec<ClientId> = self.lessees(backend).filter(wants_lists).collect();
        if wanting.iter().any(|client| self.offer_for(*client).is_none()) {
            self.lists_failed(backend);
        }
        self.end_prefetches(backend);
        for delegate in wanting {
            // A plain client asks the server itself, and waits for lists only with a parked request.
            if self.connection_of(delegate) == delegate && !self.has_parked(delegate) {
                continue;
            }
            self.set_offer_state(delegate, OfferState::Missed);
            let connection = self.connection_of(delegate);
            self.followups.push(Followup::GoOnWithout { client: connection });
        }
    }

    /// Lets a client continue without servers that could not be started.
    pub(crate) fn go_on_without_missed(&mut self, client: ClientId) {
        match self.has_aggregate(client) {
            true => self.aggregate_progress(client),
            false => self.unpark(client),
        }
    }

    /// Retries a missed server, without making its client wait.
    pub(super) fn try_missed(&mut self, client: ClientId) {
        let Some(aggregate) = self.aggregate(client) else { return };
        let missed = aggregate.delegates().filter(|(_, it)| it.offer().is_missed(self.clock.now()));
        for delegate in missed.map(|(_, it)| it.client()).collect::<Vec<ClientId>>() {
            if self.offer_for(delegate).is_some() {
                continue;
            }
            let server = self.clients.get(&delegate).map(|c| c.server());
            if !server.is_some_and(|server| self.may_try(server)) {
                continue;
            }
            match self.clients.get(&delegate).and_then(|c| c.home()) {
                Some(backend) => self.followups.push(Followup::StartAgain { backend }),
                // The server was not worth an attempt when the client connected.
                None => self.start_for_lists(delegate),
            }
        }
        self.start_missed();
    }

    /// Starts missed backends, once the remains of their last process are gone.
    pub(crate) fn start_missed(&mut self) {
        if !self.is_running() {
            return;
        }
        let is_start = |it: &Followup| matches!(it, Followup::StartAgain { .. });
        self.run_present(is_start);
        self.followups.tidy(is_start);
    }

    pub(crate) fn start_again(&mut self, backend: BackendId) {
        match self.backends.get(&backend).map(|b| b.state()) {
            Some(BackendState::Stopped | BackendState::Failed { .. }) => self.ensure_started(backend),
            // The process may still fail or end: look again after the next event.
            Some(BackendState::Starting { .. } | BackendState::Stopping { .. }) => {
                self.followups.push(Followup::StartAgain { backend });
            }
            Some(BackendState::Ready { .. } | BackendState::Backoff { .. }) | None => {}
        }
    }
}

//! Our own `subscriptions/listen` at a modern server, for clients of several servers: changes of its lists, and of the
//! resources and tasks that they subscribed to. Must not know how clients' subscriptions are kept.

use crate::backends::Backend;
use crate::catalogue::{List, Wishes};
use crate::core::Core;
use crate::ids::{BackendId, Launch};
use crate::messages::same_spelling;
use crate::pending::{Asker, Pending};
use std::time::Duration;
use switchboard_protocol::{Message, Method, Part};

/// Time for which a replaced subscription at a remote server stays open. The two have separate streams, so a message of the
/// old one may arrive after the acknowledgement of the new one.
const OVERLAP: Duration = Duration::from_secs(1);

/// Reason for the cancellation of a replaced subscription.
const REPLACED: &str = "replaced by another subscription";

impl Core {
    /// Listens at a modern server for clients of several servers: for changes of its lists, and of the resources that they
    /// have subscribed to.
    pub(crate) fn listen_ourselves(&mut self, launch: Launch) {
        let backend = launch.backend;
        // A legacy server announces list changes by itself, and resource updates after `resources/subscribe`.
        if !self.is_modern(backend) {
            return;
        }
        let is_able = |b: &&Backend| b.is_current(launch) && !b.own_listen().is_unknown();
        let Some(b) = self.backends.get(&backend).filter(is_able) else { return };
        let is_for_us = self.lessees(backend).any(|client| self.wants_offer(client));
        let mut wishes = if is_for_us { b.announced_changes() } else { Wishes::default() };
        let uris = b.subscriptions().iter().filter_map(|(uri, _)| serde_json::from_slice(uri).ok());
        wishes.resource_subscriptions = uris.collect();
        wishes.task_ids = self.heard_tasks(backend);
        let pending = &self.pending;
        let Some(b) = self.backends.get_mut(&backend) else { return };
        b.own_listen_mut().keep(|minted| pending.get(minted).is_some());
        match b.own_listen().wishes() {
            Some(before) if *before == wishes => return,
            None if wishes.is_empty() => return,
            Some(_) | None => {}
        }
        if wishes.is_empty() {
            let over = b.own_listen_mut().close_all();
            return self.close_listens(backend, over, "nobody listens any more");
        }
        // The previous subscription is closed when this one is acknowledged.
        let minted = self.send_listen(launch, &wishes.text());
        let b = self.backends.get_mut(&backend);
        let over = b.and_then(|b| b.own_listen_mut().begin(minted, wishes));
        self.close_listens(backend, over, REPLACED);
    }

    fn send_listen(&mut self, launch: Launch, filter: &str) -> u64 {
        let minted = self.pending.mint();
        let request =
            self.own_request(launch.backend, minted, Method::Listen, &format!(r#""notifications":{filter}"#));
        let now = self.clock.now();
        let never = now + Duration::MAX;
        let pending = Pending::of_ours(Asker::Listen, launch.backend, Method::Listen, now, never);
        self.pending.insert(minted, pending);
        self.send_to_backend(launch, request);
        minted
    }

    fn close_listens(&mut self, backend: BackendId, over: impl IntoIterator<Item = u64>, why: &'static str) {
        for minted in over {
            self.close(minted);
            self.cancel_at_backend(backend, minted, why);
        }
    }

    /// Handles a notification on our subscription.
    pub(super) fn own_listen_told(&mut self, backend: BackendId, minted: u64, message: &Message) {
        if message.method() == Method::Acknowledged {
            self.own_listen_decided(backend, minted, Some(message));
        }
        // Any message on a subscription shows that it is open.
        self.own_listen_acknowledged(backend, minted);
        let change = message.part(Part::Uri).or(message.part(Part::TaskId)).unwrap_or_default();
        let change = same_spelling(change).into_owned();
        let Some(b) = self.backends.get_mut(&backend) else { return };
        match message.method() {
            Method::ResourceUpdated if b.own_listen_mut().hears(minted, &change) => {
                // An update of a resource shows that the server has accepted the subscription, even before its
                // acknowledgement.
                self.subscription_agreed(backend, &change);
                self.acknowledge_listens();
                self.resource_updated(backend, message);
            }
            Method::TaskNotice if b.own_listen_mut().hears(minted, &change) => {
                self.task_told(backend, message);
            }
            _ => {}
        }
    }

    /// Handles the acknowledgement of our subscription. Changes since the end of the previous one are lost, so the lists
    /// are fetched again.
    fn own_listen_acknowledged(&mut self, backend: BackendId, minted: u64) {
        let now = self.clock.now();
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let overlap = b.settings().is_remote.then_some(OVERLAP);
        let acknowledged = b.own_listen_mut().acknowledge(minted, now, overlap);
        if let Some(closes) = b.own_listen().deadline() {
            self.clock.wake_at(closes);
        }
        self.close_listens(backend, acknowledged.over, REPLACED);
        if acknowledged.has_gap {
            self.fetch_anew(backend, &List::ALL);
        }
    }

    /// Handles the end of our subscription by the server. `is_unknown`: it does not know the method.
    pub(crate) fn own_listen_over(&mut self, backend: BackendId, minted: u64, is_unknown: bool) {
        let now = self.clock.now();
        self.own_listen_decided(backend, minted, None);
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let again = match is_unknown {
            true => b.own_listen_mut().refuse(minted, now),
            false => b.own_listen_mut().end(minted, now),
        };
        let has_none = b.own_listen().is_unknown();
        if let Some(again) = again {
            self.clock.wake_at(again);
        }
        if has_none {
            self.refuse_open_subscriptions(backend);
        }
    }

    /// Closes replaced subscriptions, and reopens ours after its delay.
    pub(crate) fn tick_own_listen(&mut self, backend: BackendId) {
        let now = self.clock.now();
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let over = b.own_listen_mut().take_replaced(now);
        let launch = if b.own_listen_mut().take_due(now) { b.ready_launch() } else { None };
        self.close_listens(backend, over, REPLACED);
        if let Some(launch) = launch {
            self.listen_ourselves(launch);
        }
    }
}

//! The waiting time of a client for servers that are not known yet: one time limit, from its handshake on,
//! for the handshake and all lists. Afterwards the client gets what is known, and is notified when more
//! comes. Servers that were not ready in time are retried in the background.

use crate::aggregate::{Aggregate, Delegate};
use crate::backends::Backend;
use crate::core::Core;
use crate::ids::{BackendId, ClientId, ServerId};
use crate::moment::Moment;
use crate::servers::Retry;
use serde::Deserialize;
use std::borrow::Cow;
use std::time::Duration;
use switchboard_protocol::{Message, Part};

/// Waiting limits for clients that give up early, by the beginning of their name. Codex starts its first turn
/// without any tools unless they arrive within a second, so stored lists are not delayed for the rest.
const CLIENT_WAIT_LIMITS: &[(&str, Duration)] = &[("codex", Duration::from_secs(4))];

/// Minimum duration of a failed start that made a client wait noticeably.
const NOTICEABLE_START: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
struct InitializeParams<'a> {
    #[serde(borrow, rename = "clientInfo")]
    client: Info<'a>,
}

#[derive(Deserialize)]
struct Info<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

impl Core {
    /// The total waiting time of a client at its start.
    pub(crate) fn grace_for(&self, client: ClientId, initialize: &Message) -> Duration {
        let params = initialize.part(Part::Params).unwrap_or_default();
        let name = serde_json::from_slice::<InitializeParams<'_>>(params).map(|opening| opening.client.name);
        let name = name.unwrap_or_default().to_ascii_lowercase();
        let own = CLIENT_WAIT_LIMITS.iter().find(|(start, _)| name.starts_with(start)).map(|(_, most)| *most);
        let grace = self.settings.aggregates.list_grace;
        match own {
            None => grace,
            Some(_) if self.has_stored(client) => Duration::ZERO,
            Some(most) => grace.min(most),
        }
    }

    /// Whether the lists of one of its servers are stored, for any kind of client.
    fn has_stored(&self, client: ClientId) -> bool {
        let mut servers = self.servers_of(client).into_iter();
        servers.any(|server| self.servers.get(server).is_some_and(|known| !known.offers().is_empty()))
    }

    /// The time until which a client waits for a server that is about to start.
    pub(super) fn waits_until(&self, client: ClientId, server: ServerId) -> Moment {
        match self.retry_of(server) {
            // Clients have waited for this server in vain before.
            Some(retry) if retry.is_slow() => self.clock.now(),
            Some(_) | None => self.aggregate(client).and_then(Aggregate::budget).unwrap_or(self.clock.now()),
        }
    }

    /// Ends a client's waiting time, and marks the servers it still waits for as slow.
    pub(super) fn end_budget(&mut self, client: ClientId) {
        let now = self.clock.now();
        let Some(aggregate) = self.aggregate_mut(client) else { return };
        if !aggregate.end_budget(now) {
            return;
        }
        let Some(aggregate) = self.aggregate(client) else { return };
        let is_late = |it: &Delegate| {
            let home = self.clients.get(&it.client()).and_then(|c| self.backends.get(&c.home()?));
            it.offer().is_asked_for()
                // A server that waits for its turn to start is not to blame.
                && home.is_some_and(|b| b.has_process())
                && self.offer_for(it.client()).is_none()
        };
        let late = aggregate.delegates().filter(|(_, it)| is_late(it)).map(|(server, _)| server);
        for server in late.collect::<Vec<ServerId>>() {
            self.plan_retry(server, true);
            self.tell_unavailable(server);
        }
    }

    /// Whether a start has taken long enough to be noticed.
    pub(super) fn is_late(&self, b: &Backend) -> bool {
        b.has_process() && self.clock.now().since(b.last_launch()) >= NOTICEABLE_START
    }

    /// Plans a retry after a backend could not deliver all its lists.
    pub(crate) fn plan_retry_of(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get(&backend).filter(|b| !b.is_retired()) else { return };
        self.plan_retry(b.server(), self.is_late(b));
    }

    /// Handles a failed start that was to show a server's lists.
    pub(super) fn lists_failed(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get(&backend).filter(|b| !b.is_retired()) else { return };
        let (server, took) = (b.server(), self.clock.now().since(b.last_launch()));
        // A stopped or removed server is missing on purpose.
        if !self.is_running() || self.barred(server).is_some() {
            return;
        }
        self.plan_retry(server, took >= NOTICEABLE_START);
        self.tell_unavailable(server);
    }

    /// The time of the next retry in the background.
    pub(super) fn next_retry(&self) -> Option<Moment> {
        if !self.is_running() {
            return None;
        }
        // A retry that is due but not needed is reconsidered when a start fails.
        let is_ahead = |(server, retry): &(ServerId, Retry)| {
            retry.at() > self.clock.now() || !self.lacking(*server).is_empty()
        };
        let retries = self.servers.iter().filter_map(|(id, server)| Some((id, server.retry()?)));
        retries.filter(is_ahead).map(|(_, retry)| retry.at()).min()
    }

    pub(super) fn tick_retries(&mut self) {
        if !self.is_running() {
            return;
        }
        for server in self.servers.ids() {
            if self.retry_of(server).is_none_or(|retry| retry.at() > self.clock.now()) {
                continue;
            }
            if !self.lacking(server).is_empty() {
                // Counted first, so that a failure finds the longer delay.
                self.count_retry(server);
                self.ask_lacking(server);
            }
        }
    }

    /// Starts a server for all clients that do not know its lists.
    pub(crate) fn ask_lacking(&mut self, server: ServerId) {
        for delegate in self.lacking(server) {
            self.start_for_lists(delegate);
        }
        for client in self.aggregates() {
            if self.aggregate(client).is_some_and(|aggregate| aggregate.has_delegate_at(server)) {
                self.renew_aggregate_soon(client);
            }
        }
    }

    /// Delegates at a server whose lists are unknown and not being fetched.
    fn lacking(&self, server: ServerId) -> Vec<ClientId> {
        if self.barred(server).is_some() {
            return Vec::new();
        }
        let lacks = |delegate: &ClientId| {
            let home = self.clients.get(delegate).and_then(|c| self.backends.get(&c.home()?));
            let is_down = home.is_none_or(|b| {
                let is_stopped = b.is_stopped() || b.cooldown_end().is_some();
                is_stopped && !self.backends.waits_for_room(b.id())
            });
            is_down && self.offer_for(*delegate).is_none()
        };
        let aggregates = self.aggregates().into_iter();
        let own = aggregates.filter_map(|client| Some(self.aggregate(client)?.delegate_at(server)?.client()));
        own.filter(lacks).collect()
    }
}

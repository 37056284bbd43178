//! Limits on what is stored for a client: open requests and subscriptions, by count and by bytes. Must not
//! know how requests are routed.

use crate::aggregate::Aggregate;
use crate::answers::Overload;
use crate::clients::Client;
use crate::core::Core;
use crate::ids::ClientId;
use crate::messages::same_spelling;
use crate::pending::Pending;
use switchboard_protocol::{ErrorAnswer, Message, Method, Part};

/// Requests up to this length are limited only by number.
const MAX_SMALL_REQUEST_BYTES: usize = 16 << 10;

/// Cancelled requests of a stateless client that are kept for a late answer. Fewer than its front waits for.
const MAX_CANCELLED_STATELESS: usize = 32;

impl Core {
    /// Reason why a request would exceed what may be stored for its client.
    pub(crate) fn why_not_kept(&self, client: ClientId, message: &Message) -> Option<ErrorAnswer> {
        let length = message.bytes().len();
        if message.method() != Method::Subscribe && length <= MAX_SMALL_REQUEST_BYTES {
            return None;
        }
        let connection = self.connection_of(client);
        if message.method() == Method::Subscribe && self.has_too_many_subscriptions(connection, message) {
            return Some(self.too_many_subscriptions());
        }
        let own = self.pending.iter().filter(|(_, pending)| self.is_of_connection(pending, connection));
        let kept: usize = own.map(|(minted, it)| it.bytes_kept() + self.kept_by_translator(minted, it)).sum();
        // A client without open requests may send one of any size.
        let is_too_much = kept > 0 && kept + length > self.settings.limits.client_bytes;
        is_too_much.then(|| self.overloaded(None, Overload::OpenBytes(kept)))
    }

    /// Whether the subscription that a request asks for is more than the client may have.
    pub(crate) fn has_too_many_subscriptions(&self, connection: ClientId, message: &Message) -> bool {
        let uri = same_spelling(message.part(Part::Uri).unwrap_or_default());
        let is_own = |client: &ClientId| self.connection_of(*client) == connection;
        // The requested subscription counts as well.
        let (mut count, mut bytes) = (1, uri.len());
        let known = self.backends.values().flat_map(|b| b.subscriptions().iter());
        for (known, _) in known.filter(|(_, clients)| clients.iter().any(is_own)) {
            // A repeated subscription adds nothing.
            if known == &*uri {
                return false;
            }
            count += 1;
            bytes += known.len();
        }
        for (_, pending) in self.pending.iter() {
            if pending.method() == Method::Subscribe && self.is_of_connection(pending, connection) {
                count += 1;
                bytes += pending.bytes_kept();
            }
        }
        let aggregate = self.clients.get(&connection).and_then(Client::aggregate);
        bytes += aggregate.map_or(0, Aggregate::alias_bytes);
        let limits = &self.settings.limits;
        count > limits.subscriptions_per_client || bytes > limits.subscription_bytes
    }

    /// Number of bytes that the translator of its process keeps for a request.
    fn kept_by_translator(&self, minted: u64, pending: &Pending) -> usize {
        let translator = self.backends.get(&pending.backend()).and_then(|b| b.translator());
        translator.map_or(0, |it| it.bytes_kept(minted))
    }

    fn is_of_connection(&self, pending: &Pending, connection: ClientId) -> bool {
        // A paused call has no client that waits for it.
        let owner = pending.client().or(pending.user());
        owner.is_some_and(|owner| self.connection_of(owner) == connection)
    }

    /// Limits the cancelled requests that are kept for a late answer.
    pub(crate) fn forget_cancelled(&mut self, client: ClientId) {
        let connection = self.connection_of(client);
        let is_cancelled =
            |pending: &Pending| pending.is_cancelled() && self.is_of_connection(pending, connection);
        let ids = self.pending.ids(is_cancelled);
        let limit = self.settings.limits.pending_per_client;
        // Nobody reads the answers of a stateless client's cancelled requests: they only keep ids in use.
        let is_stateless = |c: &Client| c.goes_by_request() && c.speaks_modern();
        let limit = match self.clients.get(&connection).is_some_and(is_stateless) {
            true => limit.min(MAX_CANCELLED_STATELESS),
            false => limit,
        };
        if ids.len() > limit {
            // The oldest one: its answer is the least likely to come.
            self.close(ids[0]);
        }
    }
}

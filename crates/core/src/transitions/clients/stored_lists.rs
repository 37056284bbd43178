//! Answers from the stored catalogue for clients of one server, while the server starts: its handshake and
//! its lists. Once the server is ready it answers itself, and clients that were shown other lists are notified.

use crate::backends::Backend;
use crate::catalogue::{List, Offer};
use crate::clients::Client;
use crate::core::Core;
use crate::fact::Outcome;
use crate::ids::{BackendId, ClientId};
use crate::messages::own_result;
use crate::pending::NOWHERE;
use serde_json::json;
use std::sync::Arc;
use switchboard_protocol::{Message, Part, RawId};

impl Core {
    /// Answers a handshake from the store, and starts the server. `false` if nothing is stored, or there is no need.
    pub(crate) fn greet_from_store(
        &mut self,
        client: ClientId,
        backend: BackendId,
        id: &RawId,
        batch: Option<u32>,
        initialize: &Message,
    ) -> bool {
        let is_there = self
            .backends
            .get(&backend)
            .is_none_or(|b| b.handshake().has_welcome() || b.handshake().is_under_way());
        if is_there || self.barred_server_of(client) {
            return false;
        }
        let Some(offer) = self.stored_for(client) else { return false };
        let Ok(welcome) = std::str::from_utf8(offer.welcome()) else { return false };
        // The welcome becomes part of one line.
        let welcome = welcome.replace(['\n', '\r'], " ");
        self.answer_ourselves(client, id, batch, initialize, &welcome);
        if let Some(c) = self.clients.get_mut(&client) {
            c.answer_handshake(initialize);
        }
        self.ensure_started(backend);
        // The backend may have been started early, before any client spoke to it.
        if self.backends.get(&backend).is_some_and(|b| b.handshake().is_ungreeted()) {
            self.greet_anew(backend);
        }
        self.unpark(client);
        true
    }

    /// Answers a list from the store, if the server is not ready yet.
    pub(crate) fn list_from_store(
        &mut self,
        client: ClientId,
        id: &RawId,
        batch: Option<u32>,
        message: &Message,
    ) -> bool {
        // A cursor belongs to a page of the server, which the store does not know.
        let Some(list) = List::of(message.method()).filter(|_| !message.has(Part::Cursor)) else {
            return false;
        };
        // A modern client wants the server's cache hints, and may not listen for a correction.
        let Some(c) = self.clients.get(&client).filter(|c| c.is_greeted() && !c.speaks_modern()) else {
            return false;
        };
        // A server that has answered before, or has failed too often, is not replaced by the store.
        let is_new = |b: &Backend| !b.handshake().has_welcome() && b.cooldown_end().is_none();
        let is_new = c.home().and_then(|home| self.backends.get(&home)).is_some_and(is_new);
        if !is_new || self.barred_server_of(client) {
            return false;
        }
        let offer = self.stored_for(client);
        let Some(listing) = offer.as_ref().and_then(|offer| offer.list(list)) else { return false };
        let Ok(items) = std::str::from_utf8(listing.original()) else { return false };
        let result = format!(r#"{{"{}":[{items}]}}"#, list.member());
        let listing = listing.clone();
        let Some(result) = self.screen_stored(client, list, result) else { return false };
        self.answer_ourselves(client, id, batch, message, &result);
        if let Some(c) = self.clients.get_mut(&client) {
            // `correct_stored` compares it with the server's own list.
            c.show_stored(listing);
        }
        true
    }

    /// The stored offer for a client of one server.
    fn stored_for(&self, client: ClientId) -> Option<Arc<Offer>> {
        let c = self.clients.get(&client)?;
        let is_plain = c.is_plain() && c.settings().stores_lists;
        self.offer_for(client).filter(|_| is_plain)
    }

    fn barred_server_of(&self, client: ClientId) -> bool {
        self.clients.get(&client).is_none_or(|c| self.barred(c.server()).is_some())
    }

    fn answer_ourselves(
        &mut self,
        client: ClientId,
        id: &RawId,
        batch: Option<u32>,
        request: &Message,
        result: &str,
    ) {
        let minted = self.accept(client, NOWHERE, id.clone(), batch, request.clone());
        let Some(pending) = self.close(minted) else { return };
        let Some(c) = self.clients.get(&client) else { return };
        let answer = own_result(id, c.dialect(), result);
        self.answer(client, id, batch, answer);
        self.conclude(&pending, Outcome::Ok);
    }

    /// Notifies clients that were shown stored lists that differ from the server's.
    pub(crate) fn correct_stored(&mut self, backend: BackendId, offer: &Offer) {
        let is_concerned = |c: &&Client| c.home() == Some(backend) && c.was_shown_stored();
        let clients: Vec<ClientId> = self.clients.values().filter(is_concerned).map(|c| c.id()).collect();
        for client in clients {
            let shown = self.clients.get_mut(&client).map(|c| c.take_shown()).unwrap_or_default();
            let is_wrong = |list: List, was: &crate::catalogue::Listing| {
                offer.list(list).is_none_or(|listing| !listing.same_as(was))
            };
            let is_changed = |list: List| shown.iter().any(|was| was.list() == list && is_wrong(list, was));
            for method in List::change_notices(is_changed) {
                self.notify_client(client, json!({ "method": method }));
            }
        }
    }
}

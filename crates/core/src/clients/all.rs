//! All clients by number. Must not know what a client does.

use crate::clients::Client;
use crate::ids::ClientId;
use std::collections::btree_map::{self, BTreeMap};
use std::ops::RangeFrom;

/// All clients by number. Boxed, because the numbers of a client's delegates are consecutive, and the nodes
/// of a B-tree that grows at its end stay half empty.
#[derive(Debug, Default)]
pub(crate) struct Clients(BTreeMap<ClientId, Box<Client>>);

impl Clients {
    pub(crate) fn get(&self, id: &ClientId) -> Option<&Client> {
        self.0.get(id).map(|client| &**client)
    }

    pub(crate) fn get_mut(&mut self, id: &ClientId) -> Option<&mut Client> {
        self.0.get_mut(id).map(|client| &mut **client)
    }

    pub(crate) fn insert(&mut self, id: ClientId, client: Client) {
        self.0.insert(id, Box::new(client));
    }

    pub(crate) fn contains_key(&self, id: &ClientId) -> bool {
        self.0.contains_key(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn keys(&self) -> btree_map::Keys<'_, ClientId, Box<Client>> {
        self.0.keys()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Client> + Clone {
        self.0.values().map(|client| &**client)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Client> {
        self.0.values_mut().map(|client| &mut **client)
    }

    pub(crate) fn range(&self, from: RangeFrom<ClientId>) -> impl Iterator<Item = (&ClientId, &Client)> {
        self.0.range(from).map(|(id, client)| (id, &**client))
    }

    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&ClientId, &mut Client) -> bool) {
        self.0.retain(|id, client| is_kept(id, client));
    }

    /// The client with the connection that a client or delegate uses.
    pub(crate) fn connection_of(&self, client: ClientId) -> ClientId {
        // The usual case, without a lookup.
        if client.0 < ClientId::FIRST_DELEGATE {
            return client;
        }
        self.get(&client).map_or(client, Client::connection)
    }
}

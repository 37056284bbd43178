//! Resource subscriptions of a backend's clients. Must not know how a server is told.

use crate::ids::ClientId;

#[derive(Debug)]
struct Subscription {
    /// A JSON string, as normalised by `same_spelling`.
    uri: Vec<u8>,
    /// Never empty.
    clients: Vec<ClientId>,
    /// Whether the server has agreed to tell of changes.
    is_agreed: bool,
}

/// The subscriptions at a backend. They outlive its process and are replayed to the next.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    all: Vec<Subscription>,
}

impl Subscriptions {
    pub(crate) fn add(&mut self, uri: Vec<u8>, client: ClientId) {
        match self.all.iter_mut().find(|known| known.uri == uri) {
            Some(known) if known.clients.contains(&client) => {}
            Some(known) => known.clients.push(client),
            None => self.all.push(Subscription { uri, clients: vec![client], is_agreed: false }),
        }
    }

    /// Records that the server has agreed to tell of changes of a resource.
    pub(crate) fn agree(&mut self, uri: &[u8]) {
        for known in self.all.iter_mut().filter(|known| known.uri == uri) {
            known.is_agreed = true;
        }
    }

    pub(crate) fn is_agreed(&self, uri: &[u8]) -> bool {
        self.all.iter().any(|known| known.uri == uri && known.is_agreed)
    }

    /// The resources to which the server has not agreed so far.
    pub(crate) fn open(&self) -> Vec<Vec<u8>> {
        self.all.iter().filter(|known| !known.is_agreed).map(|known| known.uri.clone()).collect()
    }

    pub(crate) fn remove(&mut self, uri: &[u8], client: ClientId) {
        for known in self.all.iter_mut().filter(|known| known.uri == uri) {
            known.clients.retain(|&other| other != client);
        }
        self.all.retain(|known| !known.clients.is_empty());
    }

    /// Removes a client; returns the URIs without subscribers left.
    pub(crate) fn remove_client(&mut self, client: ClientId) -> Vec<Vec<u8>> {
        for known in &mut self.all {
            known.clients.retain(|&other| other != client);
        }
        self.all.extract_if(.., |known| known.clients.is_empty()).map(|known| known.uri).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn contains(&self, uri: &[u8]) -> bool {
        self.subscribers(uri).is_some()
    }

    /// The subscribers of a resource; `None` if there are none.
    pub(crate) fn subscribers(&self, uri: &[u8]) -> Option<&[ClientId]> {
        self.all.iter().find(|known| known.uri == uri).map(|known| &known.clients[..])
    }

    pub(crate) fn is_subscribed(&self, uri: &[u8], client: ClientId) -> bool {
        self.subscribers(uri).is_some_and(|clients| clients.contains(&client))
    }

    pub(crate) fn is_wanted_by_others(&self, uri: &[u8], client: ClientId) -> bool {
        self.subscribers(uri).is_some_and(|clients| clients.iter().any(|&other| other != client))
    }

    pub(crate) fn has_client(&self, client: ClientId) -> bool {
        self.all.iter().any(|known| known.clients.contains(&client))
    }

    /// The URIs that a client has subscribed to.
    pub(crate) fn of_client(&self, client: ClientId) -> Vec<Vec<u8>> {
        let own = self.all.iter().filter(|known| known.clients.contains(&client));
        own.map(|known| known.uri.clone()).collect()
    }

    /// Each URI with its clients.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[ClientId])> {
        self.all.iter().map(|known| (&known.uri[..], &known.clients[..]))
    }
}

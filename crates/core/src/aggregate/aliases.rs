//! Subscribed resources whose URI for the client differs from the server's. Must not know the views.

use crate::ids::ClientId;

/// URIs of a client's subscriptions that differ from their servers' URIs.
#[derive(Debug, Default)]
pub(super) struct UriAliases(Vec<UriAlias>);

/// The client's own spelling of a URI, and the server's as normalised by `same_spelling`; both JSON.
#[derive(Debug)]
struct UriAlias {
    delegate: ClientId,
    original: Vec<u8>,
    public: Vec<u8>,
}

impl UriAliases {
    pub(super) fn add(&mut self, delegate: ClientId, original: Vec<u8>, public: Vec<u8>) {
        self.0.push(UriAlias { delegate, original, public });
    }

    pub(super) fn remove(&mut self, delegate: ClientId, original: &[u8]) {
        self.0.retain(|alias| alias.delegate != delegate || alias.original != original);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The client's URI for a resource of one of its servers.
    pub(super) fn public(&self, delegate: ClientId, original: &[u8]) -> Option<&[u8]> {
        let alias = self.0.iter().find(|alias| alias.delegate == delegate && alias.original == original)?;
        Some(&alias.public)
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(|alias| alias.public.len() + alias.original.len()).sum()
    }
}

//! A server's stored offers: one per kind of client, and per root where the launch depends on it.

use super::stored::StoredOffer;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Limit on stored offers, since clients can declare any number of different capabilities.
const MAX_OFFERS: usize = 64;

/// The recipients of an offer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OfferKey {
    /// The protocol version and capabilities that the client declared.
    pub profile: Arc<str>,
    /// The root of the backend; `None` if the launch does not depend on it.
    pub root: Option<Arc<str>>,
}

impl OfferKey {
    /// A key for a launch that does not depend on the root.
    pub fn anywhere(profile: &str) -> Self {
        Self { profile: profile.into(), root: None }
    }
}

#[derive(Debug, Default)]
pub struct Offers {
    known: BTreeMap<OfferKey, StoredOffer>,
    /// Newest first.
    order: Vec<OfferKey>,
}

impl Offers {
    /// Offers stored by an earlier run, newest first.
    pub fn stored(stored: &[(OfferKey, StoredOffer)]) -> Self {
        Self {
            known: stored.iter().cloned().collect(),
            order: stored.iter().map(|(key, _)| key.clone()).collect(),
        }
    }

    pub fn get(&self, key: &OfferKey) -> Option<&StoredOffer> {
        self.known.get(key)
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The newest offer at a root, for any kind of client.
    pub fn newest(&self, root: Option<&str>) -> Option<&StoredOffer> {
        let there = self.order.iter().filter(|key| key.root.as_deref() == root);
        // A stored offer that cannot be parsed does not count.
        there.filter_map(|key| self.known.get(key)).find(|stored| stored.offer().is_some())
    }

    /// The kind of client to which the newest offer was made.
    pub fn newest_profile(&self) -> Option<&str> {
        self.order.first().map(|key| &*key.profile)
    }

    pub fn insert(&mut self, key: OfferKey, stored: StoredOffer) {
        self.order.retain(|other| *other != key);
        self.order.insert(0, key.clone());
        self.known.insert(key, stored);
        for oldest in self.order.drain(self.order.len().min(MAX_OFFERS)..) {
            self.known.remove(&oldest);
        }
    }

    pub fn values(&self) -> impl Iterator<Item = &StoredOffer> {
        self.known.values()
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut StoredOffer> {
        self.known.values_mut()
    }
}

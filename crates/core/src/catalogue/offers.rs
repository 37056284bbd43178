//! A server's stored offers: one per kind of client, and per root where the launch depends on it.

use super::stored::StoredOffer;
use crate::ids::Principal;
use std::collections::BTreeMap;
use std::sync::Arc;
use switchboard_protocol::Era;
use switchboard_protocol::modern::MODERN_VERSIONS;

/// Limit on stored offers, since clients can declare any number of different capabilities.
const MAX_OFFERS: usize = 64;

/// The recipients of an offer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OfferKey {
    /// The protocol version and capabilities that the client declared.
    pub profile: Arc<str>,
    /// The root of the backend; `None` if the launch does not depend on it.
    pub root: Option<Arc<str>>,
    /// The only principal that may be shown it; `None` means all of them.
    pub principal: Option<Principal>,
}

impl OfferKey {
    /// A key for a launch that does not depend on the root.
    pub fn anywhere(profile: &str) -> Self {
        Self { profile: profile.into(), root: None, principal: None }
    }

    /// Whether its clients are of the modern era, whose servers say who may be shown a list.
    pub fn is_modern(&self) -> bool {
        let version = |version: &&str| self.profile.starts_with(&format!("\"{version}\""));
        MODERN_VERSIONS.iter().any(version)
    }

    /// Whether both are for the same kind of client, but one of them for one principal only: the newer one counts.
    fn replaces(&self, other: &Self) -> bool {
        self.principal.is_some() != other.principal.is_some()
            && (&self.profile, &self.root) == (&other.profile, &other.root)
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

    /// The offer that a client of this principal may be shown; `key` names no principal.
    pub fn seen_by(&self, principal: Principal, key: &OfferKey) -> Option<&StoredOffer> {
        self.get(&OfferKey { principal: Some(principal), ..key.clone() }).or_else(|| self.get(key))
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The newest offer at a root that a principal may be shown, for any kind of client of this era.
    pub fn newest(&self, root: Option<&str>, principal: Principal, era: Era) -> Option<&StoredOffer> {
        let may_see = |key: &OfferKey| {
            key.principal.is_none_or(|only| only == principal) && key.is_modern() == (era == Era::Modern)
        };
        let there = self.order.iter().filter(|key| key.root.as_deref() == root && may_see(key));
        // A stored offer that cannot be parsed does not count.
        there.filter_map(|key| self.known.get(key)).find(|stored| stored.offer().is_some())
    }

    /// The kind of client to which the newest offer was made.
    pub fn newest_profile(&self) -> Option<&str> {
        self.order.first().map(|key| &*key.profile)
    }

    pub fn insert(&mut self, key: OfferKey, stored: StoredOffer) {
        for replaced in self.order.extract_if(.., |other| *other == key || key.replaces(other)) {
            self.known.remove(&replaced);
        }
        self.order.insert(0, key.clone());
        self.known.insert(key, stored);
        for oldest in self.order.drain(self.order.len().min(MAX_OFFERS)..) {
            self.known.remove(&oldest);
        }
    }

    /// Forgets what modern servers have offered to everybody.
    pub fn forget_public(&mut self) {
        for key in self.order.extract_if(.., |key| key.is_modern() && key.principal.is_none()) {
            self.known.remove(&key);
        }
    }

    pub fn values(&self) -> impl Iterator<Item = &StoredOffer> {
        self.known.values()
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut StoredOffer> {
        self.known.values_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Offer;

    const MODERN: &str = r#""2026-07-28" {}"#;

    fn offer(instructions: &str) -> Arc<Offer> {
        Arc::new(Offer::new(format!(r#"{{"instructions":"{instructions}"}}"#).into()))
    }

    fn said(stored: Option<&StoredOffer>) -> Option<String> {
        Some(stored?.offer()?.instructions()?.to_owned())
    }

    fn only(principal: u32) -> OfferKey {
        OfferKey { principal: Some(Principal(principal)), ..OfferKey::anywhere(MODERN) }
    }

    #[test]
    fn private_offers_have_one_viewer() {
        let everybody = OfferKey::anywhere(MODERN);
        let seen = |offers: &Offers, by| said(offers.seen_by(Principal(by), &everybody)).unwrap_or_default();
        let newest =
            |offers: &Offers, by| said(offers.newest(None, Principal(by), Era::Modern)).unwrap_or_default();
        let mut offers = Offers::default();
        offers.insert(only(7), offer("of 7").into());
        offers.insert(only(8), offer("of 8").into());
        assert_eq!([7, 8, 9].map(|by| seen(&offers, by)), ["of 7", "of 8", ""]);
        assert_eq!([7, 8, 9].map(|by| newest(&offers, by)), ["of 7", "of 8", ""]);
        offers.insert(everybody.clone(), offer("public").into());
        assert_eq!([7, 8, 9].map(|by| seen(&offers, by)), ["public"; 3]);
        assert_eq!([7, 8, 9].map(|by| newest(&offers, by)), ["public"; 3]);
        offers.insert(only(7), offer("of 7").into());
        assert_eq!([7, 8].map(|by| seen(&offers, by)), ["of 7", ""], "turned private");
    }

    #[test]
    fn offers_are_for_clients_of_their_era() {
        let newest = |offers: &Offers, era| said(offers.newest(None, Principal(7), era));
        let mut offers = Offers::default();
        offers.insert(OfferKey::anywhere(r#""2025-11-25" {}"#), offer("legacy").into());
        assert_eq!(newest(&offers, Era::Modern), None);
        offers.insert(OfferKey::anywhere(MODERN), offer("modern").into());
        assert_eq!(newest(&offers, Era::Legacy).as_deref(), Some("legacy"));
        assert_eq!(newest(&offers, Era::Modern).as_deref(), Some("modern"));
    }

    #[test]
    fn public_offers_are_forgotten() {
        let legacy = OfferKey::anywhere(r#""2025-11-25" {}"#);
        let mut offers = Offers::default();
        for key in [legacy.clone(), OfferKey::anywhere(MODERN)] {
            offers.insert(key, offer("public").into());
        }
        offers.forget_public();
        assert!(offers.get(&legacy).is_some() && offers.get(&OfferKey::anywhere(MODERN)).is_none());
        assert_eq!(offers.order, [legacy]);
    }
}

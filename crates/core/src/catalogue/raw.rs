//! Unparsed answers of a server about its offer. Lists may be long, so they are parsed outside the lock.

use super::{List, Listing, Naming, Offer, Sighting};
use bytes::Bytes;
use std::sync::Arc;

/// All answers of a server to the requests for its offer.
#[derive(Debug)]
pub struct RawOffer {
    /// The `result` of its handshake.
    pub welcome: Bytes,
    pub lists: [RawList; 4],
    pub naming: Arc<Naming>,
    /// Whether the definitions of its tools are needed.
    pub is_pinned: bool,
    /// The definitions that the server was seen with before.
    pub known: Option<Arc<Sighting>>,
}

#[derive(Debug)]
pub enum RawList {
    /// Not offered, or not available.
    Absent,
    /// As parsed before.
    Unchanged(Arc<Listing>),
    /// The `result` of each page.
    Pages(Vec<Bytes>),
}

impl RawOffer {
    /// Number of bytes to parse.
    pub fn len(&self) -> usize {
        let pages = |list: &RawList| match list {
            RawList::Pages(pages) => pages.iter().map(Bytes::len).sum(),
            RawList::Absent | RawList::Unchanged(_) => 0,
        };
        self.lists.iter().map(pages).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Parses the lists. A list that cannot be parsed counts as absent.
    pub fn read(self) -> Offer {
        let mut offer = Offer::new(self.welcome);
        for (list, raw) in List::ALL.into_iter().zip(self.lists) {
            let listing = match raw {
                RawList::Absent => None,
                RawList::Unchanged(listing) => Some(listing),
                RawList::Pages(pages) => Listing::read(list, &pages, &self.naming).ok().map(Arc::new),
            };
            if let Some(listing) = listing {
                offer = offer.with(listing);
            }
        }
        if self.is_pinned {
            offer.sight(self.known);
        }
        offer
    }
}

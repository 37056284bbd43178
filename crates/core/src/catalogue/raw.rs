//! What a server said of itself, before it is made out. Lists may be long, so this is not done where others wait.

use super::{List, Listing, Naming, Offer};
use bytes::Bytes;
use std::sync::Arc;

/// All that a server answered when it was asked what it offers.
#[derive(Debug)]
pub struct RawOffer {
    /// The `result` of its handshake.
    pub welcome: Bytes,
    pub lists: [RawList; 4],
    pub naming: Arc<Naming>,
}

#[derive(Debug)]
pub enum RawList {
    /// It is not offered, or was not to be had.
    Absent,
    /// As it was made out before.
    Unchanged(Arc<Listing>),
    /// The `result` of each page.
    Pages(Vec<Bytes>),
}

impl RawOffer {
    /// How much there is to be made out.
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

    /// A list that cannot be made sense of is as good as none.
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
        offer
    }
}

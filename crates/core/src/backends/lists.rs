//! The lists that a backend offers, and the rounds in which it is asked for them.

use crate::backends::fetch::{AfterPage, ListFetch};
use crate::catalogue::{List, Naming, Offer, RawOffer};
use crate::moment::Moment;
use bytes::Bytes;
use std::sync::Arc;

#[derive(Debug, Default)]
pub(crate) struct BackendLists {
    /// Known as far as anybody wanted to know.
    offer: Option<Arc<Offer>>,
    /// A list could not be had. Such an offer is forgotten with the process.
    is_partial: bool,
    fetch: Option<ListFetch>,
    rounds: u32,
}

impl BackendLists {
    pub(crate) fn offer(&self) -> Option<&Arc<Offer>> {
        self.offer.as_ref()
    }

    pub(crate) fn set_offer(&mut self, offer: Arc<Offer>, is_partial: bool) {
        self.offer = Some(offer);
        self.is_partial = is_partial;
    }

    /// Shows the same things under another naming.
    pub(super) fn rename(&mut self, naming: &Naming) {
        self.offer = self.offer.as_ref().map(|offer| Arc::new(offer.under(naming)));
    }

    pub(crate) fn forget(&mut self) {
        self.offer = None;
        self.fetch = None;
    }

    /// A process starts: it has not been asked yet.
    pub(crate) fn begin_process(&mut self) {
        self.fetch = None;
    }

    /// The process has ended. Returns whether an offer was forgotten because it was partial.
    pub(crate) fn end_process(&mut self) -> bool {
        let was_partial = std::mem::take(&mut self.is_partial);
        if was_partial {
            self.offer = None;
        }
        was_partial
    }

    /// The present process has been asked at least once.
    pub(crate) fn was_asked(&self) -> bool {
        self.fetch.is_some()
    }

    pub(crate) fn is_being_fetched(&self) -> bool {
        self.fetch.as_ref().is_some_and(ListFetch::is_under_way)
    }

    /// When the next round begins by itself.
    pub(crate) fn next_round_at(&self) -> Option<Moment> {
        self.fetch.as_ref()?.due()
    }

    /// The server says that lists have changed. A backend that was not asked yet is asked for everything when it is time.
    pub(crate) fn mark_changed(&mut self, lists: &[List]) {
        if let Some(fetch) = &mut self.fetch {
            fetch.mark_changed(lists);
        }
    }

    pub(crate) fn take_changed(&mut self) -> Vec<List> {
        self.fetch.as_mut().map(ListFetch::take_changed).unwrap_or_default()
    }

    /// Begins a round, and returns its number.
    pub(crate) fn begin_round(&mut self, lists: &[List], offered: &Offer) -> u32 {
        self.rounds += 1;
        self.fetch = Some(ListFetch::new(self.rounds, lists, offered, self.offer.as_deref()));
        self.rounds
    }

    pub(crate) fn add_page(&mut self, list: List, round: u32, page: Bytes) -> Option<AfterPage> {
        self.round(round)?.add_page(list, page)
    }

    /// The list could not be had this time. What there is is shown, but not stored.
    pub(crate) fn mark_failed(&mut self, list: List, round: u32) {
        if let Some(fetch) = self.round(round) {
            fetch.mark_failed(list);
        }
    }

    /// The list is not offered, whatever its server said of itself. Returns whether it was asked for in this round.
    pub(crate) fn mark_absent(&mut self, list: List, round: u32) -> bool {
        self.round(round).is_some_and(|fetch| fetch.mark_absent(list))
    }

    /// Hands out the answers to be read, with the number of the round, once all lists are there.
    pub(crate) fn take_complete(&mut self, welcome: Bytes, naming: &Arc<Naming>) -> Option<(u32, RawOffer)> {
        let fetch = self.fetch.as_mut()?;
        let raw = fetch.take_complete(welcome, naming, self.offer.as_deref())?;
        Some((fetch.round(), raw))
    }

    /// The lists of a round are read. Returns the offer, and whether it is partial.
    pub(crate) fn finish_round(
        &mut self,
        round: u32,
        offer: Arc<Offer>,
        naming: &Arc<Naming>,
        now: Moment,
    ) -> Option<(Arc<Offer>, bool)> {
        Some(self.round(round)?.finish(offer, naming, now))
    }

    fn round(&mut self, round: u32) -> Option<&mut ListFetch> {
        self.fetch.as_mut().filter(|fetch| fetch.round() == round)
    }
}

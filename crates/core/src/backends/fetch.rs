//! One round of asking a backend for its lists: all pages of each, then reading them, then a pause.

use crate::catalogue::{List, Naming, Offer, RawList, RawOffer, next_cursor};
use crate::moment::Moment;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// More pages than this no server has; a server that goes on for ever is not followed.
const MAX_PAGES: usize = 10_000;

/// A server that says again and again that a list has changed is asked so often.
const MIN_FETCH_INTERVAL: Duration = Duration::from_millis(250);

/// When a list that could not be had is asked for again.
const FAILED_LIST_RETRY_DELAY: Duration = Duration::from_secs(60);

/// A round that is under way, or was a moment ago.
#[derive(Debug)]
pub(crate) struct ListFetch {
    round: u32,
    stage: FetchStage,
    /// Lists that have changed since they were asked for.
    changed: Vec<List>,
    /// Lists that could not be had this time.
    failed: Vec<List>,
}

#[derive(Debug)]
enum FetchStage {
    Asking([ListProgress; 4]),
    /// Everything is there, and being read under this naming.
    Reading(Arc<Naming>),
    /// Nothing is asked for until then.
    Resting {
        until: Moment,
    },
}

/// How far one list has come.
#[derive(Debug)]
enum ListProgress {
    /// Not offered, or not to be had.
    Absent,
    /// Not asked for: the list is as it was.
    Unchanged,
    Asked(Vec<Bytes>),
    Done(Vec<Bytes>),
}

/// What follows a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AfterPage {
    /// The page at this cursor is asked for.
    Next(Bytes),
    LastPage,
}

impl ListFetch {
    /// Begins a round: these lists are asked for as far as the server offers them, the others stay as they are known.
    pub(super) fn new(round: u32, lists: &[List], offered: &Offer, known: Option<&Offer>) -> Self {
        let progress = List::ALL.map(|list| match known.and_then(|offer| offer.list(list)) {
            _ if lists.contains(&list) && offered.declares(list) => ListProgress::Asked(Vec::new()),
            Some(_) if !lists.contains(&list) => ListProgress::Unchanged,
            Some(_) | None => ListProgress::Absent,
        });
        Self { round, stage: FetchStage::Asking(progress), changed: Vec::new(), failed: Vec::new() }
    }

    pub(super) fn round(&self) -> u32 {
        self.round
    }

    /// The backend has been asked, and its lists are not all read yet.
    pub(super) fn is_under_way(&self) -> bool {
        match self.stage {
            FetchStage::Asking(_) | FetchStage::Reading(_) => true,
            FetchStage::Resting { .. } => false,
        }
    }

    /// When the next round begins by itself.
    pub(super) fn due(&self) -> Option<Moment> {
        match self.stage {
            FetchStage::Resting { until } if !self.changed.is_empty() => Some(until),
            FetchStage::Resting { .. } | FetchStage::Asking(_) | FetchStage::Reading(_) => None,
        }
    }

    pub(super) fn mark_changed(&mut self, lists: &[List]) {
        for list in lists {
            if !self.changed.contains(list) {
                self.changed.push(*list);
            }
        }
    }

    pub(super) fn take_changed(&mut self) -> Vec<List> {
        std::mem::take(&mut self.changed)
    }

    /// Adds a page to a list. `None`: the list is not asked for any more.
    pub(super) fn add_page(&mut self, list: List, page: Bytes) -> Option<AfterPage> {
        let progress = self.progress_of(list)?;
        let ListProgress::Asked(pages) = progress else { return None };
        let is_new =
            |cursor: &Bytes| pages.last().and_then(|last| next_cursor(last)).as_ref() != Some(cursor);
        let next = next_cursor(&page).filter(|cursor| pages.len() < MAX_PAGES && is_new(cursor));
        pages.push(page);
        match next {
            Some(cursor) => Some(AfterPage::Next(cursor)),
            None => {
                *progress = ListProgress::Done(std::mem::take(pages));
                Some(AfterPage::LastPage)
            }
        }
    }

    /// The list could not be had this time.
    pub(super) fn mark_failed(&mut self, list: List) {
        self.failed.push(list);
    }

    /// The list is not offered. Returns whether it was asked for in this round.
    pub(super) fn mark_absent(&mut self, list: List) -> bool {
        match self.progress_of(list) {
            Some(progress) => {
                *progress = ListProgress::Absent;
                true
            }
            None => false,
        }
    }

    fn progress_of(&mut self, list: List) -> Option<&mut ListProgress> {
        match &mut self.stage {
            FetchStage::Asking(progress) => Some(&mut progress[list as usize]),
            FetchStage::Reading(_) | FetchStage::Resting { .. } => None,
        }
    }

    /// Hands out everything that was answered, once no list is asked for any more.
    pub(super) fn take_complete(
        &mut self,
        welcome: Bytes,
        naming: &Arc<Naming>,
        known: Option<&Offer>,
    ) -> Option<RawOffer> {
        let FetchStage::Asking(progress) = &mut self.stage else { return None };
        if progress.iter().any(|progress| matches!(progress, ListProgress::Asked(_))) {
            return None;
        }
        let mut lists = List::ALL.map(|_| RawList::Absent);
        for list in List::ALL {
            lists[list as usize] = match std::mem::replace(&mut progress[list as usize], ListProgress::Absent)
            {
                ListProgress::Done(pages) => RawList::Pages(pages),
                ListProgress::Unchanged => match known.and_then(|offer| offer.list(list)) {
                    Some(listing) => RawList::Unchanged(listing.clone()),
                    None => RawList::Absent,
                },
                ListProgress::Absent | ListProgress::Asked(_) => RawList::Absent,
            };
        }
        self.stage = FetchStage::Reading(naming.clone());
        Some(RawOffer { welcome, lists, naming: naming.clone() })
    }

    /// The lists are read. Returns the offer under the present naming, and whether a list is missing, which is asked for
    /// again later.
    pub(super) fn finish(
        &mut self,
        offer: Arc<Offer>,
        naming: &Arc<Naming>,
        now: Moment,
    ) -> (Arc<Offer>, bool) {
        let before =
            std::mem::replace(&mut self.stage, FetchStage::Resting { until: now + MIN_FETCH_INTERVAL });
        let offer = match before {
            FetchStage::Reading(read) if !Arc::ptr_eq(&read, naming) => Arc::new(offer.under(naming)),
            FetchStage::Reading(_) | FetchStage::Asking(_) | FetchStage::Resting { .. } => offer,
        };
        let is_partial = !self.failed.is_empty();
        if is_partial {
            self.changed.append(&mut self.failed);
            self.stage = FetchStage::Resting { until: now + FAILED_LIST_RETRY_DELAY };
        }
        (offer, is_partial)
    }
}

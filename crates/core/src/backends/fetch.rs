//! One round of list requests to a backend: fetching all pages of each list, parsing them, then a pause. Must
//! not know how requests are sent.

use crate::catalogue::{List, Naming, Offer, RawList, RawOffer, next_cursor};
use crate::moment::Moment;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// Limit on pages of one list, which stops an endless sequence of cursors.
const MAX_PAGES: usize = 10_000;

/// Minimum interval between rounds, for a server that keeps announcing changes.
const MIN_FETCH_INTERVAL: Duration = Duration::from_millis(250);

/// Delay before a list that could not be fetched is requested again.
const FAILED_LIST_RETRY_DELAY: Duration = Duration::from_secs(60);

/// A round in progress, or the pause after it.
#[derive(Debug)]
pub(crate) struct ListFetch {
    round: u32,
    stage: FetchStage,
    /// Lists that changed after they were requested.
    changed: Vec<List>,
    /// Lists that could not be fetched in this round.
    failed: Vec<List>,
}

#[derive(Debug)]
enum FetchStage {
    Asking([ListProgress; 4]),
    /// All pages have arrived and are being parsed under this naming.
    Reading(Arc<Naming>),
    /// No requests until then.
    Resting {
        until: Moment,
    },
}

/// Progress of one list.
#[derive(Debug)]
enum ListProgress {
    /// Not offered, or not available.
    Absent,
    /// Not requested: the known list is still valid.
    Unchanged,
    Asked(Vec<Bytes>),
    Done(Vec<Bytes>),
}

/// The step after a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AfterPage {
    /// Request the page at this cursor.
    Next(Bytes),
    LastPage,
}

impl ListFetch {
    /// Starts a round: requests these lists as far as the server declares them; the others stay as known.
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

    /// Whether requests are open, or answers are being parsed.
    pub(super) fn is_under_way(&self) -> bool {
        match self.stage {
            FetchStage::Asking(_) | FetchStage::Reading(_) => true,
            FetchStage::Resting { .. } => false,
        }
    }

    /// Time at which the next round starts by itself.
    pub(super) fn due(&self) -> Option<Moment> {
        match self.stage {
            FetchStage::Resting { until } if !self.changed.is_empty() => Some(until),
            FetchStage::Resting { .. } | FetchStage::Asking(_) | FetchStage::Reading(_) => None,
        }
    }

    /// Whether the next round is further away than the shortest pause.
    pub(super) fn is_postponed(&self, now: Moment) -> bool {
        self.due().is_some_and(|due| due > now + MIN_FETCH_INTERVAL)
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

    /// Adds a page to a list; `None` if the list is no longer being fetched.
    pub(super) fn add_page(&mut self, list: List, page: Bytes) -> Option<AfterPage> {
        let progress = self.progress_of(list)?;
        let ListProgress::Asked(pages) = progress else { return None };
        let is_new =
            // A repeated cursor would loop forever; a server that sends one has reached its last page.
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

    /// Records that the list could not be fetched in this round.
    pub(super) fn mark_failed(&mut self, list: List) {
        self.failed.push(list);
    }

    pub(super) fn has_failed(&self, list: List) -> bool {
        self.failed.contains(&list)
    }

    /// Records that the list is not offered. Returns whether it was part of this round.
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

    /// Once no request is open, takes all answers.
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
                // `Asked` was ruled out above.
                ListProgress::Absent | ListProgress::Asked(_) => RawList::Absent,
            };
        }
        self.stage = FetchStage::Reading(naming.clone());
        Some(RawOffer { welcome, lists, naming: naming.clone(), is_pinned: false, known: None })
    }

    /// Records the parsed lists. Returns the offer under the current naming, and whether a list is missing,
    /// which will be requested again.
    pub(super) fn finish(
        &mut self,
        offer: Arc<Offer>,
        naming: &Arc<Naming>,
        now: Moment,
    ) -> (Arc<Offer>, bool) {
        let before =
            std::mem::replace(&mut self.stage, FetchStage::Resting { until: now + MIN_FETCH_INTERVAL });
        let offer = match before {
            // The naming changed while the lists were being parsed.
            FetchStage::Reading(read) if !Arc::ptr_eq(&read, naming) => Arc::new(offer.under(naming)),
            FetchStage::Reading(_) | FetchStage::Asking(_) | FetchStage::Resting { .. } => offer,
        };
        let is_partial = !self.failed.is_empty();
        if is_partial {
            // Requested again like lists that have changed.
            self.changed.append(&mut self.failed);
            self.stage = FetchStage::Resting { until: now + FAILED_LIST_RETRY_DELAY };
        }
        (offer, is_partial)
    }
}

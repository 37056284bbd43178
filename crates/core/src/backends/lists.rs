//! The lists that a backend offers, and the rounds in which they are requested. Must not know who needs the lists.

use crate::backends::fetch::{AfterPage, ListFetch};
use crate::catalogue::{Digest, List, Naming, Offer, RawOffer, Sighting};
use crate::moment::Moment;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Default)]
pub(crate) struct BackendLists {
    /// The lists, as far as they have been requested.
    offer: Option<Arc<Offer>>,
    /// A list could not be fetched. A partial offer is forgotten with the process.
    is_partial: bool,
    /// Time at which the lists were fetched from a process.
    fetched_at: Moment,
    fetch: Option<ListFetch>,
    rounds: u32,
    check: ToolsCheck,
    /// Tools of the current process that are defined otherwise than approved.
    unapproved: BTreeMap<Arc<str>, Digest>,
}

/// Comparison of the current process's tools with the approved ones.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ToolsCheck {
    /// Not compared since the start, or since the process announced other tools.
    #[default]
    Due,
    /// Requested in this round.
    Asked {
        round: u32,
    },
    /// The tools could not be fetched.
    Failed,
    Done,
}

impl BackendLists {
    pub(crate) fn offer(&self) -> Option<&Arc<Offer>> {
        self.offer.as_ref()
    }

    pub(crate) fn set_offer(&mut self, offer: Arc<Offer>, is_partial: bool, now: Moment) {
        self.offer = Some(offer);
        self.is_partial = is_partial;
        self.fetched_at = now;
    }

    /// Whether a list is older than its server said that it would stay fresh.
    pub(crate) fn is_stale(&self, list: List, now: Moment) -> bool {
        let ttl = self.offer.as_ref().and_then(|offer| offer.list(list)?.hints().ttl());
        ttl.is_some_and(|ttl| now.since(self.fetched_at) >= ttl)
    }

    /// Applies another naming to the same lists.
    pub(super) fn rename(&mut self, naming: &Naming) {
        self.offer = self.offer.as_ref().map(|offer| Arc::new(offer.under(naming)));
    }

    pub(crate) fn forget(&mut self) {
        self.offer = None;
        self.fetch = None;
        self.check = ToolsCheck::Due;
    }

    /// Resets for a new process, which has not been asked.
    pub(crate) fn begin_process(&mut self) {
        self.fetch = None;
        self.check = ToolsCheck::Due;
    }

    /// Records the end of the process. Returns whether a partial offer was forgotten.
    pub(crate) fn end_process(&mut self) -> bool {
        self.unapproved.clear();
        let was_partial = std::mem::take(&mut self.is_partial);
        if was_partial {
            self.offer = None;
        }
        was_partial
    }

    /// Whether the current process has been asked at least once.
    pub(crate) fn was_asked(&self) -> bool {
        self.fetch.is_some()
    }

    pub(crate) fn is_being_fetched(&self) -> bool {
        self.fetch.as_ref().is_some_and(ListFetch::is_under_way)
    }

    /// Time at which the next round starts by itself.
    pub(crate) fn next_round_at(&self) -> Option<Moment> {
        self.fetch.as_ref()?.due()
    }

    /// Records an announced change of lists. A backend that has not been asked yet will be asked for everything.
    pub(crate) fn mark_changed(&mut self, lists: &[List]) {
        if let Some(fetch) = &mut self.fetch {
            fetch.mark_changed(lists);
        }
        // An answer that is still to come is newer than this announcement. So a server that announces a change with
        // each answer does not keep calls waiting for ever.
        if lists.contains(&List::Tools) && self.check == ToolsCheck::Done {
            self.check = ToolsCheck::Due;
        }
    }

    pub(crate) fn take_changed(&mut self) -> Vec<List> {
        self.fetch.as_mut().map(ListFetch::take_changed).unwrap_or_default()
    }

    /// Starts a round and returns its number.
    pub(crate) fn begin_round(&mut self, lists: &[List], offered: &Offer) -> u32 {
        self.rounds += 1;
        if lists.contains(&List::Tools) {
            self.check = ToolsCheck::Asked { round: self.rounds };
        }
        self.fetch = Some(ListFetch::new(self.rounds, lists, offered, self.offer.as_deref()));
        self.rounds
    }

    pub(crate) fn add_page(&mut self, list: List, round: u32, page: Bytes) -> Option<AfterPage> {
        self.round(round)?.add_page(list, page)
    }

    /// Records that the list could not be fetched. The rest is shown, but not stored.
    pub(crate) fn mark_failed(&mut self, list: List, round: u32) {
        if let Some(fetch) = self.round(round) {
            fetch.mark_failed(list);
        }
    }

    /// Records that the list is not offered, contrary to the server's declaration. Returns whether it was
    /// part of this round.
    pub(crate) fn mark_absent(&mut self, list: List, round: u32) -> bool {
        self.round(round).is_some_and(|fetch| fetch.mark_absent(list))
    }

    /// Once all lists have arrived, takes the raw answers and the number of the round.
    pub(crate) fn take_complete(
        &mut self,
        welcome: Bytes,
        naming: &Arc<Naming>,
        is_pinned: bool,
    ) -> Option<(u32, RawOffer)> {
        let fetch = self.fetch.as_mut()?;
        let raw = fetch.take_complete(welcome, naming, self.offer.as_deref())?;
        let known = self.offer.as_ref().filter(|_| is_pinned).and_then(|offer| offer.sighting().cloned());
        let raw = RawOffer { is_pinned, known, ..raw };
        Some((fetch.round(), raw))
    }

    /// Records the parsed lists of a round. Returns the offer, and whether it is partial.
    pub(crate) fn finish_round(
        &mut self,
        round: u32,
        offer: Arc<Offer>,
        naming: &Arc<Naming>,
        now: Moment,
    ) -> Option<(Arc<Offer>, bool)> {
        let fetch = self.round(round)?;
        let has_failed = fetch.has_failed(List::Tools);
        let finished = fetch.finish(offer, naming, now);
        if self.check == (ToolsCheck::Asked { round }) {
            self.check = if has_failed { ToolsCheck::Failed } else { ToolsCheck::Done };
        }
        Some(finished)
    }

    /// Whether this round is in progress.
    pub(crate) fn is_in_round(&self, round: u32) -> bool {
        self.fetch.as_ref().is_some_and(|fetch| fetch.round() == round && fetch.is_under_way())
    }

    /// Whether the tools of the current process were compared with the approved ones.
    pub(crate) fn are_tools_checked(&self) -> bool {
        self.check == ToolsCheck::Done
    }

    pub(crate) fn have_tools_failed(&self) -> bool {
        self.check == ToolsCheck::Failed
    }

    /// Lists whose next round is some time away, because they could not be fetched.
    pub(crate) fn take_postponed(&mut self, now: Moment) -> Vec<List> {
        match self.fetch.as_mut().filter(|fetch| fetch.is_postponed(now)) {
            Some(fetch) => fetch.take_changed(),
            None => Vec::new(),
        }
    }

    /// Records which of these tools are defined otherwise than approved.
    pub(crate) fn record_unapproved(&mut self, seen: &Sighting, unapproved: Vec<(Arc<str>, Digest)>) {
        for tool in seen.tools() {
            self.unapproved.remove(&tool.name);
        }
        self.unapproved.extend(unapproved);
    }

    /// Forgets tools that are approved now.
    pub(crate) fn approve(&mut self, is_approved: impl Fn(&str, Digest) -> bool) {
        self.unapproved.retain(|tool, digest| !is_approved(tool, *digest));
    }

    pub(crate) fn is_unapproved(&self, tool: &str) -> bool {
        self.unapproved.contains_key(tool)
    }

    fn round(&mut self, round: u32) -> Option<&mut ListFetch> {
        // A late answer to an earlier round, or of an earlier process, must not count.
        self.fetch.as_mut().filter(|fetch| fetch.round() == round)
    }
}

//! The views that a client has been shown: names keep their meaning from there, pages continue in the view
//! they began in, and the client is notified when a list changes. Must not know when a client is notified.

use crate::catalogue::{List, Page, View};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use switchboard_protocol::{Dialect, RawId};

/// Limit on earlier views per client, kept for pages that it may still request.
const MAX_EARLIER_VIEWS: usize = 4;

#[derive(Debug, Default)]
pub(super) struct ShownViews {
    /// The client's current view; `None` if it must be rebuilt.
    current: Option<Arc<View>>,
    /// The view before, while the current one must be rebuilt.
    outdated: Option<Arc<View>>,
    /// The view that the client was last shown or notified of, by list.
    told: [Option<Arc<View>>; 4],
    /// The view that the client was last shown, by list.
    seen: [Option<Arc<View>>; 4],
    earlier: VecDeque<Arc<View>>,
}

impl ShownViews {
    pub(super) fn current(&self) -> Option<&Arc<View>> {
        self.current.as_ref()
    }

    /// The current view, or the last one if it must be rebuilt.
    pub(super) fn latest(&self) -> Option<&Arc<View>> {
        self.current.as_ref().or(self.outdated.as_ref())
    }

    pub(super) fn set_current(&mut self, view: Arc<View>) {
        self.current = Some(view);
        self.outdated = None;
    }

    pub(super) fn outdate(&mut self) {
        if let Some(view) = self.current.take() {
            self.outdated = Some(view);
        }
    }

    /// Forgets the meaning of names in earlier lists.
    pub(super) fn forget_seen(&mut self) {
        self.current = None;
        self.outdated = None;
        self.seen = Default::default();
    }

    pub(super) fn seen(&self, list: List) -> Option<&Arc<View>> {
        self.seen[list as usize].as_ref()
    }

    pub(super) fn earlier(&self, number: u64) -> Option<&Arc<View>> {
        self.earlier.iter().find(|view| view.number() == number)
    }

    /// Records that the client was shown the first page of a list.
    pub(super) fn show(&mut self, list: List, view: Arc<View>) {
        self.told[list as usize] = Some(view.clone());
        self.seen[list as usize] = Some(view.clone());
        if !self.earlier.iter().any(|earlier| Arc::ptr_eq(earlier, &view)) {
            if self.earlier.len() == MAX_EARLIER_VIEWS {
                // The oldest pages are the least likely to be continued.
                self.earlier.pop_front();
            }
            self.earlier.push_back(view);
        }
    }

    /// Records that the client was notified of a changed list.
    pub(super) fn tell(&mut self, list: List, view: Arc<View>) {
        self.told[list as usize] = Some(view);
    }

    /// The lists that differ from those that the client knows.
    pub(super) fn changed(&self, view: &View) -> Vec<List> {
        let is_another = |list: &List| {
            let told = self.told[*list as usize].as_ref();
            // A list that the client never asked for cannot change for it.
            told.is_some_and(|told| items(told, *list) != items(view, *list))
        };
        List::ALL.into_iter().filter(is_another).collect()
    }
}

/// A list of a view, as bytes.
fn items(view: &View, list: List) -> Bytes {
    // A fixed id and dialect, so that two results differ only in their items.
    view.answer(list, Page::First, None, &RawId::null(), Dialect::Standard).original().clone()
}

//! All views: clients that see the same servers in the same state share one. Must not know the clients.

use crate::catalogue::{Member, View};
use std::sync::{Arc, Weak};

/// All views that clients see or page through.
#[derive(Debug)]
pub(crate) struct Views {
    /// Number of the last view. Cursors contain it, and each run starts at another number, so that a cursor
    /// from an earlier run is recognised.
    next: u64,
    known: Vec<Weak<View>>,
}

impl Views {
    pub(crate) fn new(seed: u64) -> Self {
        // The low 20 bits count the views of this run.
        Self { next: (seed >> 20) << 20, known: Vec::new() }
    }

    /// The view of these servers, shared or new.
    pub(crate) fn of(&mut self, members: Vec<Member>) -> Arc<View> {
        // Views that no client holds any more leave dead entries behind.
        self.known.retain(|view| view.strong_count() > 0);
        let known = self.known.iter().filter_map(Weak::upgrade);
        if let Some(view) = known.into_iter().find(|view| are_same(view.members(), &members)) {
            return view;
        }
        self.next += 1;
        let view = Arc::new(View::new(members, self.next));
        self.known.push(Arc::downgrade(&view));
        view
    }
}

/// Whether the members are identical, not just equal: comparing pointers is cheap.
fn are_same(some: &[Member], others: &[Member]) -> bool {
    let is_same = |(one, other): (&Member, &Member)| {
        let offers = match (&one.offer, &other.offer) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        one.server == other.server && Arc::ptr_eq(&one.naming, &other.naming) && offers
    };
    some.len() == others.len() && some.iter().zip(others).all(is_same)
}

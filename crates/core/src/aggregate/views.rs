//! Clients that see the same servers in the same state share what was prepared for them.

use crate::catalogue::{Member, View};
use std::sync::{Arc, Weak};

#[derive(Debug)]
pub(crate) struct Views {
    /// Cursors name the view that they go on in: each run of ours counts from elsewhere, so that a cursor of an earlier
    /// one is known for what it is.
    next: u64,
    known: Vec<Weak<View>>,
}

impl Views {
    pub(crate) fn new(seed: u64) -> Self {
        Self { next: (seed >> 20) << 20, known: Vec::new() }
    }

    pub(crate) fn of(&mut self, members: Vec<Member>) -> Arc<View> {
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

/// The very same things, not only equal ones.
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

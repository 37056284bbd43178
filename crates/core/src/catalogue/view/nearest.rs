//! Suggestions for a name that the view does not show.

use super::View;
use crate::catalogue::list::List;
use crate::text::nearest::nearest_listed;
use std::borrow::Cow;

impl View {
    /// At most five suggestions, nearest first.
    pub fn nearest(&self, list: List, name: &str) -> Vec<String> {
        nearest_listed(self.shown(list), name)
    }

    fn shown(&self, list: List) -> impl Iterator<Item = Cow<'_, str>> {
        let known = self.members.iter().enumerate().filter_map(move |(at, m)| Some((at, m.list(list)?)));
        known.flat_map(move |(member, listing)| {
            (0..listing.len() as u32).map(move |entry| match self.alias(list, member, entry) {
                Some(alias) => alias.into(),
                None => listing.public(entry),
            })
        })
    }
}

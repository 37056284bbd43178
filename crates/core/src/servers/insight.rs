//! Facts about a server that decide about sharing it.

use crate::record::{Record, SeenOffers};
use crate::settings::StatePolicy;

/// What is known of a server that decides about sharing it.
#[derive(Debug, Default)]
pub(crate) struct Insight {
    /// What it offers to clients that can do this: a digest of its welcome and of each list that was seen.
    pub(crate) offers: SeenOffers,
    /// It has asked a client for something.
    pub(crate) asks: bool,
    /// A list of it comes in pages, so that no answer is a whole one.
    pub(crate) comes_in_pages: bool,
    /// Told from the names of its tools.
    pub(crate) state: Option<StatePolicy>,
}

impl Insight {
    /// With what earlier runs have learnt.
    pub(crate) fn of(record: &Record) -> Self {
        let state = record.keeps_state.then_some(StatePolicy::Client);
        let offers = record.offers.clone();
        Self { asks: record.asks_questions || record.asks_roots, state, offers, ..Self::default() }
    }
}

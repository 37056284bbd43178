//! Facts about a server that decide whether clients may share its backends.

use crate::catalogue::next_cursor;
use crate::clients::Profile;
use crate::record::{Record, SeenOffers};
use crate::settings::StatePolicy;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Kinds of clients that are told apart.
const MAX_PROFILES: usize = 64;

/// Kinds of clients that are stored, if their description has at most so many bytes.
const MAX_STORED_PROFILES: usize = 16;

const MAX_STORED_PROFILE_BYTES: usize = 1024;

const INITIALIZE: &str = "initialize";

const TOOLS: &str = "tools/list";

const RESOURCES: &str = "resources/list";

/// Facts that decide about sharing.
#[derive(Debug, Default)]
pub(crate) struct Insight {
    /// By what the client can do: digests of the welcome and of each list that was seen.
    offers: SeenOffers,
    asks_clients: bool,
    /// A list comes in pages, so that no single answer is the whole of it.
    comes_in_pages: bool,
    /// The state that the names of the tools point to.
    state: Option<StatePolicy>,
}

impl Insight {
    /// The facts that earlier runs have learnt.
    pub(crate) fn of(record: &Record) -> Self {
        let state = record.keeps_state.then_some(StatePolicy::Client);
        let offers = record.offers.clone();
        Self { asks_clients: record.asks_questions || record.asks_roots, state, offers, ..Self::default() }
    }

    pub(crate) fn state(&self) -> Option<StatePolicy> {
        self.state
    }

    pub(crate) fn set_state(&mut self, state: StatePolicy) {
        self.state = Some(state);
    }

    /// The server has asked a client for something.
    pub(crate) fn record_question(&mut self) {
        self.asks_clients = true;
    }

    /// Records an answer to `initialize` or to a list. Returns whether it differs from the last one of its kind.
    pub(crate) fn record_answer(&mut self, profile: Profile, method: &str, result: &[u8]) -> bool {
        let mut hasher = DefaultHasher::new();
        result.hash(&mut hasher);
        self.comes_in_pages |= next_cursor(result).is_some();
        if self.offers.len() >= MAX_PROFILES && !self.offers.contains_key(&profile) {
            return false;
        }
        let seen = self.offers.entry(profile).or_default();
        seen.insert(method.to_owned(), hasher.finish()) != Some(hasher.finish())
    }

    /// Whether the server was seen to make no difference between two kinds of clients.
    pub(crate) fn makes_no_difference(&self, one: &Profile, other: &Profile) -> bool {
        if self.asks_clients || self.comes_in_pages {
            return false;
        }
        let (Some(one), Some(other)) = (self.offers.get(one), self.offers.get(other)) else {
            return false;
        };
        // Of each other list it may be that nobody has asked for it.
        let are_equal = |(list, digest): (&String, &u64)| other.get(list).is_none_or(|same| same == digest);
        let both_know = |list: &str| one.contains_key(list) && other.contains_key(list);
        both_know(INITIALIZE) && both_know(TOOLS) && one.iter().all(are_equal)
    }

    /// Whether both kinds of clients were offered exactly the same, as far as anybody has asked.
    pub(crate) fn offers_same(&self, one: &Profile, other: &Profile) -> bool {
        let seen = |profile| self.offers.get(profile);
        seen(one).is_some_and(|offers| seen(other) == Some(offers))
    }

    /// The digests worth storing, so that clients of different programs share from the start next time. Resources change
    /// too often to tell anything.
    pub(crate) fn lasting_offers(&self) -> SeenOffers {
        let is_lasting = |list: &str| list != RESOURCES;
        let is_known =
            |seen: &BTreeMap<String, u64>| seen.contains_key(INITIALIZE) && seen.contains_key(TOOLS);
        let is_short = |profile: &Profile| profile.len() <= MAX_STORED_PROFILE_BYTES;
        let known = self.offers.iter().filter(|(profile, seen)| is_short(profile) && is_known(seen));
        let lasting = known.map(|(profile, seen)| {
            let lasting = seen.iter().filter(|(list, _)| is_lasting(list));
            (profile.clone(), lasting.map(|(list, digest)| (list.clone(), *digest)).collect())
        });
        lasting.take(MAX_STORED_PROFILES).collect()
    }
}

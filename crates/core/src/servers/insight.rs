//! Facts about a server that decide whether clients may share its backends. Must not know the backends.

use crate::catalogue::{CacheScope, next_cursor};
use crate::clients::Profile;
use crate::record::SeenOffers;
use crate::settings::{ServerSettings, StatePolicy};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Limit on kinds of clients that are distinguished.
const MAX_PROFILES: usize = 64;

/// Limit on kinds of clients that are stored, each with a limited description.
const MAX_STORED_PROFILES: usize = 16;

const MAX_STORED_PROFILE_BYTES: usize = 1024;

const INITIALIZE: &str = "initialize";

const TOOLS: &str = "tools/list";

const RESOURCES: &str = "resources/list";

/// Facts that decide about sharing.
#[derive(Debug, Default)]
pub(crate) struct Insight {
    /// Digests of the welcome and of each seen list, by client capabilities.
    offers: SeenOffers,
    asks_clients: bool,
    /// Whether it has asked a question in this run, other than those that are denied.
    has_asked: bool,
    /// Whether a list is paginated, so that no single answer is complete.
    comes_in_pages: bool,
    /// The state that the names of the tools indicate.
    state: Option<StatePolicy>,
    /// Who may be shown its lists, as it says in the modern era.
    list_scope: Option<CacheScope>,
}

impl Insight {
    /// The facts learnt in earlier runs.
    pub(crate) fn of(settings: &ServerSettings) -> Self {
        let record = &settings.record;
        let state = record.keeps_state.then_some(StatePolicy::Client);
        let offers = record.offers.clone();
        let asks_clients = settings.asks_questions(record) || settings.asks_roots(record);
        Self { asks_clients, state, offers, ..Self::default() }
    }

    pub(crate) fn state(&self) -> Option<StatePolicy> {
        self.state
    }

    pub(crate) fn set_state(&mut self, state: StatePolicy) {
        self.state = Some(state);
    }

    pub(crate) fn list_scope(&self) -> Option<CacheScope> {
        self.list_scope
    }

    /// Records who may be shown one of its lists. Private stays: another list may still be. Returns whether the lists have
    /// been public so far, and are not any longer.
    pub(crate) fn record_list_scope(&mut self, scope: CacheScope) -> bool {
        let known = self.list_scope;
        if known != Some(CacheScope::Private) {
            self.list_scope = Some(scope);
        }
        (known, scope) == (Some(CacheScope::Public), CacheScope::Private)
    }

    /// Records that the server has sent a request to a client.
    pub(crate) fn record_asking(&mut self) {
        self.asks_clients = true;
    }

    /// Records a request that only the client itself can answer.
    pub(crate) fn record_question(&mut self) {
        self.record_asking();
        self.has_asked = true;
    }

    pub(crate) fn has_asked(&self) -> bool {
        self.has_asked
    }

    /// Records an answer to `initialize` or to a list. Returns whether it differs from the last one of its kind.
    pub(crate) fn record_answer(&mut self, profile: Profile, method: &str, result: &[u8]) -> bool {
        let mut hasher = DefaultHasher::new();
        result.hash(&mut hasher);
        self.comes_in_pages |= next_cursor(result).is_some();
        // Clients can declare anything, so the table is bounded.
        if self.offers.len() >= MAX_PROFILES && !self.offers.contains_key(&profile) {
            return false;
        }
        let seen = self.offers.entry(profile).or_default();
        seen.insert(method.to_owned(), hasher.finish()) != Some(hasher.finish())
    }

    /// Whether the server is known to treat two kinds of clients alike.
    pub(crate) fn makes_no_difference(&self, one: &Profile, other: &Profile) -> bool {
        // Digests cover neither questions nor further pages.
        if self.asks_clients || self.comes_in_pages {
            return false;
        }
        let (Some(one), Some(other)) = (self.offers.get(one), self.offers.get(other)) else {
            return false;
        };
        // Other lists may not have been requested yet.
        let are_equal = |(list, digest): (&String, &u64)| other.get(list).is_none_or(|same| same == digest);
        let both_know = |list: &str| one.contains_key(list) && other.contains_key(list);
        both_know(INITIALIZE) && both_know(TOOLS) && one.iter().all(are_equal)
    }

    /// Whether both kinds of clients got exactly the same offers, as far as requested.
    pub(crate) fn offers_same(&self, one: &Profile, other: &Profile) -> bool {
        let seen = |profile| self.offers.get(profile);
        seen(one).is_some_and(|offers| seen(other) == Some(offers))
    }

    /// The digests worth storing, so that clients of different programs share from the start next time.
    /// Resources change too often to be conclusive.
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

//! The state shared by all backends of a server. Must not know backends or clients, only facts about them.

use crate::access::ServerLimits;
use crate::backends::{BackendKey, FramingGuess, Tasks};
use crate::catalogue::{CacheScope, List, Naming, Offer, OfferKey, Offers, StoredOffer};
use crate::clients::Profile;
use crate::moment::Moment;
use crate::record::{FramingChoice, Record, SeenOffers};
use crate::servers::{
    BackendIdentity, Crowding, Evictions, Failure, Insight, LastStart, Limit, PinnedTools, Retry, StateHint,
    state_hint_of_list,
};
use crate::settings::{Capabilities, EraChoice, Scope, ScopeReason, ServerSettings, StatePolicy};
use std::sync::Arc;
use switchboard_protocol::{Era, Framing, Message};

/// What is known of the era of a server, and for how long.
#[derive(Debug, Clone, Copy)]
enum EraVerdict {
    Unknown,
    Seen {
        era: Era,
        /// It has refused the other era.
        is_only: bool,
        until: Moment,
    },
    /// It refused the other era, or ended on the question, but has not yet answered `initialize`.
    SupposedLegacy {
        until: Moment,
    },
}

impl EraVerdict {
    fn at(self, now: Moment) -> Option<Era> {
        match self {
            Self::Seen { era, until, .. } if until > now => Some(era),
            Self::SupposedLegacy { until } if until > now => Some(Era::Legacy),
            Self::Unknown | Self::Seen { .. } | Self::SupposedLegacy { .. } => None,
        }
    }
}

/// One entry of the config, with everything learnt from its backends.
#[derive(Debug)]
pub(crate) struct Server {
    settings: Arc<ServerSettings>,
    framing: FramingGuess,
    insight: Insight,
    /// The last answer to a handshake, from any backend.
    welcome: Option<Message>,
    /// The lists, as of the last time a backend was asked.
    offers: Offers,
    /// Approved definitions of its tools.
    tools: PinnedTools,
    /// The facts learnt from starts, as stored.
    record: Record,
    era: EraVerdict,
    /// Whether the last process ended on the handshake.
    may_be_modern: bool,
    /// Tasks of a remote server, which all connections to it can reach.
    remote_tasks: Tasks,
    /// The next attempt, while the lists cannot be fetched.
    retry: Option<Retry>,
    /// Whether clients have been told that the server is missing.
    is_told_missing: bool,
    last_start: LastStart,
    /// The last failure, if the server has not worked since.
    failure: Option<Failure>,
    evictions: Evictions,
    /// Kept beside the settings: a change concerns no backend.
    call_limits: Option<Arc<ServerLimits>>,
    /// Stopped by the owner.
    is_held: bool,
    /// Removed from the config.
    is_removed: bool,
}

/// Reason why no backend of a server may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bar {
    Removed,
    Held,
}

impl Server {
    pub(crate) fn new(settings: ServerSettings, now: Moment) -> Self {
        Self {
            framing: FramingGuess::of(settings.framing),
            offers: Offers::stored(&settings.offers),
            tools: PinnedTools::new(settings.pinning, settings.pins.clone()),
            retry: Retry::planned(&settings.record, now),
            insight: Insight::of(&settings),
            era: settings.record.era.map_or(EraVerdict::Unknown, |seen| EraVerdict::Seen {
                era: seen.era,
                is_only: seen.is_only,
                until: now + seen.good_for,
            }),
            may_be_modern: false,
            remote_tasks: Tasks::default(),
            record: settings.record.clone(),
            call_limits: settings.call_limits.clone(),
            settings: Arc::new(settings),
            welcome: None,
            is_told_missing: false,
            last_start: LastStart::Untried,
            failure: None,
            evictions: Evictions::default(),
            is_held: false,
            is_removed: false,
        }
    }

    /// Applies changed settings and discards everything learnt before; only a stop by the owner stays.
    pub(crate) fn renew(&mut self, settings: ServerSettings, now: Moment) {
        *self = Self { is_held: self.is_held, ..Self::new(settings, now) };
    }

    /// Applies another naming. Returns the previous one.
    pub(crate) fn rename(&mut self, naming: &Arc<Naming>) -> Arc<Naming> {
        let before = self.settings.naming.clone();
        self.settings = Arc::new(ServerSettings { naming: naming.clone(), ..(*self.settings).clone() });
        for stored in self.offers.values_mut() {
            if let Some(offer) = stored.offer() {
                *stored = Arc::new(offer.under(naming)).into();
            }
        }
        before
    }

    /// Limits on calls to it.
    pub(crate) fn call_limits(&self) -> Option<&ServerLimits> {
        self.call_limits.as_deref()
    }

    pub(crate) fn set_call_limits(&mut self, limits: Option<Arc<ServerLimits>>) {
        self.call_limits = limits;
    }

    pub(crate) fn tools(&self) -> &PinnedTools {
        &self.tools
    }

    pub(crate) fn tools_mut(&mut self) -> &mut PinnedTools {
        &mut self.tools
    }

    pub(crate) fn forget_pins(&mut self) {
        self.tools.forget();
    }

    /// Marks the server as removed from the config.
    pub(crate) fn remove(&mut self) {
        (self.is_removed, self.is_held) = (true, false);
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.is_removed
    }

    /// Holds the server for its owner: nothing is started until it is released.
    pub(crate) fn hold(&mut self) {
        self.is_held = true;
    }

    /// Releases the server; returns whether it was held.
    pub(crate) fn release(&mut self) -> bool {
        std::mem::take(&mut self.is_held)
    }

    pub(crate) fn is_held(&self) -> bool {
        self.is_held
    }

    pub(crate) fn bar(&self) -> Option<Bar> {
        match (self.is_removed, self.is_held) {
            (true, _) => Some(Bar::Removed),
            (false, true) => Some(Bar::Held),
            (false, false) => None,
        }
    }

    pub(crate) fn settings(&self) -> &Arc<ServerSettings> {
        &self.settings
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    /// The era in which it is spoken to, if that is known.
    pub(crate) fn era(&self, now: Moment) -> Option<Era> {
        match self.settings.era {
            EraChoice::Fixed(era) => Some(era),
            EraChoice::Auto => self.era.at(now),
        }
    }

    /// Records the era that it was seen to speak.
    pub(crate) fn set_era(&mut self, era: Era, is_only: bool, until: Moment) {
        self.era = EraVerdict::Seen { era, is_only, until };
    }

    pub(crate) fn forget_era(&mut self) {
        self.era = EraVerdict::Unknown;
    }

    /// Whether it speaks the modern era and has refused the handshake, and the verdict still holds.
    pub(crate) fn is_modern_only(&self, now: Moment) -> bool {
        matches!(self.era, EraVerdict::Seen { era: Era::Modern, is_only: true, until } if until > now)
    }

    /// Records that a process has ended on the handshake. Servers that speak only the modern era may do so.
    pub(crate) fn suspect_modern(&mut self) {
        self.may_be_modern = true;
    }

    /// Whether the next process is to be asked for the modern era first. Returns true once for each such end.
    pub(crate) fn take_suspicion(&mut self) -> bool {
        std::mem::take(&mut self.may_be_modern)
    }

    /// Whether it was seen to speak this era, and the verdict still holds.
    pub(crate) fn is_seen(&self, era: Era, now: Moment) -> bool {
        !self.is_supposed_legacy() && self.era(now) == Some(era)
    }

    /// Lets it count as legacy for a while, although that is not certain.
    pub(crate) fn suppose_legacy(&mut self, until: Moment) {
        self.era = EraVerdict::SupposedLegacy { until };
    }

    pub(crate) fn is_supposed_legacy(&self) -> bool {
        matches!(self.era, EraVerdict::SupposedLegacy { .. })
    }

    /// Tasks of a remote server.
    pub(crate) fn remote_tasks(&self) -> &Tasks {
        &self.remote_tasks
    }

    pub(crate) fn remote_tasks_mut(&mut self) -> &mut Tasks {
        &mut self.remote_tasks
    }

    /// The framing that a new backend starts with.
    pub(crate) fn framing(&self) -> FramingGuess {
        self.framing
    }

    /// Records that a backend has answered in this framing.
    pub(crate) fn learn_framing(&mut self, framing: Framing) {
        self.framing = FramingGuess::Known(framing);
    }

    pub(crate) fn welcome(&self) -> Option<&Message> {
        self.welcome.as_ref()
    }

    pub(crate) fn set_welcome(&mut self, answer: Message) {
        self.welcome = Some(answer);
    }

    pub(crate) fn offers(&self) -> &Offers {
        &self.offers
    }

    /// The number of tools visible to the kind of client that sees most.
    pub(crate) fn tool_count(&self) -> Option<usize> {
        let listings = self.offers.values().filter_map(|stored| stored.offer()?.list(List::Tools));
        listings.map(|listing| listing.len()).max()
    }

    /// Stores an offer. Returns the stored one instead, if it is equal.
    pub(crate) fn store_offer(&mut self, key: OfferKey, offer: &Arc<Offer>) -> Option<Arc<Offer>> {
        match self.offers.get(&key).and_then(StoredOffer::offer) {
            Some(known) if known.same_as(offer) => Some(known.clone()),
            Some(_) | None => {
                self.offers.insert(key, offer.clone().into());
                None
            }
        }
    }

    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    /// Changes the record. Returns it for storing if it differs.
    pub(crate) fn learn(&mut self, change: impl FnOnce(&mut Record)) -> Option<Record> {
        let mut record = self.record.clone();
        change(&mut record);
        let is_changed = record != self.record;
        is_changed.then(|| {
            self.record = record.clone();
            record
        })
    }

    /// Forgets everything learnt, except for the record, which is stored elsewhere as well.
    pub(crate) fn forget_learnt(&mut self) {
        // A framing fixed in the config is not learnt.
        if self.record.framing != FramingChoice::Try {
            let settings = ServerSettings { framing: FramingChoice::Try, ..(*self.settings).clone() };
            self.framing = FramingGuess::of(settings.framing);
            self.settings = Arc::new(settings);
        }
        self.insight = Insight::default();
        self.era = EraVerdict::Unknown;
        self.offers = Offers::default();
        self.forget_retry();
        self.failure = None;
    }

    pub(crate) fn retry(&self) -> Option<Retry> {
        self.retry
    }

    /// Sets the plan; returns whether it differs from the previous one.
    pub(crate) fn set_retry(&mut self, retry: Retry) -> bool {
        self.retry.replace(retry) != Some(retry)
    }

    /// Clears the retry, since the server has answered.
    pub(crate) fn forget_retry(&mut self) {
        self.retry = None;
        self.is_told_missing = false;
    }

    /// Records that clients are told about the missing server. Returns whether they had been told before.
    pub(crate) fn announce_missing(&mut self) -> bool {
        std::mem::replace(&mut self.is_told_missing, true)
    }

    pub(crate) fn last_start(&self) -> LastStart {
        self.last_start
    }

    pub(crate) fn record_start(&mut self, result: LastStart) {
        self.last_start = result;
        if result == LastStart::Well {
            self.failure = None;
        }
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    pub(crate) fn record_failure(&mut self, failure: Failure) {
        self.failure = Some(failure);
    }

    pub(crate) fn record_eviction(&mut self, now: Moment, backend: BackendIdentity, limit: Limit) {
        self.evictions.record(now, backend, limit);
    }

    /// Records a start. Returns a warning for the owner if backends of this server keep displacing each other.
    pub(crate) fn record_return(&mut self, now: Moment, backend: &BackendIdentity) -> Option<Crowding> {
        self.evictions.started(now, backend).then(|| self.crowding(now)).flatten()
    }

    pub(crate) fn crowding(&self, now: Moment) -> Option<Crowding> {
        self.evictions.crowding(now, &self.settings.name)
    }
}

/// Sharing: which clients may use the same backend.
impl Server {
    /// The state that a backend keeps between requests.
    pub(crate) fn state_policy(&self) -> StatePolicy {
        match self.settings.state {
            StatePolicy::Auto => self.insight.state().unwrap_or(StatePolicy::None),
            known @ (StatePolicy::None | StatePolicy::Client | StatePolicy::Backend) => known,
        }
    }

    /// Whether each client has its own backend.
    pub(crate) fn is_private(&self) -> bool {
        // Behind a relay, the other Switchboard separates the clients itself.
        let has_asked = self.insight.has_asked() && !self.settings.relays;
        let asks = self.settings.asks_questions(&self.record) || has_asked;
        asks || self.settings.scope == Scope::Client || self.state_policy() == StatePolicy::Client
    }

    /// The scope by which backends are separated.
    pub(crate) fn scope(&self) -> Scope {
        let learnt = self.settings.learnt_scope(&self.record, self.state_policy());
        learnt.map_or(self.settings.scope, |(scope, _)| scope)
    }

    pub(crate) fn scope_with_reason(&self) -> (Scope, ScopeReason) {
        self.settings.scope_with_reason(&self.record, self.state_policy())
    }

    /// Whether clients of different principals may share a backend of an era: it is global, keeps no state, and may show
    /// all of them the same lists.
    pub(crate) fn is_for_everybody(&self, era: Era) -> bool {
        let keeps_nothing = match self.settings.state {
            StatePolicy::None => true,
            // Only once judged: a server with unknown tools must not serve several principals.
            StatePolicy::Auto => self.insight.state() == Some(StatePolicy::None),
            StatePolicy::Client | StatePolicy::Backend => false,
        };
        let has_public_lists = match era {
            // Only once judged, as above.
            Era::Modern => self.insight.list_scope() == Some(CacheScope::Public),
            // A translator leaves out who may see the lists.
            Era::Legacy => self.settings.era != EraChoice::Fixed(Era::Modern),
        };
        self.scope() == Scope::Global && keeps_nothing && has_public_lists
    }

    /// Records who may be shown a list. Returns whether it was everybody before, and is not any longer.
    pub(crate) fn record_list_scope(&mut self, scope: CacheScope) -> bool {
        let turned_private = self.insight.record_list_scope(scope);
        if turned_private {
            self.offers.forget_public();
        }
        turned_private
    }

    /// Whether a client with one key may use a backend with the other: they differ only in client
    /// capabilities, and the server is known to treat these alike.
    pub(crate) fn is_alike(&self, there: &BackendKey, wanted: &BackendKey) -> bool {
        let (Some(one), Some(other)) = (&there.profile, &wanted.profile) else { return false };
        self.settings.capabilities == Capabilities::Auto
            && self.insight.makes_no_difference(one, other)
            && there.differs_only_in_profile(wanted)
    }

    pub(crate) fn offers_same(&self, one: &BackendKey, other: &BackendKey) -> bool {
        let (Some(one), Some(other)) = (&one.profile, &other.profile) else { return false };
        self.insight.offers_same(one, other)
    }

    /// Records an answer to `initialize` or to a list. Returns the offers to store, if it was new.
    pub(crate) fn record_answer(
        &mut self,
        profile: Profile,
        method: &str,
        result: &[u8],
    ) -> Option<SeenOffers> {
        let is_new = self.insight.record_answer(profile, method, result);
        is_new.then(|| self.insight.lasting_offers())
    }

    /// Records a request to a client that names no client.
    pub(crate) fn record_asking(&mut self) {
        self.insight.record_asking();
    }

    /// Records a request that only the client itself can answer.
    pub(crate) fn record_question(&mut self) {
        self.insight.record_question();
    }

    /// Examines the names of its tools. Returns the tool that first shows that client state is kept.
    pub(crate) fn learn_state(&mut self, tools: &[u8]) -> Option<String> {
        // State that was seen once stays: a later list may have other tools.
        if self.insight.state() == Some(StatePolicy::Client) {
            return None;
        }
        match state_hint_of_list(tools)? {
            StateHint::Keeps(tool) => {
                self.insight.set_state(StatePolicy::Client);
                Some(tool)
            }
            // Doubtful cases are left to `state` in the config.
            StateHint::Doubtful(_) | StateHint::Stateless => {
                self.insight.set_state(StatePolicy::None);
                None
            }
        }
    }
}

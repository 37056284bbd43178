//! Private lists of modern servers (`cacheScope`), which only one identity may see. Identities share a process only while
//! all lists of its server are public; otherwise each has its own process and stored lists. Must not know how lists are
//! fetched or merged.

use crate::backends::Backend;
use crate::catalogue::{CacheScope, Hints, List, Offer};
use crate::core::Core;
use crate::ids::{BackendId, Principal};
use crate::settings::EraChoice;
use switchboard_protocol::{Era, Message, Method, Part};

const PRIVATE_LISTS: &str = "its lists are private to each identity";

impl Core {
    /// The principal for which a backend works, if there is only one.
    pub(crate) fn acts_for(&self, b: &Backend) -> Option<Principal> {
        let owners = || self.clients.get(&b.owner()?).map(|c| c.principal());
        b.key().principal.or_else(owners)
    }

    /// Whether the offer of a backend may be shown to this principal.
    pub(crate) fn may_be_shown(&self, b: &Backend, principal: Principal) -> bool {
        let is_restricted = b.offer().is_some_and(|offer| is_restricted(b, offer));
        !is_restricted || self.acts_for(b) == Some(principal)
    }

    /// The principals that may see an offer: `Some(None)` means all, `None` means nobody.
    pub(crate) fn viewers_of(&self, b: &Backend, offer: &Offer) -> Option<Option<Principal>> {
        match is_restricted(b, offer) {
            true => self.acts_for(b).map(Some),
            false => Some(None),
        }
    }

    /// Learns the `cacheScope` of a list from a server's answer.
    pub(crate) fn learn_scope(&mut self, backend: BackendId, method: Method, answer: &Message) {
        let is_welcome = matches!(method, Method::Initialize | Method::Discover);
        if !(is_welcome || List::of(method).is_some()) || !self.is_modern(backend) {
            return;
        }
        let Some(result) = answer.part(Part::Result) else { return };
        let scope = Hints::of_result(result).freshness().scope;
        // A public discovery says nothing about the lists.
        if is_welcome && scope == CacheScope::Public {
            return;
        }
        let turned_private = self.origin(backend).is_some_and(|origin| origin.record_list_scope(scope));
        if turned_private {
            self.retire_shared(backend);
        }
    }

    /// Retires the processes that identities share, since the next list may be private.
    fn retire_shared(&mut self, backend: BackendId) {
        let Some(server) = self.backends.get(&backend).map(|b| b.server()) else { return };
        let own = self.backends.values().filter(|b| b.server() == server && self.acts_for(b).is_none());
        let shared = own.filter(|b| b.handshake().era() == Era::Modern).map(|b| b.id());
        for backend in shared.collect::<Vec<BackendId>>() {
            self.separate(backend, None, PRIVATE_LISTS);
        }
    }
}

/// Whether only the principal that requested an offer may see it.
fn is_restricted(b: &Backend, offer: &Offer) -> bool {
    match b.handshake().era() {
        Era::Modern => !offer.is_public(),
        // Legacy servers have no `cacheScope`, and translators remove that of modern ones.
        Era::Legacy => b.is_translated() || b.settings().era == EraChoice::Fixed(Era::Modern),
    }
}

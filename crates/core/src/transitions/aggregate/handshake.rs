//! The handshake of an aggregate client. We answer it ourselves: at once if all servers are known, otherwise
//! when the starting servers have answered, or the client's waiting time is over.

use crate::aggregate::{Aggregate, Delegate};
use crate::catalogue::{Member, Offer};
use crate::clients::{Client, declared_capabilities};
use crate::core::Core;
use crate::fact::Outcome;
use crate::ids::ClientId;
use crate::messages::own_result;
use crate::pending::{Asker, NOWHERE};
use crate::routing::NamedPath;
use std::sync::Arc;
use switchboard_protocol::{HANDSHAKE_VERSIONS, Message, Part, RawId};

impl Core {
    pub(super) fn aggregate_opens(
        &mut self,
        client: ClientId,
        id: RawId,
        batch: Option<u32>,
        initialize: Message,
        paths: Vec<NamedPath>,
    ) {
        self.refuse_opening(client);
        let minted = self.accept(client, NOWHERE, id, batch, initialize.clone());
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.declare(&initialize);
        c.set_first_roots(paths.into_iter().map(|path| path.path).collect());
        if let Some(aggregate) = self.aggregate_mut(client) {
            aggregate.open(minted);
        }
        self.open_for(client, &initialize);
        self.give_time(client, minted);
        self.aggregate_progress(client);
    }

    /// Creates a client's delegates, and sets the time that it waits for servers.
    pub(crate) fn open_for(&mut self, client: ClientId, initialize: &Message) {
        // A client that does not wait must not mark a server as slow.
        let grace = Some(self.grace_for(client, initialize)).filter(|grace| !grace.is_zero());
        let budget = grace.map(|grace| self.clock.now() + grace);
        if let Some(budget) = budget {
            self.clock.wake_at(budget);
        }
        if let Some(aggregate) = self.aggregate_mut(client) {
            aggregate.set_budget(budget);
        }
        self.make_delegates(client, initialize);
    }

    /// Answers `server/discover` for all servers of a client.
    pub(super) fn aggregate_discover(
        &mut self,
        client: ClientId,
        id: RawId,
        batch: Option<u32>,
        message: Message,
    ) {
        let members = self.members(client, |core, c| core.words_of(c).or_else(|| core.shown_offer(c.id())));
        let view = self.views.of(members);
        let unavailable = self.unavailable(client);
        let declared = message.part(Part::MetaCapabilities).unwrap_or_default();
        let declared = serde_json::from_slice(declared).unwrap_or_default();
        let result = view.discover(&unavailable, &declared);
        let minted = self.accept(client, NOWHERE, id, batch, message);
        self.conclude_with(minted, &result);
    }

    /// Refuses an earlier unanswered handshake when a client sends another.
    fn refuse_opening(&mut self, client: ClientId) {
        let before = self.aggregate_mut(client).and_then(Aggregate::take_opening);
        if let Some(pending) = before.and_then(|minted| self.close(minted)) {
            let error = self.greeted_again();
            self.fail(&pending, &error);
        }
    }

    /// Extends the deadline of a request that waits for servers.
    pub(super) fn give_time(&mut self, client: ClientId, minted: u64) {
        if let Some(latest) = self.aggregate(client).and_then(Aggregate::longest_wait)
            && let Some(pending) = self.pending.get_mut(minted)
        {
            // The deadline must come after our own answer.
            pending.go_on_until(latest + pending.deadline().since(self.clock.now()));
        }
    }

    /// Answers the handshake, unless a server is still awaited.
    pub(super) fn finish_opening(&mut self, client: ClientId) {
        let Some(aggregate) = self.aggregate(client) else { return };
        let is_awaited = |it: &Delegate| {
            let c = self.clients.get(&it.client());
            // A delegate without a home needs its roots first, which come only after the handshake: waiting
            // for it would deadlock.
            it.offer().is_awaited(self.clock.now())
                && c.is_some_and(|c| c.home().is_some() && self.words_of(c).is_none())
        };
        if aggregate.opening().is_none() || aggregate.delegates().any(|(_, it)| is_awaited(it)) {
            return;
        }
        let Some(minted) = self.aggregate_mut(client).and_then(Aggregate::take_opening) else {
            return;
        };
        let Some(pending) = self.close(minted) else { return };
        let (Some(initialize), Asker::Client { id, batch, .. }) =
            (pending.waiting().cloned(), pending.asker())
        else {
            return;
        };
        let members = self.members(client, |core, c| core.words_of(c).or_else(|| core.shown_offer(c.id())));
        let view = self.views.of(members);
        let unavailable = self.unavailable(client);
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.answer_handshake(&initialize);
        let result =
            view.welcome(version_for(&initialize), &unavailable, &declared_capabilities(&initialize));
        let answer = own_result(id, c.dialect(), &result);
        self.answer(client, id, *batch, answer);
        self.conclude(&pending, Outcome::Ok);
        // The client sent `initialized` without waiting for the answer.
        let early = self.clients.get(&client).and_then(|c| c.greeting()?.initialized().cloned());
        if let Some(early) = early {
            self.aggregate_initialized(client, &early);
        } else if self.aggregate(client).is_some_and(Aggregate::has_held) {
            // Held list requests need servers that have seen `initialized`.
            self.confirm_for(client);
        }
    }

    /// The `initialize` result of a delegate's server, if it has answered.
    pub(super) fn words_of(&self, c: &Client) -> Option<Arc<Offer>> {
        let live = || {
            let welcome = self.backends.get(&c.home()?)?.handshake().welcome()?;
            let result = welcome.bytes().slice(welcome.span(Part::Result).range());
            Some(Arc::new(Offer::new(result)))
        };
        self.offer_for(c.id()).or_else(live)
    }

    /// A client's servers, with the known offer of each as its rights allow.
    pub(super) fn members(
        &mut self,
        client: ClientId,
        known: impl Fn(&Self, &Client) -> Option<Arc<Offer>>,
    ) -> Vec<Member> {
        let Some(aggregate) = self.aggregate(client) else { return Vec::new() };
        let member = |delegate: &Delegate| {
            let c = self.clients.get(&delegate.client())?;
            let offer = known(self, c);
            Some(Member { server: c.server(), naming: c.naming().clone(), offer })
        };
        let mut members: Vec<Member> =
            aggregate.delegates().filter_map(|(_, delegate)| member(delegate)).collect();
        for Member { naming, offer, .. } in &mut members {
            *offer = offer.as_ref().map(|offer| self.narrowings.offer(naming, offer));
        }
        members
    }
}

/// The client's protocol version if it has a handshake, otherwise the newest that has one.
fn version_for(initialize: &Message) -> &'static str {
    #[derive(serde::Deserialize)]
    struct Params {
        #[serde(rename = "protocolVersion")]
        version: String,
    }
    let params = initialize.part(Part::Params).unwrap_or_default();
    let wanted = serde_json::from_slice::<Params>(params).map(|params| params.version).unwrap_or_default();
    // MCP: to an unknown version, a server answers with its latest.
    HANDSHAKE_VERSIONS.into_iter().find(|version| *version == wanted).unwrap_or(HANDSHAKE_VERSIONS[0])
}

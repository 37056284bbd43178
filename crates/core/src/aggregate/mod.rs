//! Aggregates: the state of a client that sees several servers as one. Such a client has a delegate at each
//! server, which the server's backends treat as a client like any other. This folder holds the client's own
//! side, shared by its delegates. Must not know the delegates' own state.
//!
//! # Layout
//! - `views`: merged views of servers, shared by all clients that see the same.
//! - `shown`: the views that a client has been shown.
//! - `delegate`: a client's delegate at one server, with the state of that server's offer.
//! - `aliases`: resources with other URIs for the client than for the server.

mod views;
mod shown;
mod delegate;
mod aliases;

pub(crate) use delegate::{Delegate, OfferState};
pub(crate) use views::Views;

use crate::catalogue::{List, View};
use crate::environment::Environment;
use crate::ids::{ClientId, ServerId};
use crate::moment::Moment;
use crate::pending::Unrouted;
use aliases::UriAliases;
use shown::ShownViews;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The part of a client that its delegates share.
#[derive(Debug, Default)]
pub(crate) struct Aggregate {
    /// The client's environment for each server.
    environments: BTreeMap<ServerId, Environment>,
    delegates: BTreeMap<ServerId, Delegate>,
    /// The client's unanswered handshake, which waits for servers to start.
    opening: Option<u64>,
    /// End of the client's waiting time for servers; `None` once it is over.
    budget: Option<Moment>,
    /// Requests that wait until the offers of all servers are known.
    held: Vec<Unrouted>,
    views: ShownViews,
    /// Time at which the client is notified of changed lists.
    renew_at: Option<Moment>,
    aliases: UriAliases,
    /// The client has announced a change of its roots.
    has_other_roots: bool,
}

impl Aggregate {
    pub(crate) fn new(environments: Vec<(ServerId, Environment)>) -> Self {
        Self { environments: environments.into_iter().collect(), ..Self::default() }
    }

    pub(crate) fn environment_at(&self, server: ServerId) -> Option<&Environment> {
        self.environments.get(&server)
    }

    pub(crate) fn set_environment_at(&mut self, server: ServerId, environment: Environment) {
        self.environments.insert(server, environment);
    }

    pub(crate) fn delegates(&self) -> impl Iterator<Item = (ServerId, &Delegate)> {
        self.delegates.iter().map(|(server, delegate)| (*server, delegate))
    }

    pub(crate) fn delegate_at(&self, server: ServerId) -> Option<&Delegate> {
        self.delegates.get(&server)
    }

    pub(crate) fn has_delegate_at(&self, server: ServerId) -> bool {
        self.delegates.contains_key(&server)
    }

    pub(crate) fn add_delegate(&mut self, server: ServerId, client: ClientId) {
        self.delegates.insert(server, Delegate::new(client));
    }

    pub(crate) fn remove_delegate(&mut self, server: ServerId) {
        self.delegates.remove(&server);
    }

    /// Records the state of a server's offer, unless the delegate there has been replaced.
    pub(crate) fn set_offer_state(&mut self, server: ServerId, delegate: ClientId, offer: OfferState) {
        if let Some(known) = self.delegates.get_mut(&server).filter(|known| known.client() == delegate) {
            known.set_offer(offer);
        }
    }

    /// The latest time until which the client waits for an offer.
    pub(crate) fn longest_wait(&self) -> Option<Moment> {
        self.delegates.values().filter_map(|delegate| delegate.offer().awaited_until()).max()
    }

    /// Records the client's handshake.
    pub(crate) fn open(&mut self, minted: u64) {
        self.opening = Some(minted);
    }

    /// Sets the client's waiting time for servers.
    pub(crate) fn set_budget(&mut self, budget: Option<Moment>) {
        self.budget = budget;
    }

    /// Forgets the delegates and everything shown: a new handshake starts from nothing.
    pub(crate) fn begin_anew(&mut self) {
        self.delegates.clear();
        self.views.forget_seen();
        self.aliases.clear();
    }

    /// The unanswered handshake.
    pub(crate) fn opening(&self) -> Option<u64> {
        self.opening
    }

    pub(crate) fn take_opening(&mut self) -> Option<u64> {
        self.opening.take()
    }

    pub(crate) fn budget(&self) -> Option<Moment> {
        self.budget
    }

    /// Ends the waiting time if it is over. Lists from other kinds of clients may then serve as a fallback.
    pub(crate) fn end_budget(&mut self, now: Moment) -> bool {
        let is_over = self.budget.is_some_and(|ends| ends <= now);
        if is_over {
            self.budget = None;
            self.views.outdate();
        }
        is_over
    }

    /// Holds a request until the offers of all servers are known.
    pub(crate) fn hold(&mut self, request: Unrouted) {
        self.held.push(request);
    }

    pub(crate) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    pub(crate) fn take_held(&mut self) -> Vec<Unrouted> {
        std::mem::take(&mut self.held)
    }

    /// The client's current view of its servers, if it has been built.
    pub(crate) fn view(&self) -> Option<&Arc<View>> {
        self.views.current()
    }

    /// The client's current view, or the last one if it must be rebuilt.
    pub(crate) fn latest_view(&self) -> Option<&Arc<View>> {
        self.views.latest()
    }

    pub(crate) fn set_view(&mut self, view: Arc<View>) {
        self.views.set_current(view);
    }

    /// The view in which the client last saw a list, if it differs from the current one.
    pub(crate) fn seen_before(&self, list: List, view: &Arc<View>) -> Option<&Arc<View>> {
        self.views.seen(list).filter(|seen| !Arc::ptr_eq(seen, view))
    }

    /// The view that a cursor belongs to, if it is still stored.
    pub(crate) fn earlier_view(&self, number: u64) -> Option<&Arc<View>> {
        self.views.earlier(number)
    }

    /// Records that the client was shown the first page of a list.
    pub(crate) fn show_list(&mut self, list: List, view: Arc<View>) {
        self.views.show(list, view);
    }

    /// Records that the client was notified of a changed list.
    pub(crate) fn tell_list(&mut self, list: List, view: Arc<View>) {
        self.views.tell(list, view);
    }

    /// Ends a renewal; returns the lists that differ from those that the client knows.
    pub(crate) fn renew(&mut self, view: &View) -> Vec<List> {
        self.renew_at = None;
        self.views.changed(view)
    }

    /// Schedules a notification after a change of the offers; an earlier one stays as planned.
    pub(crate) fn plan_renewal(&mut self, at: Moment) {
        self.views.outdate();
        self.renew_at.get_or_insert(at);
    }

    pub(crate) fn postpone_renewal(&mut self, at: Moment) {
        self.renew_at = Some(at);
    }

    pub(crate) fn is_renewal_due(&self, now: Moment) -> bool {
        self.renew_at.is_some_and(|at| at <= now)
    }

    /// Time of the next event that is due.
    pub(crate) fn next_deadline(&self, now: Moment) -> Option<Moment> {
        let waits = self.opening.is_some() || self.has_held();
        let awaited = self.delegates.values().filter_map(|delegate| delegate.offer().awaited_until());
        // A server's time limit matters only while something waits for it.
        let awaited = awaited.filter(|until| waits && *until > now);
        awaited.chain(self.renew_at).chain(self.budget).min()
    }

    /// Records a subscription to a resource under a URI of the client's own.
    pub(crate) fn add_alias(&mut self, delegate: ClientId, original: Vec<u8>, public: Vec<u8>) {
        self.aliases.add(delegate, original, public);
    }

    pub(crate) fn remove_alias(&mut self, delegate: ClientId, original: &[u8]) {
        self.aliases.remove(delegate, original);
    }

    /// The client's URI for a resource of one of its servers.
    pub(crate) fn alias(&self, delegate: ClientId, original: &[u8]) -> Option<&[u8]> {
        self.aliases.public(delegate, original)
    }

    pub(crate) fn alias_bytes(&self) -> usize {
        self.aliases.bytes()
    }

    pub(crate) fn note_other_roots(&mut self) {
        self.has_other_roots = true;
    }

    /// Returns once whether the client has announced a change of its roots.
    pub(crate) fn take_other_roots(&mut self) -> bool {
        std::mem::take(&mut self.has_other_roots)
    }
}

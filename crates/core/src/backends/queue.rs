//! Messages queued for a backend, and the number of requests it works on. That number is limited; further
//! requests wait, in order per client and fairly between identities and their clients. Must not know when a message
//! is sent.

use crate::ids::{ClientId, Principal};
use std::collections::{BTreeMap, VecDeque};
use switchboard_protocol::{Message, Method, Outgoing};

/// A message to send as soon as the backend accepts it, in order of arrival.
#[derive(Debug)]
pub(crate) enum Queued {
    Request(u64),
    Notification(Outgoing),
}

impl Queued {
    pub(crate) fn request(&self) -> Option<u64> {
        match self {
            Self::Request(minted) => Some(*minted),
            Self::Notification(_) => None,
        }
    }
}

/// The sender of a queued request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Party {
    pub(crate) identity: Principal,
    pub(crate) client: ClientId,
}

#[derive(Debug, Default)]
pub(crate) struct BackendQueue {
    waiting: VecDeque<Queued>,
    /// Requests in progress, of those that take a turn.
    at_work: usize,
    /// A daemon that is shutting down accepts nothing more: messages wait for the next one.
    is_turned_away: bool,
}

impl BackendQueue {
    /// Resets for a new process, which will get the queued messages.
    pub(super) fn begin_process(&mut self) {
        self.at_work = 0;
        self.is_turned_away = false;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Queued> {
        self.waiting.iter()
    }

    pub(crate) fn requests(&self) -> impl Iterator<Item = u64> {
        self.waiting.iter().filter_map(Queued::request)
    }

    pub(crate) fn push_notification(&mut self, out: Outgoing) {
        self.waiting.push_back(Queued::Notification(out));
    }

    /// Puts requests of an ended process before all others, in their order.
    pub(crate) fn push_front(&mut self, requests: Vec<u64>) {
        for minted in requests.into_iter().rev() {
            self.waiting.push_front(Queued::Request(minted));
        }
    }

    /// Puts a handshake, with its `initialized` if given, before all others.
    pub(crate) fn push_handshake(&mut self, initialize: u64, initialized: Option<Outgoing>) {
        // In reverse, because each goes to the front.
        if let Some(out) = initialized {
            self.waiting.push_front(Queued::Notification(out));
        }
        self.waiting.push_front(Queued::Request(initialize));
    }

    /// Puts a request in order of arrival. A handshake that waited for another client's arrived before requests that
    /// are queued already.
    pub(crate) fn push_by_arrival(&mut self, minted: u64) {
        // Minted ids only grow, so they give the order of arrival.
        let is_later = |queued: &Queued| queued.request().is_some_and(|id| id > minted);
        let at = self.waiting.iter().position(is_later).unwrap_or(self.waiting.len());
        self.waiting.insert(at, Queued::Request(minted));
    }

    /// Puts a request behind its client's own. Identities take turns first, then the clients of an identity: a
    /// request goes before those of parties that have more requests queued.
    pub(crate) fn push_fairly(
        &mut self,
        minted: u64,
        party: Party,
        party_of: impl Fn(&Queued) -> Option<Party>,
    ) {
        let parties: Vec<Option<Party>> = self.waiting.iter().map(party_of).collect();
        let is_own = |at: &usize| parties[*at].is_some_and(|other| other.identity == party.identity);
        let mut places: Vec<usize> = (0..parties.len()).filter(is_own).collect();
        let clients = places.iter().map(|at| parties[*at].map(|other| other.client));
        let rank = fair_place(clients, party.client);
        let identities = parties.iter().map(|other| other.map(|other| other.identity));
        let place = fair_place(identities, party.identity);
        self.waiting.insert(place, Queued::Request(minted));
        // The identity has one more place, behind its others. The requests behind the new one move on by one.
        places.push(place);
        for pair in places[rank..].windows(2).rev() {
            self.waiting.swap(pair[0], pair[1]);
        }
    }

    /// Queues a request that was refused by a daemon in shutdown for the next daemon, in order of arrival.
    pub(crate) fn turn_away(&mut self, minted: u64) {
        self.is_turned_away = true;
        self.push_by_arrival(minted);
    }

    pub(crate) fn is_turned_away(&self) -> bool {
        self.is_turned_away
    }

    /// Removes a request. Notifications are dropped when no request is left: alone they are of no use.
    pub(crate) fn remove(&mut self, minted: u64) {
        self.waiting.retain(|queued| queued.request() != Some(minted));
        if self.requests().next().is_none() {
            self.waiting.clear();
        }
    }

    /// Removes a client's own notification. Identified by its buffer, since the text is the same for all clients.
    pub(crate) fn remove_notification(&mut self, message: &Message) {
        self.waiting.retain(|queued| match queued {
            Queued::Notification(out) => out.original().as_ptr() != message.bytes().as_ptr(),
            Queued::Request(_) => true,
        });
    }

    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    pub(crate) fn take_all(&mut self) -> VecDeque<Queued> {
        std::mem::take(&mut self.waiting)
    }

    /// Puts back the messages that could not be sent yet.
    pub(crate) fn put_back(&mut self, waiting: VecDeque<Queued>) {
        self.waiting = waiting;
    }

    pub(crate) fn at_work(&self) -> usize {
        self.at_work
    }

    pub(crate) fn begin_turn(&mut self) {
        self.at_work += 1;
    }

    /// Ends a turn; returns whether messages wait for it.
    pub(crate) fn end_turn(&mut self) -> bool {
        self.at_work = self.at_work.saturating_sub(1);
        !self.waiting.is_empty()
    }
}

/// The place for one more item of `key`: behind its own, and before those of keys that have more items in front.
fn fair_place<K: Ord + Copy>(queue: impl Iterator<Item = Option<K>> + Clone, key: K) -> usize {
    let own = queue.clone().filter(|item| *item == Some(key)).count();
    let last = queue.clone().enumerate().filter(|(_, item)| *item == Some(key)).last();
    let behind = last.map_or(0, |(at, _)| at + 1);
    let mut seen: BTreeMap<K, usize> = BTreeMap::new();
    let mut length = 0;
    for (at, item) in queue.enumerate() {
        length = at + 1;
        // Notifications belong to no client in this count, and keep their place.
        let Some(other) = item else { continue };
        let before = seen.entry(other).or_default();
        // Here another party already has more requests in front than ours has queued.
        if at >= behind && *before > own {
            return at;
        }
        *before += 1;
    }
    length
}

/// Whether a method counts towards the limit. Pings, handshakes and waiting for a task's end or for news occupy no capacity.
pub(crate) fn takes_turn(method: Method) -> bool {
    !matches!(method, Method::Ping | Method::Initialize | Method::TaskResult | Method::Listen)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queues requests of parties written as identity and client, such as `a1`; returns the order.
    fn order(requests: &str) -> String {
        let parties: Vec<&str> = requests.split(' ').collect();
        let party = |at: usize| {
            let [identity, client] = parties[at].as_bytes() else {
                panic!("two characters: {}", parties[at])
            };
            // Each identity has clients of its own.
            let client = ClientId(u32::from(*identity) * 256 + u32::from(*client));
            Party { identity: Principal(u32::from(*identity)), client }
        };
        let mut queue = BackendQueue::default();
        for at in 0..parties.len() {
            queue.push_fairly(at as u64, party(at), |queued| queued.request().map(|it| party(it as usize)));
        }
        let ids: Vec<u64> = queue.requests().collect();
        for (place, id) in ids.iter().enumerate() {
            let is_sooner = |other: &&u64| *other < id && parties[**other as usize] == parties[*id as usize];
            assert!(!ids[place..].iter().any(|other| is_sooner(&other)), "{ids:?}: out of order");
        }
        ids.iter().map(|id| parties[*id as usize]).collect::<Vec<&str>>().join(" ")
    }

    #[test]
    fn clients_take_turns() {
        assert_eq!(order("a1 a1 a1 a2 a2"), "a1 a2 a1 a2 a1");
        assert_eq!(order("a1 a2 a3"), "a1 a2 a3");
    }

    #[test]
    fn identities_take_turns_first() {
        assert_eq!(order("a1 a2 a3 a4 b1"), "a1 b1 a2 a3 a4");
        assert_eq!(order("a1 a2 a3 a4 b1 b1 b1"), "a1 b1 a2 b1 a3 b1 a4");
        assert_eq!(order("a1 a1 a1 a2 b1 b2 c1"), "a1 b1 c1 a2 b2 a1 a1");
    }
}

//! One subscription for all clients of a process: to the list changes that the server announces, and to the resources that
//! clients subscribe to. When these change, a new subscription replaces the old one once the server has acknowledged the
//! new one. Resources that the server leaves out of its acknowledgement are refused. Must not know how a subscription is
//! sent.

use super::json;
use crate::messages::same_spelling;
use crate::moment::Moment;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::time::Duration;
use switchboard_protocol::{Message, Part};

/// Delay before a subscription that the server has ended is reopened. It doubles until a notification arrives.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_DOUBLINGS: u32 = 6;

#[derive(Debug, Default)]
pub(super) struct Listens {
    lists: Lists,
    /// Subscribed URIs as normalised JSON strings, without those of queued requests.
    uris: BTreeSet<String>,
    /// The acknowledged subscription.
    current: Option<Current>,
    /// The subscription that is to replace it, and the requests that it is for.
    next: Option<Next>,
    /// Requests for the subscription after `next`.
    queued: Vec<Wish>,
    /// Time to reopen the subscription.
    again: Option<Moment>,
    /// Number of ends since the last notification.
    ends: u32,
}

#[derive(Debug)]
struct Current {
    number: u64,
    filter: Filter,
}

#[derive(Debug)]
struct Next {
    number: u64,
    filter: Filter,
    wishes: Vec<Wish>,
    /// Resources that only this subscription includes.
    added: Vec<String>,
}

/// A client's `resources/subscribe`.
#[derive(Debug)]
struct Wish {
    minted: u64,
    /// `None` after an unsubscription.
    uri: Option<String>,
}

/// Content of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Filter {
    lists: Lists,
    /// Normalised JSON strings.
    uris: BTreeSet<String>,
}

/// Lists whose changes the server announces.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Lists {
    tools: bool,
    prompts: bool,
    resources: bool,
}

/// Consequences of a change of subscriptions.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// Requests to be answered.
    pub(super) answered: Vec<u64>,
    /// Requests to be refused.
    pub(super) refused: Vec<u64>,
    /// Subscriptions to be cancelled.
    pub(super) over: Vec<u64>,
    /// Whether another subscription is to be opened.
    pub(super) opens: bool,
}

#[derive(Deserialize)]
struct Welcome {
    capabilities: Capabilities,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Capabilities {
    tools: Announced,
    prompts: Announced,
    resources: Announced,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Announced {
    list_changed: bool,
}

impl Listens {
    /// Learns from the welcome of a server which changes it announces. Returns whether there are any.
    pub(super) fn learn(&mut self, welcome: &Message) -> bool {
        let found =
            json::read::<Welcome>(welcome, Part::Result).map(|it| it.capabilities).unwrap_or_default();
        self.lists = Lists {
            tools: found.tools.list_changed,
            prompts: found.prompts.list_changed,
            resources: found.resources.list_changed,
        };
        self.lists.tools || self.lists.prompts || self.lists.resources
    }

    /// Adds a resource; `minted` is answered when the server has acknowledged it. Returns whether a subscription is to be
    /// opened now.
    pub(super) fn subscribe(&mut self, minted: u64, uri: Option<&[u8]>) -> bool {
        self.queued.push(Wish { minted, uri: uri.map(text) });
        self.next.is_none()
    }

    /// Removes a resource. Returns whether a subscription is to be opened now.
    pub(super) fn unsubscribe(&mut self, uri: Option<&[u8]>) -> bool {
        let Some(uri) = uri.map(text) else { return false };
        for wish in self.queued.iter_mut().filter(|wish| wish.uri.as_ref() == Some(&uri)) {
            wish.uri = None;
        }
        self.uris.remove(&uri) && self.next.is_none()
    }

    /// Begins a new subscription under this id. Returns its filter, or the consequences if there is nothing to subscribe
    /// to.
    pub(super) fn begin(&mut self, number: u64) -> Result<String, Change> {
        self.again = None;
        let wishes = std::mem::take(&mut self.queued);
        let wanted = wishes.iter().filter_map(|wish| wish.uri.clone());
        let added = wanted.filter(|uri| self.uris.insert(uri.clone())).collect();
        let filter = self.filter();
        if filter.is_empty() {
            let answered = wishes.into_iter().map(|wish| wish.minted).collect();
            let over = self.current.take().map(|current| current.number).into_iter().collect();
            return Err(Change { answered, over, ..Change::default() });
        }
        let text = filter.text();
        self.next = Some(Next { number, filter, wishes, added });
        Ok(text)
    }

    /// The filter for all current subscriptions.
    fn filter(&self) -> Filter {
        Filter { lists: self.lists, uris: self.uris.clone() }
    }

    /// Records a notification on this subscription. Returns false if another has replaced it.
    pub(super) fn hears(&mut self, number: u64) -> bool {
        let is_heard = self.is_current(number) || self.is_next(number);
        if is_heard {
            self.ends = 0;
        }
        is_heard
    }

    fn is_current(&self, number: u64) -> bool {
        self.current.as_ref().is_some_and(|current| current.number == number)
    }

    fn is_next(&self, number: u64) -> bool {
        self.next.as_ref().is_some_and(|next| next.number == number)
    }

    /// Handles an acknowledgement, with the resources in it (normalised JSON strings); `None` stands for all.
    pub(super) fn acknowledged(&mut self, number: u64, agreed: Option<&BTreeSet<String>>) -> Change {
        let Some(mut next) = self.next.take_if(|next| next.number == number) else {
            return Change::default();
        };
        let is_declined = |uri: &String| agreed.is_some_and(|agreed| !agreed.contains(uri));
        let (refused, answered): (Vec<Wish>, Vec<Wish>) =
            next.wishes.into_iter().partition(|wish| wish.uri.as_ref().is_some_and(is_declined));
        // Drop only resources that are new in this subscription. The server accepted the others before, for other clients;
        // the next subscription includes them again.
        for uri in next.added.iter().filter(|uri| is_declined(uri)) {
            self.uris.remove(uri);
            next.filter.uris.remove(uri);
        }
        // Clients may have unsubscribed meanwhile.
        let opens = !self.queued.is_empty() || self.filter() != next.filter;
        let before = match next.filter.is_empty() {
            true => self.current.take(),
            false => self.current.replace(Current { number, filter: next.filter.clone() }),
        };
        let nothing_left = next.filter.is_empty().then_some(number);
        let over = before.map(|before| before.number).into_iter().chain(nothing_left).collect();
        let minted = |wishes: Vec<Wish>| wishes.into_iter().map(|wish| wish.minted).collect();
        Change { answered: minted(answered), refused: minted(refused), over, opens }
    }

    /// Handles the end of a subscription and refuses the requests that it was for; `None` if the id is not that of a
    /// subscription.
    pub(super) fn ended(&mut self, number: u64, now: Moment) -> Option<Change> {
        if self.current.take_if(|current| current.number == number).is_some() {
            self.plan(now);
            return Some(Change::default());
        }
        let next = self.next.take_if(|next| next.number == number)?;
        for uri in &next.added {
            self.uris.remove(uri);
        }
        // A server that has never acknowledged a subscription does not support them.
        if self.ends > 0 && self.current.is_none() {
            self.plan(now);
        }
        // The current subscription includes too much if clients have unsubscribed meanwhile. A refused filter is not sent
        // again.
        let wanted = self.filter();
        let is_stale = self.current.as_ref().is_some_and(|current| current.filter != wanted);
        let opens = !self.queued.is_empty() || (is_stale && wanted != next.filter);
        let refused = next.wishes.into_iter().map(|wish| wish.minted).collect();
        Some(Change { refused, opens, ..Change::default() })
    }

    fn plan(&mut self, now: Moment) {
        self.again = Some(now + FIRST_PAUSE * 2_u32.pow(self.ends.min(MAX_DOUBLINGS)));
        self.ends += 1;
    }

    /// Time to reopen the subscription.
    pub(super) fn deadline(&self) -> Option<Moment> {
        self.again.filter(|_| self.next.is_none())
    }
}

impl Filter {
    fn is_empty(&self) -> bool {
        self.lists == Lists::default() && self.uris.is_empty()
    }

    fn text(&self) -> String {
        let lists = [
            ("toolsListChanged", self.lists.tools),
            ("promptsListChanged", self.lists.prompts),
            ("resourcesListChanged", self.lists.resources),
        ];
        let wanted = lists.into_iter().filter(|(_, is_wanted)| *is_wanted);
        let mut members: Vec<String> = wanted.map(|(name, _)| format!(r#""{name}":true"#)).collect();
        if !self.uris.is_empty() {
            let uris: Vec<&str> = self.uris.iter().map(String::as_str).collect();
            members.push(format!(r#""resourceSubscriptions":[{}]"#, uris.join(",")));
        }
        format!("{{{}}}", members.join(","))
    }
}

/// A URI as a normalised JSON string.
pub(super) fn text(uri: &[u8]) -> String {
    String::from_utf8_lossy(&same_spelling(uri)).into_owned()
}

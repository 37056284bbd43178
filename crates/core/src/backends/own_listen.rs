//! Our own subscription at a modern server, for the clients of several servers. When they need other notifications, a new
//! subscription replaces the old one once the server has acknowledged the new one, so that no change is missed. If the
//! server, or a proxy in front of it, ends the subscription, it is reopened after a delay. Must not know how a subscription
//! is sent.

use crate::catalogue::Wishes;
use crate::moment::Moment;
use std::collections::BTreeSet;
use std::time::Duration;

/// Delay before a subscription that the server has ended is reopened. Doubles up to 64 seconds.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_DOUBLINGS: u32 = 6;

/// Lifetime of an acknowledged subscription that resets the delay. A shorter previous delay is enough. Some proxies close
/// every stream after 30 or 60 seconds.
const STEADY: Duration = Duration::from_secs(10);

/// Limit on open subscriptions at one process. The oldest is dropped, which only happens if the server does not acknowledge
/// them.
const MAX_OPEN: usize = 4;

/// Our own subscription at a process.
#[derive(Debug, Default)]
pub(crate) struct OwnListen {
    /// Oldest first. Only the newest covers what clients need now.
    open: Vec<OpenListen>,
    /// Changes announced on the newest subscription while a replaced one is still open.
    told: BTreeSet<Vec<u8>>,
    /// Time to reopen the subscription.
    again: Option<Moment>,
    /// Number of ends since the last stable subscription.
    ends: u32,
    /// Whether changes may have been missed since a subscription was open.
    has_gap: bool,
    /// Whether the server does not support subscriptions.
    is_unknown: bool,
}

#[derive(Debug)]
struct OpenListen {
    minted: u64,
    wishes: Wishes,
    acknowledged: Option<Moment>,
    /// Time to close this subscription, once another has replaced it.
    closes: Option<Moment>,
}

/// Consequences of an acknowledgement.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ListenAcknowledged {
    /// Whether changes may have been missed before.
    pub(crate) has_gap: bool,
    /// Subscriptions to be closed now.
    pub(crate) over: Vec<u64>,
}

impl OwnListen {
    /// The notifications requested by the newest subscription.
    pub(crate) fn wishes(&self) -> Option<&Wishes> {
        self.open.iter().rfind(|listen| listen.closes.is_none()).map(|listen| &listen.wishes)
    }

    /// The wishes of one of the open subscriptions.
    pub(crate) fn wishes_of(&self, minted: u64) -> Option<&Wishes> {
        self.open.iter().find(|listen| listen.minted == minted).map(|listen| &listen.wishes)
    }

    /// Forgets subscriptions that have ended with their process.
    pub(crate) fn keep(&mut self, is_open: impl Fn(u64) -> bool) {
        self.open.retain(|listen| is_open(listen.minted));
    }

    /// Adds a subscription that is to replace the others. Returns a subscription to drop, if there are too many.
    pub(crate) fn begin(&mut self, minted: u64, wishes: Wishes) -> Option<u64> {
        self.again = None;
        self.open.push(OpenListen { minted, wishes, acknowledged: None, closes: None });
        (self.open.len() > MAX_OPEN).then(|| self.open.remove(0).minted)
    }

    /// Records that no client needs a subscription any more. Returns those to be closed.
    pub(crate) fn close_all(&mut self) -> Vec<u64> {
        (self.again, self.has_gap) = (None, true);
        self.told.clear();
        self.open.drain(..).map(|listen| listen.minted).collect()
    }

    /// Records that the server has acknowledged a subscription, which replaces all older ones. With `overlap`, the older
    /// ones stay open for this time, since their messages may arrive late.
    pub(crate) fn acknowledge(
        &mut self,
        minted: u64,
        now: Moment,
        overlap: Option<Duration>,
    ) -> ListenAcknowledged {
        let at = self.open.iter().position(|listen| listen.minted == minted);
        let Some(at) = at.filter(|at| self.open[*at].acknowledged.is_none()) else {
            return ListenAcknowledged::default();
        };
        self.open[at].acknowledged = Some(now);
        let over = match overlap {
            Some(overlap) => {
                let older = self.open[..at].iter_mut();
                older.for_each(|listen| listen.closes = listen.closes.or(Some(now + overlap)));
                Vec::new()
            }
            None => self.open.drain(..at).map(|listen| listen.minted).collect(),
        };
        ListenAcknowledged { has_gap: std::mem::take(&mut self.has_gap), over }
    }

    /// Records a change announced on a subscription. Returns false for a change that a replaced subscription announces
    /// again.
    pub(crate) fn hears(&mut self, minted: u64, change: &[u8]) -> bool {
        let by = self.open.iter().find(|listen| listen.minted == minted);
        if by.is_some_and(|listen| listen.closes.is_some()) {
            return !self.told.contains(change);
        }
        if self.open.iter().any(|listen| listen.closes.is_some()) {
            self.told.insert(change.to_vec());
        }
        true
    }

    /// Takes the replaced subscriptions whose time is over.
    pub(crate) fn take_replaced(&mut self, now: Moment) -> Vec<u64> {
        let is_over = |listen: &OpenListen| listen.closes.is_some_and(|closes| closes <= now);
        let over = self.open.iter().filter(|listen| is_over(listen)).map(|listen| listen.minted).collect();
        self.open.retain(|listen| !is_over(listen));
        self.forget_told();
        over
    }

    /// Records that the server has ended a subscription. Returns the time to reopen it.
    pub(crate) fn end(&mut self, minted: u64, now: Moment) -> Option<Moment> {
        let at = self.open.iter().position(|listen| listen.minted == minted)?;
        let over = self.open.remove(at);
        self.forget_told();
        if over.closes.is_some() {
            return None;
        }
        // The delay must keep growing for a server that ends each subscription right after its acknowledgement.
        let steady = self.last_pause().min(STEADY);
        if over.acknowledged.is_some_and(|since| now.since(since) >= steady) {
            self.ends = 0;
        }
        self.ends += 1;
        let is_heard = |listen: &&OpenListen| listen.acknowledged.is_some() && listen.closes.is_none();
        let heard = self.open.iter().find(is_heard);
        self.has_gap |= heard.is_none_or(|listen| !listen.wishes.has_lists_of(&over.wishes));
        if self.open[at..].is_empty() {
            self.again = Some(now + self.last_pause());
        }
        self.again
    }

    /// Records that the server has refused a subscription as an unknown method. Unless the server has acknowledged another,
    /// it does not support subscriptions. Returns the time to reopen it.
    pub(crate) fn refuse(&mut self, minted: u64, now: Moment) -> Option<Moment> {
        let is_known = |listen: &OpenListen| listen.minted != minted && listen.acknowledged.is_some();
        if self.open.iter().any(is_known) {
            return self.end(minted, now);
        }
        self.open.clear();
        (self.again, self.is_unknown) = (None, true);
        None
    }

    fn forget_told(&mut self) {
        if self.open.iter().all(|listen| listen.closes.is_none()) {
            self.told.clear();
        }
    }

    fn last_pause(&self) -> Duration {
        match self.ends {
            0 => Duration::ZERO,
            ends => FIRST_PAUSE * 2_u32.pow((ends - 1).min(MAX_DOUBLINGS)),
        }
    }

    /// Time of the next action.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        self.open.iter().filter_map(|listen| listen.closes).chain(self.again).min()
    }

    /// Whether the subscription is to be reopened now. Clears that time.
    pub(crate) fn take_due(&mut self, now: Moment) -> bool {
        self.again.take_if(|again| *again <= now).is_some()
    }

    pub(crate) fn is_unknown(&self) -> bool {
        self.is_unknown
    }

    /// Whether changes that the server announces do not reach us.
    pub(crate) fn is_deaf(&self) -> bool {
        self.is_unknown || self.has_gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wishes(uri: &str) -> Wishes {
        Wishes { tools_list_changed: true, resource_subscriptions: vec![uri.to_owned()], ..Wishes::default() }
    }

    fn at(seconds: u64) -> Moment {
        Moment::default() + Duration::from_secs(seconds)
    }

    /// A server that never acknowledges still gets new subscriptions, and has few of them open.
    #[test]
    fn open_listens_are_bounded() {
        let mut listen = OwnListen::default();
        let made_room: Vec<Option<u64>> = (1..=6).map(|minted| listen.begin(minted, wishes("x:a"))).collect();
        assert_eq!(made_room, [None, None, None, None, Some(1), Some(2)]);
        assert_eq!(listen.acknowledge(6, at(0), None).over, [3, 4, 5]);
    }

    #[test]
    fn replaced_listen_tells_nothing_twice() {
        let mut listen = OwnListen::default();
        listen.begin(1, wishes("x:a"));
        listen.acknowledge(1, at(0), None);
        listen.begin(2, wishes("x:b"));
        assert!(listen.hears(1, b"x:a"), "the other one is not acknowledged");
        let overlap = Some(Duration::from_secs(1));
        assert_eq!(listen.acknowledge(2, at(1), overlap), ListenAcknowledged::default());
        assert!(listen.hears(1, b"x:a"), "it may be from before");
        assert!(listen.hears(2, b"x:a") && listen.hears(2, b"x:a"));
        assert!(!listen.hears(1, b"x:a") && listen.hears(1, b"x:b"));
        assert_eq!((listen.deadline(), listen.take_replaced(at(1))), (Some(at(2)), Vec::new()));
        assert_eq!((listen.take_replaced(at(2)), listen.deadline()), (vec![1], None));
        assert!(listen.told.is_empty());
        // The end of a replaced subscription does not count.
        listen.begin(3, wishes("x:c"));
        listen.acknowledge(3, at(3), overlap);
        assert_eq!((listen.end(2, at(3)), listen.is_deaf()), (None, false));
    }

    /// The old subscription stays open.
    #[test]
    fn refused_listen_is_no_gap() {
        let mut listen = OwnListen::default();
        listen.begin(1, wishes("x:a"));
        listen.acknowledge(1, at(0), None);
        listen.begin(2, wishes("x:b"));
        assert_eq!((listen.end(2, at(0)), listen.is_deaf()), (Some(at(1)), false));
        assert_eq!(listen.wishes(), Some(&wishes("x:a")), "to be replaced when the time has come");
        listen.begin(3, wishes("x:b"));
        assert_eq!((listen.end(1, at(1)), listen.is_deaf()), (None, true), "the next one is on its way");
        assert!(listen.acknowledge(3, at(2), None).has_gap);
    }
}

//! Debouncing of notifications: the first is forwarded at once, and equal ones within its window are merged
//! into one at its end. Must not know how notifications are forwarded.

use crate::ids::{BackendId, ClientId};
use crate::moment::Moment;
use std::time::Duration;
use switchboard_protocol::Message;

/// Limit on notifications being merged; beyond it, they pass immediately.
const MAX_MERGED: usize = 1024;

/// Longest notification to merge; longer ones pass immediately.
const MAX_MERGED_BYTES: usize = 16 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeSource {
    Client(ClientId),
    Backend(BackendId),
}

/// Decision about a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeVerdict {
    /// Forward now. Equal ones are held until this time, if given.
    GoesOn { until: Option<Moment> },
    /// Forwarded later, merged with equal ones.
    Held,
}

/// Recently forwarded notifications.
#[derive(Debug, Default)]
pub(crate) struct Merging(Vec<Merge>);

#[derive(Debug)]
struct Merge {
    from: MergeSource,
    first: Message,
    window: Duration,
    until: Moment,
    /// The last equal one since.
    held: Option<Message>,
}

impl Merging {
    /// Decides whether a notification is forwarded now.
    pub(crate) fn admit(
        &mut self,
        from: MergeSource,
        message: &Message,
        window: Duration,
        now: Moment,
    ) -> MergeVerdict {
        let is_same = |merge: &&mut Merge| merge.from == from && merge.first.bytes() == message.bytes();
        if let Some(merge) = self.0.iter_mut().find(is_same) {
            merge.held = Some(message.clone());
            return MergeVerdict::Held;
        }
        if self.0.len() >= MAX_MERGED || message.bytes().len() > MAX_MERGED_BYTES {
            return MergeVerdict::GoesOn { until: None };
        }
        let until = now + window;
        self.0.push(Merge { from, first: message.clone(), window, until, held: None });
        MergeVerdict::GoesOn { until: Some(until) }
    }

    /// End of the next window.
    pub(crate) fn next_end(&self) -> Option<Moment> {
        self.0.iter().map(|merge| merge.until).min()
    }

    /// The notifications whose window is over. Each opens another window.
    pub(crate) fn take_due(&mut self, now: Moment) -> Vec<(MergeSource, Message)> {
        let mut due = Vec::new();
        self.0.retain_mut(|merge| {
            if merge.until > now {
                return true;
            }
            // A quiet window closes, and the next notification passes at once again.
            let Some(message) = merge.held.take() else { return false };
            due.push((merge.from, message));
            merge.until = now + merge.window;
            true
        });
        due
    }

    /// Drops notifications of an ended process: they say nothing about the next one.
    pub(crate) fn forget_backend(&mut self, backend: BackendId) {
        self.0.retain(|merge| merge.from != MergeSource::Backend(backend));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

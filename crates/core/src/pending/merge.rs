//! Notifications in quick succession: the first goes on at once, and equal ones that follow within its window become one at
//! the end of it.

use crate::ids::{BackendId, ClientId};
use crate::moment::Moment;
use std::time::Duration;
use switchboard_protocol::Message;

/// Notifications merged at a time. Beyond this number, they pass as they come.
const MAX_MERGED: usize = 1024;

/// Length of a notification that is merged. Longer ones pass as they come.
const MAX_MERGED_BYTES: usize = 16 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeSource {
    Client(ClientId),
    Backend(BackendId),
}

/// What becomes of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeVerdict {
    /// It goes on now. Equal ones are held until this moment, if there is one.
    GoesOn { until: Option<Moment> },
    /// It goes on later, with those like it.
    Held,
}

/// Notifications that went on a moment ago.
#[derive(Debug, Default)]
pub(crate) struct Merging(Vec<Merge>);

#[derive(Debug)]
struct Merge {
    from: MergeSource,
    first: Message,
    window: Duration,
    until: Moment,
    /// The last of those that came since.
    held: Option<Message>,
}

impl Merging {
    /// Decides whether a notification goes on now.
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

    /// The moment at which the next window ends.
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
            let Some(message) = merge.held.take() else { return false };
            due.push((merge.from, message));
            merge.until = now + merge.window;
            true
        });
        due
    }

    /// Drops what a backend's process has said: it is no longer true of the next one.
    pub(crate) fn forget_backend(&mut self, backend: BackendId) {
        self.0.retain(|merge| merge.from != MergeSource::Backend(backend));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

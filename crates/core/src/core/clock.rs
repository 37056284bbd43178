//! The time of the current event, and the time of the next deadline. Time comes with each event. Must not read a clock.

use crate::moment::Moment;

#[derive(Debug, Default)]
pub(crate) struct Clock {
    now: Moment,
    /// A lower bound of all deadlines: possibly too early, never too late. See `transitions::deadlines`.
    wake: Option<Moment>,
}

impl Clock {
    pub(crate) fn now(&self) -> Moment {
        self.now
    }

    /// Sets the time to that of an event. Time never goes backwards.
    pub(crate) fn advance(&mut self, now: Moment) {
        self.now = self.now.max(now);
    }

    pub(crate) fn wake(&self) -> Option<Moment> {
        self.wake
    }

    /// Records a new deadline.
    pub(crate) fn wake_at(&mut self, moment: Moment) {
        self.wake = Some(self.wake.map_or(moment, |wake| wake.min(moment)));
    }

    /// Replaces the lower bound with the exact next deadline.
    pub(crate) fn set_wake(&mut self, next: Option<Moment>) {
        self.wake = next;
    }
}

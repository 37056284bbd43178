//! Promises about the core that every scenario keeps, after every event.

use super::{Check, Scenario, World};

impl<S: Scenario> World<S> {
    /// Fails if a deadline is earlier than the next requested tick, or a backend works on too many requests.
    pub(super) fn check_wake(&self) -> Check {
        for (at_work, counted, most) in self.core.at_work() {
            if at_work != counted || at_work > most {
                return Err(format!(
                    "a backend works on {counted} requests, counts {at_work}, and may on {most}"
                ));
            }
        }
        // A deadline that an order restores may have passed: then a tick is due now.
        let (wake, deadline) = (self.core.wake(), self.core.next_deadline().map(|it| it.max(self.now)));
        match S::KEEPS_DEADLINES && deadline.is_some_and(|deadline| wake.is_none_or(|wake| wake > deadline)) {
            true => Err(format!("a tick is wanted at {wake:?}, but there is a deadline at {deadline:?}")),
            false => Ok(()),
        }
    }

    /// Fails if a permit belongs to no call.
    pub(super) fn check_permits(&self) -> Check {
        match self.core.permits() {
            (held, counted) if held == counted => Ok(()),
            (held, counted) => Err(format!("{held} permits are held, for {counted} calls")),
        }
    }
}

//! Requests that ended before their legacy server answered: cancelled, or timed out. The server's next question or log
//! message may still be about such a request. Must not know how calls are paused.

use crate::core::{Core, Followup};
use crate::ids::{BackendId, ClientId, Launch};

impl Core {
    /// Records that a request has ended without an answer from its server. `may_ask`: the server may ask a modern client
    /// about it.
    pub(crate) fn ended_unanswered(&mut self, minted: u64, backend: BackendId, may_ask: bool) {
        // A modern server asks in the answer to a request, so there is no doubt.
        if self.is_modern(backend) {
            return;
        }
        let Some(launch) = self.backends.get(&backend).and_then(|b| b.launch()) else { return };
        let backends = &self.backends;
        let is_current = |launch: Launch| backends.get(&launch.backend).is_some_and(|b| b.is_current(launch));
        self.ended_calls.keep_current(is_current);
        let until = self.ended_calls.insert(minted, launch, may_ask, self.clock.now());
        self.clock.wake_at(until);
    }

    /// Records the late answer to a request. No question about it can follow.
    pub(crate) fn ended_call_answered(&mut self, launch: Launch, minted: u64) {
        if self.ended_calls.answered(minted, launch) {
            self.followups.push(Followup::GiveTurn { backend: launch.backend });
        }
    }

    /// Whether the next question of a backend may be about a call that has ended.
    pub(super) fn may_ask_about_ended(&self, backend: BackendId) -> bool {
        let launch = self.backends.get(&backend).and_then(|b| b.launch());
        launch.is_some_and(|launch| self.ended_calls.may_ask_at(launch))
    }

    /// Whether a question may be about an ended call of another program. Programs without a session of their own are one
    /// client, so their calls are told apart by the process's answers only; and servers need not answer cancelled calls.
    pub(super) fn may_mean_another_program(&self, backend: BackendId, client: ClientId) -> bool {
        let launch = self.backends.get(&backend).and_then(|b| b.launch());
        self.has_no_session(client) && launch.is_some_and(|launch| self.ended_calls.is_overdue_at(launch))
    }

    /// Whether a backend may still be at work on a request that has ended.
    pub(super) fn may_work_on_ended(&self, backend: BackendId) -> bool {
        let launch = self.backends.get(&backend).and_then(|b| b.launch());
        launch.is_some_and(|launch| self.ended_calls.is_any_at(launch))
    }

    /// Releases calls that waited for an ended one.
    pub(crate) fn tick_ended(&mut self) {
        for backend in self.ended_calls.expire(self.clock.now()) {
            self.followups.push(Followup::GiveTurn { backend });
        }
    }
}

//! A backend's processes: start, readiness, stop, crash. Each state change also resets the parts of the
//! backend that belong to one process.

use super::Backend;
use crate::backends::{AfterStop, BackendOutbox, BackendState, LateLogs, OwnListen, Tasks};
use crate::ids::Launch;
use crate::moment::Moment;
use switchboard_protocol::Framing;

impl Backend {
    pub(crate) fn state(&self) -> &BackendState {
        self.lifecycle.state()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.state(), BackendState::Stopped)
    }

    pub(crate) fn is_starting(&self) -> bool {
        matches!(self.state(), BackendState::Starting { .. })
    }

    /// Whether the process accepts messages.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.state(), BackendState::Ready { .. })
    }

    pub(crate) fn is_stopping(&self) -> bool {
        matches!(self.state(), BackendState::Stopping { .. })
    }

    /// Whether the process is being stopped without a successor.
    pub(crate) fn is_going_to_rest(&self) -> bool {
        self.lifecycle.is_going_to_rest()
    }

    /// Whether the backend is idle on purpose: no process, or soon none, because none is needed; and nothing is queued.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.queue.is_empty() && self.lifecycle.is_at_rest()
    }

    /// Whether a process exists, is starting, or has not ended yet.
    pub(crate) fn has_process(&self) -> bool {
        self.launch().is_some()
    }

    /// The process that exists, is starting, or has not ended yet.
    pub(crate) fn launch(&self) -> Option<Launch> {
        self.lifecycle.launch()
    }

    /// The process, unless it is being stopped.
    pub(crate) fn wanted_launch(&self) -> Option<Launch> {
        self.lifecycle.wanted_launch()
    }

    /// The process, if it accepts messages.
    pub(crate) fn ready_launch(&self) -> Option<Launch> {
        self.lifecycle.ready_launch()
    }

    /// The process, if it accepts messages and has received `initialized`.
    pub(crate) fn initialized_launch(&self) -> Option<Launch> {
        self.ready_launch().filter(|_| self.handshake.is_initialized())
    }

    /// Whether the current process can be asked for its lists, and has not been.
    pub(crate) fn can_be_asked_for_lists(&self) -> bool {
        // While a process is being stopped, the stored welcome may be an earlier process's.
        self.wanted_launch().is_some()
            && self.handshake.is_initialized()
            && self.handshake.has_welcome()
            && !self.lists.was_asked()
    }

    /// Whether a process was started but has not completed its handshake.
    pub(crate) fn is_short_of_handshake(&self) -> bool {
        matches!(
            self.state(),
            BackendState::Starting { is_spawned: true, .. }
                | BackendState::Stopping { then: AfterStop::Fail(_), .. }
        )
    }

    /// Whether this is the current process, rather than a late event of an earlier one.
    pub(crate) fn is_current(&self, launch: Launch) -> bool {
        self.lifecycle.is_current(launch)
    }

    /// Number of processes started so far.
    pub(crate) fn launches(&self) -> u32 {
        self.lifecycle.launches()
    }

    pub(crate) fn last_launch(&self) -> Moment {
        self.lifecycle.last_launch()
    }

    /// The id of the process, while there is one.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.lifecycle.pid()
    }

    pub(crate) fn starting_since(&self) -> Option<Moment> {
        self.lifecycle.starting_since()
    }

    /// Time limit for the process to exist, while it does not.
    pub(crate) fn spawn_deadline(&self) -> Option<Moment> {
        self.lifecycle.spawn_deadline(self.settings.start_timeout)
    }

    /// Time of the restart after a crash.
    pub(crate) fn backoff_end(&self) -> Option<Moment> {
        self.lifecycle.backoff_end()
    }

    /// Earliest time for another start after too many crashes.
    pub(crate) fn cooldown_end(&self) -> Option<Moment> {
        self.lifecycle.cooldown_end()
    }

    /// Whether it was started, but has never worked.
    pub(crate) fn has_never_worked(&self) -> bool {
        self.launches() > 0 && !self.has_answered
    }

    /// Starts a new process and discards the state of the previous one. Returns the framing to use.
    /// `is_used`: the start is for a client's request.
    pub(crate) fn begin_start(&mut self, now: Moment, is_used: bool) -> (Launch, Framing) {
        self.usage.begin_process(now, is_used);
        self.health.begin_process();
        // Unwritten bytes were lost with the pipe of the previous process.
        self.outbox = BackendOutbox::default();
        self.queue.begin_process();
        self.handshake.begin_process();
        self.lists.begin_process();
        self.roots.forget_questions();
        self.level = None;
        self.translator = None;
        self.spent_ids = 0;
        self.own_listen = OwnListen::default();
        self.late_logs = LateLogs::default();
        // Tasks ended with the previous process; the next may reuse their ids.
        self.tasks.end_all(now);
        self.held_tasks = Tasks::default();
        (self.lifecycle.begin_start(now), self.framing.begin_process())
    }

    /// Records that the process was started. Returns `false` if it is no longer wanted.
    pub(crate) fn record_spawn(&mut self, launch: Launch, pid: Option<u32>) -> bool {
        self.lifecycle.record_spawn(launch, pid)
    }

    /// Records that a process has ended, before its end is handled.
    pub(crate) fn note_end(&mut self, launch: Launch) {
        self.lifecycle.note_end(launch);
    }

    /// Whether this process has ended.
    pub(crate) fn has_ended(&self, launch: Launch) -> bool {
        self.lifecycle.has_ended(launch)
    }

    pub(crate) fn become_ready(&mut self, launch: Launch, now: Moment) {
        self.lifecycle.become_ready(launch, now);
        self.touch(now);
    }

    /// Sends a ready process through another handshake.
    pub(crate) fn begin_handshake_again(&mut self, now: Moment) -> Option<Launch> {
        self.lifecycle.begin_handshake_again(now)
    }

    /// Stops the process, if there is one.
    pub(crate) fn begin_stop(&mut self, then: AfterStop) -> Option<Launch> {
        self.lifecycle.begin_stop(then)
    }

    /// Stops the process, if there is one, without a successor.
    pub(crate) fn stop_for_good(&mut self) -> Option<Launch> {
        let launch = self.begin_stop(AfterStop::Rest);
        // Without a process there is no end to wait for.
        if launch.is_none() {
            self.mark_stopped();
        }
        launch
    }

    /// Stops a ready process that is not needed. The next request starts another.
    pub(crate) fn begin_rest(&mut self) -> Option<Launch> {
        self.lifecycle.begin_rest()
    }

    /// Records the end of a process that was being stopped; `None` if it was not being stopped.
    pub(crate) fn end_stop(&mut self) -> Option<AfterStop> {
        self.lifecycle.end_stop()
    }

    /// Records that there is no process, and none is wanted.
    pub(crate) fn mark_stopped(&mut self) {
        self.lifecycle.mark_stopped();
    }

    /// Schedules a restart after a crash.
    pub(crate) fn back_off(&mut self, until: Moment) {
        self.lifecycle.back_off(until);
    }

    /// Makes requests fail at once until then.
    pub(crate) fn fail_fast(&mut self, until: Moment, why: String) {
        self.lifecycle.fail_fast(until, why);
    }

    /// Records a crash; called while the state still knows since when the process was ready.
    pub(crate) fn record_crash(&mut self, now: Moment) {
        self.breaker.record_crash(now, self.lifecycle.ready_since());
    }
}

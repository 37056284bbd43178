//! A backend's processes: started, ready, stopped, crashed. Each change of the state takes with it the parts of a backend that
//! belong to one process.

use super::Backend;
use crate::backends::{AfterStop, BackendOutbox, BackendState};
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

    /// The process takes messages.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.state(), BackendState::Ready { .. })
    }

    pub(crate) fn is_stopping(&self) -> bool {
        matches!(self.state(), BackendState::Stopping { .. })
    }

    /// The process is being stopped, and no other follows by itself.
    pub(crate) fn is_going_to_rest(&self) -> bool {
        self.lifecycle.is_going_to_rest()
    }

    /// There is no process, or soon none, since nobody needs one; and nothing waits for one.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.queue.is_empty() && self.lifecycle.is_at_rest()
    }

    /// A process exists, is being made, or is not gone yet.
    pub(crate) fn has_process(&self) -> bool {
        self.launch().is_some()
    }

    /// The process that exists, is being made, or is not gone yet.
    pub(crate) fn launch(&self) -> Option<Launch> {
        self.lifecycle.launch()
    }

    /// The process, unless it is being stopped.
    pub(crate) fn wanted_launch(&self) -> Option<Launch> {
        self.lifecycle.wanted_launch()
    }

    /// The process, if it takes messages.
    pub(crate) fn ready_launch(&self) -> Option<Launch> {
        self.lifecycle.ready_launch()
    }

    /// The process, if it takes messages and has been told `initialized`.
    pub(crate) fn initialized_launch(&self) -> Option<Launch> {
        self.ready_launch().filter(|_| self.handshake.is_initialized())
    }

    /// The present process can be asked for its lists, and has not been asked yet.
    pub(crate) fn can_be_asked_for_lists(&self) -> bool {
        // The welcome of a process that is being stopped may be an earlier process's.
        self.wanted_launch().is_some()
            && self.handshake.is_initialized()
            && self.handshake.has_welcome()
            && !self.lists.was_asked()
    }

    /// A process was made, and its handshake is not answered, or has failed.
    pub(crate) fn is_short_of_handshake(&self) -> bool {
        matches!(
            self.state(),
            BackendState::Starting { is_spawned: true, .. }
                | BackendState::Stopping { then: AfterStop::Fail(_), .. }
        )
    }

    /// Whether this is the process of now, and not a late word of an earlier one.
    pub(crate) fn is_current(&self, launch: Launch) -> bool {
        self.lifecycle.is_current(launch)
    }

    /// Processes that were started so far.
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

    /// When there must be a process, while there is none.
    pub(crate) fn spawn_deadline(&self) -> Option<Moment> {
        self.lifecycle.spawn_deadline(self.settings.start_timeout)
    }

    /// When it is started again after a crash.
    pub(crate) fn backoff_end(&self) -> Option<Moment> {
        self.lifecycle.backoff_end()
    }

    /// When a start may be tried again after too many crashes.
    pub(crate) fn cooldown_end(&self) -> Option<Moment> {
        self.lifecycle.cooldown_end()
    }

    /// It was started, and has never worked.
    pub(crate) fn has_never_worked(&self) -> bool {
        self.launches() > 0 && !self.has_answered
    }

    /// Begins a new process: nothing of the one before counts any more. Returns the framing that it is spoken to in.
    /// `is_used`: for a request of a client.
    pub(crate) fn begin_start(&mut self, now: Moment, is_used: bool) -> (Launch, Framing) {
        self.usage.begin_process(now, is_used);
        self.health.begin_process();
        self.outbox = BackendOutbox::default();
        self.queue.begin_process();
        self.handshake.begin_process();
        self.lists.begin_process();
        self.roots.forget_questions();
        self.level = None;
        // They went with the process before; the next may use the same ids.
        self.tasks.clear();
        (self.lifecycle.begin_start(now), self.framing.begin_process())
    }

    /// A process has been made. `false`: nobody waits for it any more.
    pub(crate) fn record_spawn(&mut self, launch: Launch, pid: Option<u32>) -> bool {
        self.lifecycle.record_spawn(launch, pid)
    }

    pub(crate) fn become_ready(&mut self, launch: Launch, now: Moment) {
        self.lifecycle.become_ready(launch, now);
        self.touch(now);
    }

    /// A process that is ready hears a handshake again.
    pub(crate) fn begin_handshake_again(&mut self, now: Moment) -> Option<Launch> {
        self.lifecycle.begin_handshake_again(now)
    }

    /// Stops the process, if there is one.
    pub(crate) fn begin_stop(&mut self, then: AfterStop) -> Option<Launch> {
        self.lifecycle.begin_stop(then)
    }

    /// Stops the process, if there is one, and starts no other by itself.
    pub(crate) fn stop_for_good(&mut self) -> Option<Launch> {
        let launch = self.begin_stop(AfterStop::Rest);
        if launch.is_none() {
            self.mark_stopped();
        }
        launch
    }

    /// Stops a process that is ready, and that nobody needs. The next request starts another.
    pub(crate) fn begin_rest(&mut self) -> Option<Launch> {
        self.lifecycle.begin_rest()
    }

    /// The process that was being stopped is gone. `None`: it was not being stopped.
    pub(crate) fn end_stop(&mut self) -> Option<AfterStop> {
        self.lifecycle.end_stop()
    }

    /// There is no process, and none is wanted at the moment.
    pub(crate) fn mark_stopped(&mut self) {
        self.lifecycle.mark_stopped();
    }

    /// A process that crashed is started again later.
    pub(crate) fn back_off(&mut self, until: Moment) {
        self.lifecycle.back_off(until);
    }

    /// Requests fail fast until then.
    pub(crate) fn fail_fast(&mut self, until: Moment, why: String) {
        self.lifecycle.fail_fast(until, why);
    }

    /// Records a crash, while the state still says since when the process worked.
    pub(crate) fn record_crash(&mut self, now: Moment) {
        self.breaker.record_crash(now, self.lifecycle.ready_since());
    }
}

//! The life of a backend: its state, and its successive processes. `LIFECYCLE.md` in this folder has the
//! diagram. Must not know why a process is started or stopped.

use crate::backends::{AfterStop, BackendState};
use crate::ids::{BackendId, Launch};
use crate::moment::Moment;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Lifecycle {
    backend: BackendId,
    state: BackendState,
    /// Number of processes started so far.
    launches: u32,
    last_launch: Moment,
    pid: Option<u32>,
    /// Whether the last process was stopped because it was not needed.
    is_at_rest: bool,
    /// The last process whose end was reported. The state may not have followed yet.
    ended: Option<u32>,
}

impl Lifecycle {
    pub(super) fn new(backend: BackendId, now: Moment) -> Self {
        Self {
            backend,
            state: BackendState::Stopped,
            launches: 0,
            last_launch: now,
            pid: None,
            is_at_rest: true,
            ended: None,
        }
    }

    pub(super) fn state(&self) -> &BackendState {
        &self.state
    }

    pub(super) fn launches(&self) -> u32 {
        self.launches
    }

    pub(super) fn last_launch(&self) -> Moment {
        self.last_launch
    }

    /// The number of the process that exists or is starting.
    fn number(&self) -> Option<u32> {
        match self.state {
            BackendState::Starting { number, .. }
            | BackendState::Ready { number, .. }
            | BackendState::Stopping { number, .. } => Some(number),
            BackendState::Stopped | BackendState::Backoff { .. } | BackendState::Failed { .. } => None,
        }
    }

    /// The process that exists, is starting, or has not ended yet.
    pub(super) fn launch(&self) -> Option<Launch> {
        self.number().map(|number| self.numbered(number))
    }

    /// The process, unless it is being stopped.
    pub(super) fn wanted_launch(&self) -> Option<Launch> {
        match self.state {
            BackendState::Starting { number, .. } | BackendState::Ready { number, .. } => {
                Some(self.numbered(number))
            }
            BackendState::Stopped
            | BackendState::Stopping { .. }
            | BackendState::Backoff { .. }
            | BackendState::Failed { .. } => None,
        }
    }

    /// The process, if it accepts messages.
    pub(super) fn ready_launch(&self) -> Option<Launch> {
        match self.state {
            BackendState::Ready { number, .. } => Some(self.numbered(number)),
            BackendState::Stopped
            | BackendState::Starting { .. }
            | BackendState::Stopping { .. }
            | BackendState::Backoff { .. }
            | BackendState::Failed { .. } => None,
        }
    }

    fn numbered(&self, number: u32) -> Launch {
        Launch { backend: self.backend, number }
    }

    /// Whether this is the current process, rather than a late event of an earlier one.
    pub(super) fn is_current(&self, launch: Launch) -> bool {
        self.number() == Some(launch.number)
    }

    pub(super) fn ready_since(&self) -> Option<Moment> {
        match self.state {
            BackendState::Ready { since, .. } => Some(since),
            BackendState::Stopped
            | BackendState::Starting { .. }
            | BackendState::Stopping { .. }
            | BackendState::Backoff { .. }
            | BackendState::Failed { .. } => None,
        }
    }

    pub(super) fn starting_since(&self) -> Option<Moment> {
        match self.state {
            BackendState::Starting { since, .. } => Some(since),
            BackendState::Stopped
            | BackendState::Ready { .. }
            | BackendState::Stopping { .. }
            | BackendState::Backoff { .. }
            | BackendState::Failed { .. } => None,
        }
    }

    /// Time limit for the process to exist, while it does not.
    pub(super) fn spawn_deadline(&self, within: Duration) -> Option<Moment> {
        match self.state {
            BackendState::Starting { since, is_spawned: false, .. } => Some(since + within),
            BackendState::Starting { .. }
            | BackendState::Stopped
            | BackendState::Ready { .. }
            | BackendState::Stopping { .. }
            | BackendState::Backoff { .. }
            | BackendState::Failed { .. } => None,
        }
    }

    /// Time of the restart after a crash.
    pub(super) fn backoff_end(&self) -> Option<Moment> {
        match self.state {
            BackendState::Backoff { until } => Some(until),
            BackendState::Stopped
            | BackendState::Starting { .. }
            | BackendState::Ready { .. }
            | BackendState::Stopping { .. }
            | BackendState::Failed { .. } => None,
        }
    }

    /// Earliest time for another start after too many crashes.
    pub(super) fn cooldown_end(&self) -> Option<Moment> {
        match self.state {
            BackendState::Failed { until, .. } => Some(until),
            BackendState::Stopped
            | BackendState::Starting { .. }
            | BackendState::Ready { .. }
            | BackendState::Stopping { .. }
            | BackendState::Backoff { .. } => None,
        }
    }

    /// The id of the process, while there is one.
    pub(super) fn pid(&self) -> Option<u32> {
        // The id of an ended process may belong to another one by now.
        self.number().and(self.pid)
    }

    /// Whether there is no process, or soon none, because none is needed.
    pub(super) fn is_at_rest(&self) -> bool {
        let is_down = matches!(self.state, BackendState::Stopped) || self.is_going_to_rest();
        self.is_at_rest && is_down
    }

    /// Whether the process is being stopped without a successor.
    pub(super) fn is_going_to_rest(&self) -> bool {
        matches!(self.state, BackendState::Stopping { then: AfterStop::Rest, .. })
    }

    pub(super) fn begin_start(&mut self, now: Moment) -> Launch {
        self.launches += 1;
        self.last_launch = now;
        self.is_at_rest = false;
        self.state = BackendState::Starting { number: self.launches, since: now, is_spawned: false };
        self.numbered(self.launches)
    }

    /// Records that the process was started. Returns `false` if it is no longer wanted.
    pub(super) fn record_spawn(&mut self, launch: Launch, pid: Option<u32>) -> bool {
        match &mut self.state {
            BackendState::Starting { number, is_spawned, .. } if *number == launch.number => {
                *is_spawned = true;
                self.pid = pid;
                true
            }
            BackendState::Starting { .. }
            | BackendState::Stopped
            | BackendState::Ready { .. }
            | BackendState::Stopping { .. }
            | BackendState::Backoff { .. }
            | BackendState::Failed { .. } => false,
        }
    }

    /// Records that a process has ended, before its end is handled.
    pub(super) fn note_end(&mut self, launch: Launch) {
        self.ended = Some(launch.number);
    }

    /// Whether this process has ended, so that nothing can be stopped.
    pub(super) fn has_ended(&self, launch: Launch) -> bool {
        self.ended == Some(launch.number)
    }

    pub(super) fn become_ready(&mut self, launch: Launch, now: Moment) {
        self.state = BackendState::Ready { number: launch.number, since: now };
    }

    /// Sends a ready process through another handshake.
    pub(super) fn begin_handshake_again(&mut self, now: Moment) -> Option<Launch> {
        let launch = self.ready_launch()?;
        self.state = BackendState::Starting { number: launch.number, since: now, is_spawned: true };
        Some(launch)
    }

    /// Stops the process, if there is one.
    pub(super) fn begin_stop(&mut self, then: AfterStop) -> Option<Launch> {
        let launch = self.launch()?;
        self.state = BackendState::Stopping { number: launch.number, then };
        Some(launch)
    }

    /// Stops a process that is not needed. The next request starts another.
    pub(super) fn begin_rest(&mut self) -> Option<Launch> {
        self.ready_launch()?;
        self.is_at_rest = true;
        self.begin_stop(AfterStop::Rest)
    }

    /// Records the end of a process that was being stopped; `None` if it was not being stopped.
    pub(super) fn end_stop(&mut self) -> Option<AfterStop> {
        match std::mem::replace(&mut self.state, BackendState::Stopped) {
            BackendState::Stopping { then, .. } => Some(then),
            other @ (BackendState::Stopped
            | BackendState::Starting { .. }
            | BackendState::Ready { .. }
            | BackendState::Backoff { .. }
            | BackendState::Failed { .. }) => {
                self.state = other;
                None
            }
        }
    }

    /// Records that there is no process, and none is wanted.
    pub(super) fn mark_stopped(&mut self) {
        self.state = BackendState::Stopped;
    }

    /// Schedules a restart after a crash.
    pub(super) fn back_off(&mut self, until: Moment) {
        self.state = BackendState::Backoff { until };
    }

    /// Makes requests fail at once until then.
    pub(super) fn fail_fast(&mut self, until: Moment, why: String) {
        self.state = BackendState::Failed { until, why };
    }
}

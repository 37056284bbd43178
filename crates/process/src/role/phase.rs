//! The state machine for ending a tree: ask, terminate, kill, each with a time limit. Pure: time is an
//! argument, and actions are returned as values.

use crate::wire::EndedBy;
use std::time::{Duration, Instant};

/// Time limits for a tree whose owner is gone: all within a second.
const ABANDONED_ASK_TIME: Duration = Duration::from_millis(200);
const ABANDONED_TERM_TIME: Duration = Duration::from_millis(400);

/// Progress of the ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Running,
    /// Its stdin is closed.
    Asked {
        until: Instant,
        /// Time limit after SIGTERM.
        grace: Duration,
    },
    Terminating {
        until: Instant,
    },
    Killing,
}

/// Action for the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Nothing,
    /// Send SIGTERM to all processes.
    Terminate,
    /// Send SIGKILL to all processes, until none is left.
    Kill,
}

impl Phase {
    pub(crate) fn stop(&mut self, now: Instant, grace: Duration) {
        // A tree that is ending already keeps its earlier deadline.
        if *self == Self::Running {
            *self = Self::Asked { until: after(now, grace), grace };
        }
    }

    pub(crate) fn terminate(&mut self, now: Instant, grace: Duration) -> Step {
        match self {
            Self::Running | Self::Asked { .. } => {
                *self = Self::Terminating { until: after(now, grace) };
                Step::Terminate
            }
            Self::Terminating { until } => {
                // A later order may only bring the end forward.
                *until = (*until).min(after(now, grace));
                Step::Nothing
            }
            Self::Killing => Step::Nothing,
        }
    }

    pub(crate) fn kill(&mut self) -> Step {
        *self = Self::Killing;
        Step::Kill
    }

    /// The owner of the tree is gone, or has closed the connection.
    pub(crate) fn abandoned(&mut self, now: Instant) {
        match self {
            Self::Running => {
                *self = Self::Asked { until: now + ABANDONED_ASK_TIME, grace: ABANDONED_TERM_TIME }
            }
            Self::Asked { until, grace } => {
                *until = (*until).min(now + ABANDONED_ASK_TIME);
                *grace = (*grace).min(ABANDONED_TERM_TIME);
            }
            Self::Terminating { until } => *until = (*until).min(now + ABANDONED_TERM_TIME),
            Self::Killing => {}
        }
    }

    /// The program itself has ended; its descendants must follow. `usual` is the grace period for a program
    /// that was not asked to end.
    pub(crate) fn leader_ended(&mut self, now: Instant, usual: Duration) -> Step {
        match *self {
            Self::Running => self.terminate(now, usual),
            Self::Asked { grace, .. } => self.terminate(now, grace),
            Self::Terminating { .. } | Self::Killing => Step::Nothing,
        }
    }

    pub(crate) fn tick(&mut self, now: Instant) -> Step {
        match *self {
            Self::Asked { until, grace } if until <= now => self.terminate(now, grace),
            Self::Terminating { until } if until <= now => self.kill(),
            Self::Running | Self::Asked { .. } | Self::Terminating { .. } => Step::Nothing,
            // At every tick: a killed process may have forked just before.
            Self::Killing => Step::Kill,
        }
    }

    /// Time of the next tick.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Asked { until, .. } | Self::Terminating { until } => Some(*until),
            Self::Running | Self::Killing => None,
        }
    }

    /// The means that ended the program, if it ends in this phase.
    pub(crate) fn by(&self) -> EndedBy {
        match self {
            Self::Running | Self::Asked { .. } => EndedBy::Itself,
            Self::Terminating { .. } => EndedBy::Term,
            Self::Killing => EndedBy::Kill,
        }
    }
}

/// Adds a grace period, capped so that the addition cannot overflow.
fn after(now: Instant, grace: Duration) -> Instant {
    const MAX_GRACE: Duration = Duration::from_secs(365 * 24 * 3600);
    now + grace.min(MAX_GRACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(5);
    const USUAL: Duration = Duration::from_secs(2);

    fn at(start: Instant, millis: u64) -> Instant {
        start + Duration::from_millis(millis)
    }

    #[test]
    fn stop_asks_then_terminates_then_kills() {
        let start = Instant::now();
        let mut phase = Phase::Running;
        phase.stop(start, GRACE);
        assert_eq!(phase.tick(at(start, 4999)), Step::Nothing);
        assert_eq!(phase.by(), EndedBy::Itself);
        assert_eq!(phase.tick(at(start, 5000)), Step::Terminate);
        assert_eq!(phase.tick(at(start, 9999)), Step::Nothing);
        assert_eq!(phase.by(), EndedBy::Term);
        assert_eq!(phase.tick(at(start, 10_000)), Step::Kill);
        assert_eq!(phase.by(), EndedBy::Kill);
        assert_eq!(phase.tick(at(start, 10_001)), Step::Kill, "again, until nobody is left");
    }

    #[test]
    fn later_orders_never_delay_the_end() {
        let start = Instant::now();
        let mut phase = Phase::Running;
        phase.stop(start, GRACE);
        phase.stop(at(start, 4000), GRACE);
        assert_eq!(phase.deadline(), Some(at(start, 5000)));
        assert_eq!(phase.terminate(at(start, 4000), USUAL), Step::Terminate);
        phase.stop(at(start, 4500), GRACE);
        assert_eq!(phase.terminate(at(start, 4500), GRACE), Step::Nothing);
        assert_eq!(phase.deadline(), Some(at(start, 6000)));
        assert_eq!(phase.kill(), Step::Kill);
        phase.stop(at(start, 5000), GRACE);
        phase.abandoned(at(start, 5000));
        assert_eq!(phase.terminate(at(start, 5000), GRACE), Step::Nothing);
        assert_eq!(phase, Phase::Killing);
    }

    #[test]
    fn abandoned_tree_ends_within_a_second() {
        let start = Instant::now();
        let mut begun = [Phase::Running; 4];
        begun[1].stop(start, GRACE);
        begun[2].terminate(start, GRACE);
        begun[3].kill();
        for mut phase in begun {
            phase.abandoned(start);
            let mut now = start;
            while phase != Phase::Killing {
                now = phase.deadline().unwrap();
                phase.tick(now);
            }
            assert!(now <= at(start, 600));
        }
    }

    #[test]
    fn leftovers_are_terminated_before_killed() {
        let start = Instant::now();
        let mut phase = Phase::Running;
        assert_eq!(phase.leader_ended(start, USUAL), Step::Terminate);
        assert_eq!(phase.tick(at(start, 2000)), Step::Kill);

        let mut phase = Phase::Running;
        phase.stop(start, GRACE);
        assert_eq!(phase.leader_ended(at(start, 100), USUAL), Step::Terminate);
        assert_eq!(phase.deadline(), Some(at(start, 5100)));
    }

    #[test]
    fn grace_of_centuries_does_not_overflow() {
        let mut phase = Phase::Running;
        phase.stop(Instant::now(), Duration::MAX);
        assert_eq!(phase.tick(Instant::now()), Step::Nothing);
    }
}

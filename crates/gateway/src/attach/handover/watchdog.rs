//! Detection of a hung daemon, for an attachment that sees none of the messages. Pure: time is an argument.
//!
//! A look that finds work asks the daemon at once for a sign of life, due within [`ANSWER_TIMEOUT`]. A
//! request to a hung daemon thus waits for [`GIVE_UP_TIMEOUT`] at most, whenever it arrives. After
//! [`QUIET_LOOKS`] looks without work no timer runs until the client's next message.

use std::time::{Duration, Instant};

/// Interval between looks for work.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// Time that a daemon with work has for a sign of life.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(9);
/// Limit that `docs/daemon.md` promises.
const GIVE_UP_TIMEOUT: Duration = Duration::from_secs(15);
/// Delay of a timer that proves a suspended machine: the daemon may have been suspended
/// too, and gets another chance.
const MAX_OVERSLEEP: Duration = Duration::from_secs(3);
/// Looks without work before a rest. One look would not do: a request that the daemon has read but
/// not yet journaled is invisible.
const QUIET_LOOKS: u32 = 2;

const _: () = assert!(LOOK_INTERVAL.as_secs() + ANSWER_TIMEOUT.as_secs() < GIVE_UP_TIMEOUT.as_secs());

#[derive(Debug, Clone, Copy)]
pub(super) enum Watchdog {
    /// Next look at `wake`, after `quiet` looks without work.
    Looking { wake: Instant, quiet: u32 },
    /// The daemon was asked and has until `wake` to answer.
    Asked { wake: Instant },
    /// No timer until the client's next message.
    Resting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchdogVerdict {
    Fine,
    /// Ask the daemon for a sign of life.
    Ask,
    Hung,
}

impl Watchdog {
    pub(super) fn new(now: Instant) -> Self {
        Self::Looking { wake: now + LOOK_INTERVAL, quiet: 0 }
    }

    /// Time of the next [`look`](Self::look). `None` waits for the client's next message,
    /// which calls [`stir`](Self::stir).
    pub(super) fn wake(&self) -> Option<Instant> {
        match *self {
            Self::Looking { wake, .. } | Self::Asked { wake } => Some(wake),
            Self::Resting => None,
        }
    }

    /// Records a sign of life from the daemon.
    pub(super) fn heard(&mut self, now: Instant) {
        *self = Self::new(now);
    }

    /// Ends a rest: the client has sent something.
    pub(super) fn stir(&mut self, now: Instant) {
        *self = Self::new(now);
    }

    /// Decides at `wake`. `has_work` means an open request or unread input.
    pub(super) fn look(&mut self, now: Instant, has_work: bool) -> WatchdogVerdict {
        match *self {
            // A timer that fires much later means a suspended machine: the daemon is asked once more.
            Self::Asked { wake } if now <= wake + MAX_OVERSLEEP => return WatchdogVerdict::Hung,
            Self::Looking { quiet, .. } if !has_work => {
                *self = match quiet + 1 {
                    QUIET_LOOKS.. => Self::Resting,
                    quiet => Self::Looking { wake: now + LOOK_INTERVAL, quiet },
                };
                return WatchdogVerdict::Fine;
            }
            Self::Resting if !has_work => return WatchdogVerdict::Fine,
            Self::Asked { .. } | Self::Looking { .. } | Self::Resting => {}
        }
        *self = Self::Asked { wake: now + ANSWER_TIMEOUT };
        WatchdogVerdict::Ask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME_STEP: Duration = Duration::from_millis(10);

    /// How long a request waits that arrives at time `after` at a daemon that hangs from then on. Before
    /// that, the daemon is `busy` with other requests.
    fn wait_at_hung(after: Duration, busy: Option<Duration>) -> Duration {
        let start = Instant::now();
        let asked_at = start + after;
        let mut watchdog = Watchdog::new(start);
        let mut answer: Option<Instant> = None;
        loop {
            let Some(now) = watchdog.wake() else {
                watchdog.stir(asked_at);
                continue;
            };
            if let Some(heard) = answer.filter(|at| *at <= now && *at < asked_at) {
                answer = None;
                watchdog.heard(heard);
                continue;
            }
            let has_work = busy.is_some() || now >= asked_at;
            match watchdog.look(now, has_work) {
                WatchdogVerdict::Fine => {}
                WatchdogVerdict::Ask => answer = busy.map(|time| now + time),
                WatchdogVerdict::Hung => return now.saturating_duration_since(asked_at),
            }
        }
    }

    #[test]
    fn a_hung_daemon_is_given_up_in_time() {
        let mut after = Duration::ZERO;
        while after < 4 * GIVE_UP_TIMEOUT {
            for busy in [None, Some(Duration::ZERO), Some(LOOK_INTERVAL), Some(ANSWER_TIMEOUT - TIME_STEP)] {
                let waited = wait_at_hung(after, busy);
                assert!(waited < GIVE_UP_TIMEOUT, "{waited:?} for a request after {after:?}, busy: {busy:?}");
            }
            after += TIME_STEP;
        }
    }

    fn wake(watchdog: &Watchdog) -> Instant {
        watchdog.wake().unwrap()
    }

    #[test]
    fn idle_watchdog_rests_until_stirred() {
        let mut watchdog = Watchdog::new(Instant::now());
        for _ in 0..QUIET_LOOKS {
            assert_eq!(watchdog.look(wake(&watchdog), false), WatchdogVerdict::Fine);
        }
        assert_eq!(watchdog.wake(), None);
        let now = Instant::now();
        watchdog.stir(now);
        assert_eq!(watchdog.wake(), Some(now + LOOK_INTERVAL));
        assert_eq!(watchdog.look(wake(&watchdog), true), WatchdogVerdict::Ask);
    }

    #[test]
    fn a_daemon_that_answers_late_is_kept() {
        let mut watchdog = Watchdog::new(Instant::now());
        for _ in 0..100 {
            assert_eq!(watchdog.look(wake(&watchdog), true), WatchdogVerdict::Ask);
            watchdog.heard(wake(&watchdog) - TIME_STEP);
        }
    }

    #[test]
    fn suspension_is_not_a_hang() {
        let mut watchdog = Watchdog::new(Instant::now());
        assert_eq!(watchdog.look(wake(&watchdog), true), WatchdogVerdict::Ask);
        let late = wake(&watchdog) + MAX_OVERSLEEP + TIME_STEP;
        assert_eq!(watchdog.look(late, true), WatchdogVerdict::Ask);
        assert_eq!(watchdog.look(wake(&watchdog), true), WatchdogVerdict::Hung);
    }
}

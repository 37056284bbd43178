//! Tells a daemon that hangs from one that works, for an attachment that sees none of the messages. Pure: time is an
//! argument.
//!
//! A request is seen at the next look, the daemon is asked in the same moment, and has [`ANSWER_TIMEOUT`] from there: a
//! request that comes to a hung daemon waits for [`GIVE_UP_TIMEOUT`] at most, whenever it comes.

use std::time::{Duration, Instant};

/// How often is looked whether there is work.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// How long a daemon that has work may take for a sign of life.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(9);
/// What `docs/daemon.md` promises.
const GIVE_UP_TIMEOUT: Duration = Duration::from_secs(15);
/// Woken so much later than we wanted to be, we have been suspended, and perhaps the daemon with us.
const MAX_OVERSLEEP: Duration = Duration::from_secs(3);

const _: () = assert!(LOOK_INTERVAL.as_secs() + ANSWER_TIMEOUT.as_secs() < GIVE_UP_TIMEOUT.as_secs());

#[derive(Debug, Clone, Copy)]
pub(super) struct Watchdog {
    /// When to look next.
    wake: Instant,
    /// It was asked, and has not answered.
    is_asked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchdogVerdict {
    Fine,
    /// It is to be asked for a sign of life.
    Ask,
    Hung,
}

impl Watchdog {
    pub(super) fn new(now: Instant) -> Self {
        Self { wake: now + LOOK_INTERVAL, is_asked: false }
    }

    /// When [`look`](Self::look) is to be called.
    pub(super) fn wake(&self) -> Instant {
        self.wake
    }

    /// The daemon has given a sign of life.
    pub(super) fn heard(&mut self, now: Instant) {
        *self = Self::new(now);
    }

    /// `has_work`: something is open, or waits to be read.
    pub(super) fn look(&mut self, now: Instant, has_work: bool) -> WatchdogVerdict {
        let has_overslept = now > self.wake + MAX_OVERSLEEP;
        match (self.is_asked, has_work) {
            (true, _) if !has_overslept => WatchdogVerdict::Hung,
            (true, _) | (false, true) => {
                *self = Self { wake: now + ANSWER_TIMEOUT, is_asked: true };
                WatchdogVerdict::Ask
            }
            (false, false) => {
                *self = Self::new(now);
                WatchdogVerdict::Fine
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(10);

    /// How long a request waits that comes `after` the beginning to a daemon that hangs from then on. Before that, it
    /// is `busy` with others, and answers after a while.
    fn wait_at_hung(after: Duration, busy: Option<Duration>) -> Duration {
        let start = Instant::now();
        let asked_at = start + after;
        let mut watchdog = Watchdog::new(start);
        let mut answer: Option<Instant> = None;
        loop {
            if let Some(heard) = answer.filter(|at| *at <= watchdog.wake() && *at < asked_at) {
                answer = None;
                watchdog.heard(heard);
                continue;
            }
            let now = watchdog.wake();
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
            for busy in [None, Some(Duration::ZERO), Some(LOOK_INTERVAL), Some(ANSWER_TIMEOUT - STEP)] {
                let waited = wait_at_hung(after, busy);
                assert!(waited < GIVE_UP_TIMEOUT, "{waited:?} for a request after {after:?}, busy: {busy:?}");
            }
            after += STEP;
        }
    }

    #[test]
    fn a_daemon_without_work_is_not_asked() {
        let mut watchdog = Watchdog::new(Instant::now());
        for _ in 0..100 {
            assert_eq!(watchdog.look(watchdog.wake(), false), WatchdogVerdict::Fine);
        }
    }

    #[test]
    fn a_daemon_that_answers_late_is_kept() {
        let mut watchdog = Watchdog::new(Instant::now());
        for _ in 0..100 {
            assert_eq!(watchdog.look(watchdog.wake(), true), WatchdogVerdict::Ask);
            watchdog.heard(watchdog.wake() - STEP);
        }
    }

    #[test]
    fn nobody_is_given_up_by_one_who_was_suspended() {
        let mut watchdog = Watchdog::new(Instant::now());
        assert_eq!(watchdog.look(watchdog.wake(), true), WatchdogVerdict::Ask);
        let late = watchdog.wake() + MAX_OVERSLEEP + STEP;
        assert_eq!(watchdog.look(late, true), WatchdogVerdict::Ask);
        assert_eq!(watchdog.look(watchdog.wake(), true), WatchdogVerdict::Hung);
    }
}

//! The meter of a rate: the generic cell rate algorithm (GCRA). The rate is an argument: a changed one applies at
//! once, to the calls so far too. Must not know who calls.
//!
//! A library (`governor`) is only the reference in the tests: it charges each bucket as it checks it, and a call
//! must be charged to all of its limits or to none.

use super::rate::Pace;
use crate::moment::Moment;

/// Times are in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bucket {
    /// Time that the calls so far were worth after the last one.
    used: u64,
    /// Time that one call was worth then.
    interval: u64,
    last: u64,
}

/// A moment in nanoseconds.
pub(super) fn nanos(now: Moment) -> u64 {
    u64::try_from(now.since_start().as_nanos()).unwrap_or(u64::MAX)
}

impl Bucket {
    /// Time until a call of this many cells may come; zero if it may come now. A call of more cells than fit
    /// needs an empty bucket.
    pub(super) fn wait(&self, pace: &Pace, cells: u64, now: u64) -> u64 {
        let needed = self.used(pace, cells, now).saturating_add(cost(pace, cells));
        needed.saturating_sub(room(pace, cells))
    }

    /// Charges a call. One that should have waited fills the bucket, and no more than that.
    pub(super) fn charge(&mut self, pace: &Pace, cells: u64, now: u64) {
        let used = self.used(pace, cells, now).saturating_add(cost(pace, cells));
        *self = Self { used: used.min(room(pace, cells)), interval: pace.interval, last: now };
    }

    /// The free room, as the time that calls are worth.
    pub(super) fn free(&self, pace: &Pace, cells: u64, now: u64) -> u64 {
        room(pace, cells) - self.used(pace, cells, now)
    }

    /// Whether the calls so far no longer count.
    pub(super) fn is_empty(&self, now: u64) -> bool {
        now.saturating_sub(self.last) >= self.used
    }

    /// At most what fits.
    fn used(&self, pace: &Pace, cells: u64, now: u64) -> u64 {
        let used = match self.interval == pace.interval || self.used == 0 {
            true => self.used,
            // As many calls, at the price of now.
            false => self.used.div_ceil(self.interval).saturating_mul(pace.interval),
        };
        used.min(room(pace, cells)).saturating_sub(now.saturating_sub(self.last))
    }
}

fn cost(pace: &Pace, cells: u64) -> u64 {
    pace.interval.saturating_mul(cells)
}

fn room(pace: &Pace, cells: u64) -> u64 {
    pace.interval.saturating_mul(pace.burst.max(cells))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Rate;
    use governor::clock::{Clock, FakeRelativeClock};
    use governor::state::{InMemoryState, NotKeyed};
    use governor::{Quota, RateLimiter};
    use proptest::prelude::*;
    use std::num::NonZeroU32;
    use std::time::Duration;

    const SECOND: u64 = 1_000_000_000;
    const MILLI: u64 = 1_000_000;

    fn pace(calls: u32, burst: u32) -> Pace {
        pace_in(calls, burst, Duration::from_secs(60))
    }

    fn pace_in(calls: u32, burst: u32, period: Duration) -> Pace {
        let [calls, burst] = [calls, burst].map(|number| NonZeroU32::new(number).unwrap());
        Rate { calls, period, burst }.pace()
    }

    proptest! {
        /// The reference decides the same about every call, and waits as long.
        #[test]
        fn agrees_with_governor(
            calls in 1_u32..200,
            burst in 1_u32..50,
            pauses in prop::collection::vec((0_u64..30_000, 1_u32..4), 1..200),
        ) {
            let pace = pace(calls, burst);
            let clock = FakeRelativeClock::default();
            let quota = Quota::with_period(Duration::from_nanos(pace.interval)).unwrap();
            let quota = quota.allow_burst(NonZeroU32::new(burst).unwrap());
            let reference: RateLimiter<NotKeyed, InMemoryState, _, _> =
                RateLimiter::direct_with_clock(quota, clock.clone());
            let (mut bucket, mut now) = (Bucket::default(), 0);
            for (pause, cells) in pauses {
                now += pause * MILLI;
                clock.advance(Duration::from_millis(pause));
                let cells = cells.min(burst);
                let wait = bucket.wait(&pace, cells.into(), now);
                let verdict = reference.check_n(NonZeroU32::new(cells).unwrap()).unwrap();
                let expect = verdict.map_or_else(|not| not.wait_time_from(clock.now()), |()| Duration::ZERO);
                prop_assert_eq!(Duration::from_nanos(wait), expect);
                if wait == 0 {
                    bucket.charge(&pace, cells.into(), now);
                }
            }
        }

        /// In no window more calls than the burst and the rate allow.
        #[test]
        fn no_window_exceeds_the_rate(
            calls in 1_u32..200,
            burst in 1_u32..50,
            pauses in prop::collection::vec(0_u64..5_000, 1..300),
        ) {
            let pace = pace(calls, burst);
            let (mut bucket, mut now) = (Bucket::default(), 0);
            let mut admitted: Vec<u64> = Vec::new();
            for pause in pauses {
                now += pause * MILLI;
                if bucket.wait(&pace, 1, now) == 0 {
                    bucket.charge(&pace, 1, now);
                    admitted.push(now);
                }
            }
            for (at, first) in admitted.iter().enumerate() {
                for (count, last) in admitted[at..].iter().enumerate() {
                    let seconds = (last - first) as f64 / SECOND as f64;
                    let most = f64::from(burst) + f64::from(calls) * seconds / 60.0;
                    prop_assert!((count + 1) as f64 <= most + 1e-6, "{} in {seconds} s", count + 1);
                }
            }
        }
    }

    #[test]
    fn wait_is_exact() {
        let (pace, mut bucket) = (pace(60, 2), Bucket::default());
        for _ in 0..2 {
            assert_eq!(bucket.wait(&pace, 1, 0), 0);
            bucket.charge(&pace, 1, 0);
        }
        assert_eq!(bucket.wait(&pace, 1, 300 * MILLI), 700 * MILLI);
        assert_eq!(bucket.wait(&pace, 1, SECOND), 0);
        assert!(!bucket.is_empty(2 * SECOND - 1) && bucket.is_empty(2 * SECOND));
    }

    /// A slower rate must not make a caller wait for calls that an earlier rate allowed.
    #[test]
    fn changed_rate_applies_at_once() {
        let (fast, slow, mut bucket) = (pace(60, 60), pace(30, 2), Bucket::default());
        (0..60).for_each(|_| bucket.charge(&fast, 1, 0));
        assert_eq!(bucket.wait(&slow, 1, 0), 2 * SECOND);
        assert_eq!(bucket.wait(&slow, 1, 2 * SECOND), 0);
        let (mut bucket, hourly) = (Bucket::default(), pace_in(30, 2, Duration::from_secs(3600)));
        (0..2).for_each(|_| bucket.charge(&hourly, 1, 0));
        assert_eq!(bucket.wait(&slow, 1, 0), 2 * SECOND);
        assert_eq!(bucket.wait(&slow, 1, 2 * SECOND), 0);
    }

    /// No arithmetic on hostile values overflows.
    #[test]
    fn extreme_rates_are_bounded() {
        let pace = pace_in(1, u32::MAX, Duration::MAX);
        let mut bucket = Bucket::default();
        (0..3).for_each(|now| bucket.charge(&pace, u64::MAX, now));
        assert_eq!((bucket.wait(&pace, 1, 2), bucket.free(&pace, 1, 2)), (0, 0));
    }
}

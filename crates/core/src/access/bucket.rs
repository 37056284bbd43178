//! The meter of a rate: the generic cell rate algorithm (GCRA). The rate is an argument: a changed one applies at
//! once, to the calls so far too. Must not know who calls.
//!
//! A library (`governor`) is only the reference in the tests: it charges each bucket as it checks it, and a call
//! must be charged to all of its limits or to none.

use super::rate::Rate;
use crate::moment::Moment;
use std::time::Duration;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bucket {
    /// Time that the calls so far were worth after the last one.
    used: Duration,
    /// Time that one call was worth then.
    interval: Duration,
    last: Moment,
}

impl Bucket {
    /// Time until a call of this many cells may come; zero if it may come now. A call of more cells than fit
    /// needs an empty bucket.
    pub(super) fn wait(&self, rate: &Rate, cells: u32, now: Moment) -> Duration {
        let cost = cost(rate, cells);
        self.used(rate, cells, now).saturating_add(cost).saturating_sub(room(rate, cells))
    }

    /// Charges a call. One that should have waited fills the bucket, and no more than that.
    pub(super) fn charge(&mut self, rate: &Rate, cells: u32, now: Moment) {
        let used = self.used(rate, cells, now).saturating_add(cost(rate, cells));
        *self = Self { used: used.min(room(rate, cells)), interval: rate.interval(), last: now };
    }

    /// The free room, as the time that calls are worth.
    pub(super) fn free(&self, rate: &Rate, cells: u32, now: Moment) -> Duration {
        room(rate, cells).saturating_sub(self.used(rate, cells, now))
    }

    /// Whether the calls so far no longer count.
    pub(super) fn is_empty(&self, now: Moment) -> bool {
        now.since(self.last) >= self.used
    }

    fn used(&self, rate: &Rate, cells: u32, now: Moment) -> Duration {
        let used = match rate.interval() {
            interval if interval == self.interval || self.used.is_zero() => self.used,
            // As many calls, at the price of now.
            interval => interval.saturating_mul(self.used.div_duration_f64(self.interval).ceil() as u32),
        };
        used.min(room(rate, cells)).saturating_sub(now.since(self.last))
    }
}

fn cost(rate: &Rate, cells: u32) -> Duration {
    rate.interval().saturating_mul(cells)
}

fn room(rate: &Rate, cells: u32) -> Duration {
    rate.interval().saturating_mul(rate.burst.get().max(cells))
}

#[cfg(test)]
mod tests {
    use super::*;
    use governor::clock::{Clock, FakeRelativeClock};
    use governor::state::{InMemoryState, NotKeyed};
    use governor::{Quota, RateLimiter};
    use proptest::prelude::*;
    use std::num::NonZeroU32;

    fn rate(calls: u32, burst: u32) -> Rate {
        let [calls, burst] = [calls, burst].map(|number| NonZeroU32::new(number).unwrap());
        Rate { calls, period: Duration::from_secs(60), burst }
    }

    proptest! {
        /// The reference decides the same about every call, and waits as long.
        #[test]
        fn agrees_with_governor(
            calls in 1_u32..200,
            burst in 1_u32..50,
            pauses in prop::collection::vec((0_u64..30_000, 1_u32..4), 1..200),
        ) {
            let rate = rate(calls, burst);
            let clock = FakeRelativeClock::default();
            let quota = Quota::with_period(rate.interval()).unwrap().allow_burst(rate.burst);
            let reference: RateLimiter<NotKeyed, InMemoryState, _, _> =
                RateLimiter::direct_with_clock(quota, clock.clone());
            let (mut bucket, mut now) = (Bucket::default(), Moment::default());
            for (pause, cells) in pauses {
                now = now + Duration::from_millis(pause);
                clock.advance(Duration::from_millis(pause));
                let cells = cells.min(burst);
                let wait = bucket.wait(&rate, cells, now);
                let verdict = reference.check_n(NonZeroU32::new(cells).unwrap()).unwrap();
                let expect = verdict.map_or_else(|not| not.wait_time_from(clock.now()), |()| Duration::ZERO);
                prop_assert_eq!(wait, expect);
                if wait.is_zero() {
                    bucket.charge(&rate, cells, now);
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
            let rate = rate(calls, burst);
            let (mut bucket, mut now) = (Bucket::default(), Moment::default());
            let mut admitted: Vec<Moment> = Vec::new();
            for pause in pauses {
                now = now + Duration::from_millis(pause);
                if bucket.wait(&rate, 1, now).is_zero() {
                    bucket.charge(&rate, 1, now);
                    admitted.push(now);
                }
            }
            for (at, first) in admitted.iter().enumerate() {
                for (count, last) in admitted[at..].iter().enumerate() {
                    let seconds = last.since(*first).as_secs_f64();
                    let most = f64::from(burst) + f64::from(calls) * seconds / 60.0;
                    prop_assert!((count + 1) as f64 <= most + 1e-6, "{} in {seconds} s", count + 1);
                }
            }
        }
    }

    #[test]
    fn wait_is_exact() {
        let (rate, mut bucket) = (rate(60, 2), Bucket::default());
        let at = |millis| Moment::after_start(Duration::from_millis(millis));
        for millis in [0, 0] {
            assert_eq!(bucket.wait(&rate, 1, at(millis)), Duration::ZERO);
            bucket.charge(&rate, 1, at(millis));
        }
        assert_eq!(bucket.wait(&rate, 1, at(300)), Duration::from_millis(700));
        assert_eq!(bucket.wait(&rate, 1, at(1000)), Duration::ZERO);
        assert!(!bucket.is_empty(at(1999)) && bucket.is_empty(at(2000)));
    }

    /// A slower rate must not make a caller wait for calls that an earlier rate allowed.
    #[test]
    fn changed_rate_applies_at_once() {
        let (fast, slow, mut bucket) = (rate(60, 60), rate(30, 2), Bucket::default());
        let at = |seconds| Moment::after_start(Duration::from_secs(seconds));
        (0..60).for_each(|_| bucket.charge(&fast, 1, at(0)));
        assert_eq!(bucket.wait(&slow, 1, at(0)), Duration::from_secs(2));
        assert_eq!(bucket.wait(&slow, 1, at(2)), Duration::ZERO);
        let (mut bucket, hourly) = (Bucket::default(), Rate { period: Duration::from_secs(3600), ..slow });
        (0..2).for_each(|_| bucket.charge(&hourly, 1, at(0)));
        assert_eq!(bucket.wait(&slow, 1, at(0)), Duration::from_secs(2));
        assert_eq!(bucket.wait(&slow, 1, at(2)), Duration::ZERO);
    }
}

//! Retry budget: a burst of retries, then one per second. Pure.

use std::time::{Duration, Instant};

const MAX_RETRIES: f64 = 20.0;
const RETRIES_PER_SECOND: f64 = 1.0;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Budget {
    tokens: f64,
    at: Instant,
}

impl Budget {
    pub(super) fn new(now: Instant) -> Self {
        Self { tokens: MAX_RETRIES, at: now }
    }

    /// Takes one retry from the budget; false if none is left.
    pub(super) fn spend(&mut self, now: Instant) -> bool {
        // Token bucket: refilled over time, up to the burst.
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + since * RETRIES_PER_SECOND).min(MAX_RETRIES);
        self.at = now;
        let may = self.tokens >= 1.0;
        if may {
            self.tokens -= 1.0;
        }
        may
    }
}

/// Pause before retry number `tries`: doubles each time, with jitter.
pub(super) fn pause(tries: u32) -> Duration {
    jittered(FIRST_PAUSE.saturating_mul(2u32.saturating_pow(tries)).min(MAX_PAUSE))
}

/// Adds a jitter of ±25 %, so that many clients do not retry in the same instant.
pub(super) fn jittered(time: Duration) -> Duration {
    time.mul_f64(0.75 + chance() / 2.0)
}

/// Adds up to 25 %, never less: a server that names a time rejects earlier requests.
pub(super) fn prolonged(time: Duration) -> Duration {
    time + time.mul_f64(chance() / 4.0)
}

/// Random number from 0 to 1.
fn chance() -> f64 {
    let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
    (random % 1000) as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_and_comes_back() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        let spent = (0..100).filter(|_| budget.spend(start)).count();
        assert_eq!(spent, MAX_RETRIES as usize);
        assert!(!budget.spend(start + Duration::from_millis(500)));
        assert!(budget.spend(start + Duration::from_millis(1600)));
        assert!(!budget.spend(start + Duration::from_millis(1600)));
        let later = start + Duration::from_secs(3600);
        assert_eq!((0..100).filter(|_| budget.spend(later)).count(), MAX_RETRIES as usize);
    }

    #[test]
    fn a_named_time_is_never_shortened() {
        let mut longest = Duration::ZERO;
        for millis in [0, 1, 100, 999, 1000, 60_000] {
            let time = Duration::from_millis(millis);
            for _ in 0..500 {
                let wait = prolonged(time);
                assert!((time..=time + time / 4).contains(&wait), "{time:?}: {wait:?}");
                longest = longest.max(wait);
            }
        }
        assert!(longest > Duration::from_secs(63), "no jitter at all: {longest:?}");
    }

    #[test]
    fn pauses_grow_to_a_limit() {
        for (tries, expect) in [(0, 100), (1, 200), (4, 1600), (9, 30_000), (40, 30_000)] {
            let millis = pause(tries).as_millis();
            assert!((expect * 3 / 4..=expect * 5 / 4).contains(&millis), "{tries}: {millis}");
        }
    }
}

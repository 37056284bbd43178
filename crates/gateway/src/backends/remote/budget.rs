//! How often something may be tried again: a few times at once, and not more often than once a second for long. Pure.

use std::time::{Duration, Instant};

const MOST: f64 = 20.0;
const PER_SECOND: f64 = 1.0;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Budget {
    tokens: f64,
    at: Instant,
}

impl Budget {
    pub(super) fn new(now: Instant) -> Self {
        Self { tokens: MOST, at: now }
    }

    /// Whether once more is within bounds.
    pub(super) fn spend(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + since * PER_SECOND).min(MOST);
        self.at = now;
        let may = self.tokens >= 1.0;
        if may {
            self.tokens -= 1.0;
        }
        may
    }
}

/// How long to wait before the next of several tries: twice as long each time, a quarter more or less.
pub(super) fn pause(tries: u32) -> Duration {
    jittered(FIRST_PAUSE.saturating_mul(2u32.saturating_pow(tries)).min(LONGEST_PAUSE))
}

/// A quarter more or less, so that many do not come back at the same instant.
pub(super) fn jittered(time: Duration) -> Duration {
    let chance = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), time);
    time.mul_f64(0.75 + (chance % 1000) as f64 / 2000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_and_comes_back() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        let spent = (0..100).filter(|_| budget.spend(start)).count();
        assert_eq!(spent, MOST as usize);
        assert!(!budget.spend(start + Duration::from_millis(500)));
        assert!(budget.spend(start + Duration::from_millis(1600)));
        assert!(!budget.spend(start + Duration::from_millis(1600)));
        let later = start + Duration::from_secs(3600);
        assert_eq!((0..100).filter(|_| budget.spend(later)).count(), MOST as usize);
    }

    #[test]
    fn pauses_grow_to_a_limit() {
        for (tries, expect) in [(0, 100), (1, 200), (4, 1600), (9, 30_000), (40, 30_000)] {
            let millis = pause(tries).as_millis();
            assert!((expect * 3 / 4..=expect * 5 / 4).contains(&millis), "{tries}: {millis}");
        }
    }
}

//! Time as a value: the duration since the start of the program.

use std::ops::Add;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(Duration);

impl Moment {
    pub fn after_start(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    pub fn since_start(self) -> Duration {
        self.0
    }

    /// Zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}

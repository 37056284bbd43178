//! The next attempt for a server that was not ready. Must not know how a server is started.

use crate::moment::Moment;
use crate::record::{Record, Slow};
use std::time::Duration;

/// Delay before the first retry in the background; doubles with every failure.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(60);

const MAX_RETRY_DELAY: Duration = Duration::from_secs(60 * 60);

/// The next attempt for a server whose lists could not be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retry {
    /// Number of attempts so far.
    tries: u32,
    at: Moment,
    /// Whether clients had to wait for the server, and no longer do.
    is_slow: bool,
}

impl Retry {
    /// The retry planned by an earlier run.
    pub(crate) fn planned(record: &Record, now: Moment) -> Option<Self> {
        record.slow.map(|slow| Self { tries: slow.tries, at: now + slow.retry_in, is_slow: true })
    }

    /// The plan after an attempt failed, or was not ready in time.
    pub(crate) fn after_failure(before: Option<Self>, is_slow: bool, now: Moment) -> Self {
        let Self { tries, at, is_slow: was_slow } =
            before.unwrap_or(Self { tries: 1, at: now, is_slow: false });
        // If an attempt took longer than the delay, the next one does not follow at once.
        let at = if at > now { at } else { now + Self::delay(tries) };
        Self { tries, at, is_slow: was_slow || is_slow }
    }

    /// The plan while another attempt is in progress: the one after it is further away.
    pub(crate) fn after_next_try(self, now: Moment) -> Self {
        let tries = self.tries.saturating_add(1);
        Self { tries, at: now + Self::delay(tries), is_slow: self.is_slow }
    }

    pub(crate) fn at(self) -> Moment {
        self.at
    }

    /// Whether clients do not wait for the server.
    pub(crate) fn is_slow(self) -> bool {
        self.is_slow
    }

    /// The part that is stored on disk.
    pub(crate) fn to_store(self, now: Moment) -> Option<Slow> {
        // A server that fails at once costs clients no time, so the next run need not know.
        self.is_slow.then(|| Slow { tries: self.tries, retry_in: self.at.since(now) })
    }

    fn delay(tries: u32) -> Duration {
        FIRST_RETRY_DELAY.saturating_mul(2u32.saturating_pow(tries.saturating_sub(1))).min(MAX_RETRY_DELAY)
    }

    pub(crate) fn since_last_try(self, now: Moment) -> Duration {
        Self::delay(self.tries).saturating_sub(self.at.since(now))
    }

    /// Whether the last attempt was less than a minute ago. A new client is no reason to retry so soon.
    pub(crate) fn is_too_soon(self, now: Moment) -> bool {
        self.since_last_try(now) < FIRST_RETRY_DELAY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_double_up_to_an_hour() {
        let minutes = |tries| Retry::delay(tries).as_secs() / 60;
        assert_eq!([1, 2, 3, 6, 7, 8, 200].map(minutes), [1, 2, 4, 32, 60, 60, 60]);
    }

    #[test]
    fn new_client_may_retry_after_a_minute() {
        let at = |seconds| Moment::after_start(Duration::from_secs(seconds));
        let retry = Retry { tries: 3, at: at(1_000), is_slow: true };
        // The attempt failed at 760.
        assert!(retry.is_too_soon(at(760)) && retry.is_too_soon(at(819)));
        assert!(!retry.is_too_soon(at(820)) && !retry.is_too_soon(at(2_000)));
    }
}

//! The next try of a server that was not ready.

use crate::moment::Moment;
use crate::record::Record;
use crate::servers::Server;
use std::time::Duration;

/// The delay before the first retry in the background; it doubles with every failure.
pub(crate) const FIRST_RETRY: Duration = Duration::from_secs(60);

pub(crate) const LONGEST_RETRY: Duration = Duration::from_secs(60 * 60);

/// A failed start that took longer than this made a client wait.
pub(crate) const NOTICEABLE: Duration = Duration::from_secs(1);

/// The next try of a server whose lists could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retry {
    /// Tries so far.
    pub(crate) tries: u32,
    pub(crate) at: Moment,
    /// It made clients wait, so they no longer do.
    pub(crate) is_slow: bool,
}

impl Retry {
    pub(crate) fn delay(tries: u32) -> Duration {
        FIRST_RETRY.saturating_mul(2u32.saturating_pow(tries.saturating_sub(1))).min(LONGEST_RETRY)
    }

    pub(crate) fn since_last_try(&self, now: Moment) -> Duration {
        Self::delay(self.tries).saturating_sub(self.at.since(now))
    }

    /// Whether the last try was less than a minute ago. A new client is no reason to try again so soon.
    pub(crate) fn is_too_soon(&self, now: Moment) -> bool {
        self.since_last_try(now) < FIRST_RETRY
    }
}

impl Server {
    /// The retry that an earlier run has planned.
    pub(crate) fn planned_retry(record: &Record, now: Moment) -> Option<Retry> {
        record.slow.map(|slow| Retry { tries: slow.tries, at: now + slow.retry_in, is_slow: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    pub(crate) fn retries_double_up_to_an_hour() {
        let minutes = |tries| Retry::delay(tries).as_secs() / 60;
        assert_eq!([1, 2, 3, 6, 7, 8, 200].map(minutes), [1, 2, 4, 32, 60, 60, 60]);
    }

    #[test]
    pub(crate) fn a_new_client_may_retry_after_a_minute() {
        let at = |seconds| Moment::after_start(Duration::from_secs(seconds));
        let retry = Retry { tries: 3, at: at(1_000), is_slow: true };
        // It failed at 760.
        assert!(retry.is_too_soon(at(760)) && retry.is_too_soon(at(819)));
        assert!(!retry.is_too_soon(at(820)) && !retry.is_too_soon(at(2_000)));
    }
}

//! Refused calls, counted for `switchboard status` and the log. A flood of them must not flood the log: each limit
//! is reported once in a while, with the number of calls that it has refused since.

use super::limiter::LimitScope;
use crate::ids::ServerId;
use crate::moment::Moment;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Minimum time between two reports of the same limit.
const REPORT_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// Limit on stored identities, and on stored reports.
const MAX_STORED: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct Refusals {
    identities: BTreeMap<Arc<str>, u64>,
    servers: BTreeMap<ServerId, u64>,
    reports: BTreeMap<(LimitScope, ServerId, Arc<str>), LimitReport>,
}

/// The last report of a limit, and the calls that it has refused since.
#[derive(Debug)]
struct LimitReport {
    at: Moment,
    refused: u64,
}

impl Refusals {
    /// Counts a refused call. Returns the number of calls to report, if a report is due.
    pub(crate) fn count(
        &mut self,
        scope: LimitScope,
        server: ServerId,
        who: &Arc<str>,
        now: Moment,
    ) -> Option<u64> {
        *self.servers.entry(server).or_default() += 1;
        if self.identities.len() < MAX_STORED || self.identities.contains_key(who) {
            *self.identities.entry(who.clone()).or_default() += 1;
        }
        let key = (scope, server, who.clone());
        if let Some(report) = self.reports.get_mut(&key) {
            report.refused += 1;
            if now.since(report.at) < REPORT_INTERVAL {
                return None;
            }
            report.at = now;
            return Some(std::mem::take(&mut report.refused));
        }
        if self.reports.len() >= MAX_STORED {
            self.reports.retain(|_, report| now.since(report.at) < REPORT_INTERVAL);
        }
        // More limits than that within minutes: the log has enough of them.
        if self.reports.len() >= MAX_STORED {
            return None;
        }
        self.reports.insert(key, LimitReport { at: now, refused: 0 });
        Some(1)
    }

    pub(crate) fn at_server(&self, server: ServerId) -> u64 {
        self.servers.get(&server).copied().unwrap_or_default()
    }

    /// Identities with the number of their refused calls.
    pub(crate) fn by_identity(&self) -> impl Iterator<Item = (&str, u64)> {
        self.identities.iter().map(|(name, refused)| (&**name, *refused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_reported_now_and_then() {
        let mut refusals = Refusals::default();
        let mut count = |who: &str, server, seconds| {
            let now = Moment::after_start(Duration::from_secs(seconds));
            refusals.count(LimitScope::Server, ServerId(server), &who.into(), now)
        };
        assert_eq!(count("a", 0, 0), Some(1));
        assert_eq!([1, 2, 599].map(|seconds| count("a", 0, seconds)), [None; 3]);
        assert_eq!((count("b", 0, 599), count("a", 1, 599)), (Some(1), Some(1)));
        assert_eq!(count("a", 0, 600), Some(4));
        assert_eq!(refusals.at_server(ServerId(0)), 6);
        assert_eq!(refusals.by_identity().collect::<Vec<_>>(), [("a", 6), ("b", 1)]);
    }

    #[test]
    fn memory_stays_bounded() {
        let mut refusals = Refusals::default();
        for number in 0..5000_u32 {
            let who: Arc<str> = number.to_string().into();
            refusals.count(LimitScope::Token, ServerId(0), &who, Moment::default());
        }
        assert_eq!((refusals.identities.len(), refusals.reports.len()), (MAX_STORED, MAX_STORED));
        assert_eq!(refusals.at_server(ServerId(0)), 5000);
    }
}

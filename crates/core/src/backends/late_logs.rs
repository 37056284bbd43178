//! Requests that asked for log messages and ended without an answer: cancelled, or timed out. Their process may still send
//! log messages about them, and log messages name no request. Must not know requests except by number.

use crate::ids::ClientId;
use std::collections::BTreeMap;

/// Most ended requests that are stored per process.
const MAX_ENDED: usize = 64;

/// Ended requests of one process, until the process answers them. There is no time limit, since only the answer proves that
/// no further log message follows.
#[derive(Debug, Default)]
pub(crate) struct LateLogs {
    /// The connections of the requests, by minted id.
    ended: BTreeMap<u64, ClientId>,
    /// Owner of the requests beyond the limit. The process may send log messages about these for as long as it lives.
    surplus: Surplus,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Surplus {
    #[default]
    Nobodys,
    Of(ClientId),
    Several,
}

impl LateLogs {
    pub(crate) fn insert(&mut self, minted: u64, connection: ClientId) {
        if self.ended.len() < MAX_ENDED {
            self.ended.insert(minted, connection);
            return;
        }
        self.surplus = match self.surplus {
            Surplus::Nobodys => Surplus::Of(connection),
            Surplus::Of(other) if other == connection => return,
            Surplus::Of(_) | Surplus::Several => Surplus::Several,
        };
    }

    /// Forgets a request that its process has answered.
    pub(crate) fn answered(&mut self, minted: u64) {
        self.ended.remove(&minted);
    }

    /// Whether a message may be about an ended request.
    pub(crate) fn is_any(&self) -> bool {
        !self.ended.is_empty() || self.surplus != Surplus::Nobodys
    }

    /// Whether a message may be about an ended request of another connection.
    pub(crate) fn is_any_of_others(&self, connection: ClientId) -> bool {
        let is_others = match self.surplus {
            Surplus::Nobodys => false,
            Surplus::Of(other) => other != connection,
            Surplus::Several => true,
        };
        is_others || self.ended.values().any(|other| *other != connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_requests_are_bounded() {
        let [one, other] = [ClientId(1), ClientId(2)];
        let mut logs = LateLogs::default();
        (0..64).for_each(|minted| logs.insert(minted, one));
        assert!(logs.is_any() && !logs.is_any_of_others(one) && logs.is_any_of_others(other));
        logs.insert(64, one);
        (0..=64).for_each(|minted| logs.answered(minted));
        assert!(logs.ended.is_empty(), "the last one had no room");
        assert!(logs.is_any() && !logs.is_any_of_others(one) && logs.is_any_of_others(other));
        (65..130).for_each(|minted| logs.insert(minted, other));
        (65..130).for_each(|minted| logs.answered(minted));
        assert!(logs.is_any_of_others(one) && logs.is_any_of_others(other), "both had too many");
    }
}

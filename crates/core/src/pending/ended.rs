//! Requests that ended before their legacy server answered. The server may still ask or log about such a request, and
//! neither names a request. Must not know what waits for them.

use crate::ids::{BackendId, Launch};
use crate::moment::Moment;
use std::collections::BTreeMap;
use std::time::Duration;

/// Time in which a server may still ask about an ended request: it continues until it has read the cancellation, over a
/// network or while it is busy. Limited, since a server need not answer a cancelled request.
const LATE_QUESTION_TIME: Duration = Duration::from_secs(5);

/// Most ended requests that are stored per process.
const MAX_ENDED_CALLS: usize = 64;

/// Ended requests by minted id, until their server answers them or their time is over.
#[derive(Debug, Default)]
pub(crate) struct EndedCalls(BTreeMap<u64, EndedCall>);

#[derive(Debug)]
struct EndedCall {
    launch: Launch,
    /// Whether the server may ask its modern client about this request.
    may_ask: bool,
    until: Moment,
}

impl EndedCalls {
    /// Adds a request. Returns the time at which it is forgotten.
    pub(crate) fn insert(&mut self, minted: u64, launch: Launch, may_ask: bool, now: Moment) -> Moment {
        let own = || self.0.iter().filter(|(_, call)| call.launch == launch);
        if own().count() >= MAX_ENDED_CALLS
            // Drop requests without questions first: a misdelivered question is worse than a misdelivered log message. Then
            // the oldest.
            && let Some(least) =
                own().min_by_key(|(_, call)| (call.may_ask, call.until)).map(|(minted, _)| *minted)
        {
            self.0.remove(&least);
        }
        let until = now + LATE_QUESTION_TIME;
        self.0.insert(minted, EndedCall { launch, may_ask, until });
        until
    }

    /// Removes a request that this process has answered. Returns whether it was there.
    pub(crate) fn answered(&mut self, minted: u64, launch: Launch) -> bool {
        let is_its = self.0.get(&minted).is_some_and(|call| call.launch == launch);
        is_its && self.0.remove(&minted).is_some()
    }

    /// Whether a process may still be at work on an ended request.
    pub(crate) fn is_any_at(&self, launch: Launch) -> bool {
        self.0.values().any(|call| call.launch == launch)
    }

    /// Whether a process may still ask about an ended request.
    pub(crate) fn may_ask_at(&self, launch: Launch) -> bool {
        self.0.values().any(|call| call.launch == launch && call.may_ask)
    }

    /// Forgets the requests whose time is over. Returns their backends.
    pub(crate) fn expire(&mut self, now: Moment) -> Vec<BackendId> {
        let over = self.0.values().filter(|call| call.until <= now);
        let backends = over.map(|call| call.launch.backend).collect();
        self.0.retain(|_, call| call.until > now);
        backends
    }

    pub(crate) fn next_deadline(&self) -> Option<Moment> {
        self.0.values().map(|call| call.until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn launch(number: u32) -> Launch {
        Launch { backend: BackendId(1), number }
    }

    fn at(seconds: u64) -> Moment {
        Moment::default() + Duration::from_secs(seconds)
    }

    #[test]
    fn ended_calls_of_a_process_are_bounded() {
        let mut calls = EndedCalls::default();
        calls.insert(0, launch(1), true, at(0));
        for minted in 1..=64 {
            calls.insert(minted, launch(2), true, at(minted / 60));
        }
        calls.insert(65, launch(2), true, at(2));
        assert_eq!(calls.0.len(), 65);
        assert!(!calls.answered(1, launch(2)) && calls.answered(2, launch(2)), "the oldest one makes room");
        assert!(calls.may_ask_at(launch(1)), "each process has its own");
    }

    #[test]
    fn calls_without_questions_leave_first() {
        let mut calls = EndedCalls::default();
        calls.insert(0, launch(1), true, at(0));
        for minted in 1..100 {
            calls.insert(minted, launch(1), false, at(1));
        }
        assert_eq!((calls.0.len(), calls.may_ask_at(launch(1))), (64, true));
        assert!(calls.answered(0, launch(1)));
        assert_eq!((calls.is_any_at(launch(1)), calls.may_ask_at(launch(1))), (true, false));
    }
}

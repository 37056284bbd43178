//! Requests that have ended before their legacy server has answered them. The server may still ask about such a request, or
//! log about it, in words that name no request. Must not know what is held up meanwhile.
//!
//! A request that is still unanswered after its time is overdue. Its server has probably dropped it, so nothing waits for it
//! any more; but where one client stands for many programs, a question may still be about it.

use crate::ids::{BackendId, Launch};
use crate::moment::Moment;
use std::collections::BTreeMap;
use std::time::Duration;

/// Time in which a server may still ask about an ended request: it continues until it has read the cancellation, over a
/// network or while it is busy. Limited, since a server need not answer a cancelled request.
const LATE_QUESTION_TIME: Duration = Duration::from_secs(5);

/// Most ended requests that are stored per process, and as many overdue ones.
const MAX_ENDED_CALLS: usize = 64;

/// Ended requests that their server has not answered.
#[derive(Debug, Default)]
pub(crate) struct EndedCalls {
    /// By minted id, until their time is over.
    late: BTreeMap<u64, EndedCall>,
    /// Minted ids of those about which the server may ask, until their process ends.
    overdue: BTreeMap<u64, Launch>,
}

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
        let own = || self.late.iter().filter(|(_, call)| call.launch == launch);
        if own().count() >= MAX_ENDED_CALLS
            // Drop requests without questions first: a misdelivered question is worse than a misdelivered log message. Then
            // the oldest.
            && let Some(least) =
                own().min_by_key(|(_, call)| (call.may_ask, call.until)).map(|(minted, _)| *minted)
            && let Some(call) = self.late.remove(&least)
        {
            self.record_overdue(least, &call);
        }
        let until = now + LATE_QUESTION_TIME;
        self.late.insert(minted, EndedCall { launch, may_ask, until });
        until
    }

    fn record_overdue(&mut self, minted: u64, call: &EndedCall) {
        let own = self.overdue.values().filter(|launch| **launch == call.launch);
        if call.may_ask && own.count() < MAX_ENDED_CALLS {
            self.overdue.insert(minted, call.launch);
        }
    }

    /// Forgets overdue requests of processes that have ended.
    pub(crate) fn keep_current(&mut self, is_current: impl Fn(Launch) -> bool) {
        self.overdue.retain(|_, launch| is_current(*launch));
    }

    /// Forgets a request that this process has answered. Returns whether it was there.
    pub(crate) fn answered(&mut self, minted: u64, launch: Launch) -> bool {
        if self.overdue.get(&minted) == Some(&launch) {
            self.overdue.remove(&minted);
        }
        let is_its = self.late.get(&minted).is_some_and(|call| call.launch == launch);
        is_its && self.late.remove(&minted).is_some()
    }

    /// Whether a process may still be at work on an ended request.
    pub(crate) fn is_any_at(&self, launch: Launch) -> bool {
        self.late.values().any(|call| call.launch == launch)
    }

    /// Whether a process may still ask about an ended request.
    pub(crate) fn may_ask_at(&self, launch: Launch) -> bool {
        self.late.values().any(|call| call.launch == launch && call.may_ask)
    }

    /// Whether a process has not answered an ended request in time, about which it may ask.
    pub(crate) fn is_overdue_at(&self, launch: Launch) -> bool {
        self.overdue.values().any(|overdue| *overdue == launch)
    }

    /// Ends the wait for requests whose time is over. Returns their backends.
    pub(crate) fn expire(&mut self, now: Moment) -> Vec<BackendId> {
        let is_over = |call: &EndedCall| call.until <= now;
        let over: Vec<u64> = self.late.iter().filter(|(_, call)| is_over(call)).map(|(id, _)| *id).collect();
        let over = over.into_iter().filter_map(|minted| Some((minted, self.late.remove(&minted)?)));
        let over: Vec<(u64, EndedCall)> = over.collect();
        over.iter().for_each(|(minted, call)| self.record_overdue(*minted, call));
        over.into_iter().map(|(_, call)| call.launch.backend).collect()
    }

    pub(crate) fn next_deadline(&self) -> Option<Moment> {
        self.late.values().map(|call| call.until).min()
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
        assert_eq!(calls.late.len(), 65);
        assert!(!calls.answered(1, launch(2)) && calls.answered(2, launch(2)), "the oldest one makes room");
        assert!(calls.may_ask_at(launch(1)), "each process has its own");
    }

    #[test]
    fn overdue_calls_count_until_they_are_answered() {
        let mut calls = EndedCalls::default();
        calls.insert(1, launch(1), true, at(0));
        calls.insert(2, launch(2), false, at(0));
        assert!(!calls.is_overdue_at(launch(1)) && calls.expire(at(4)).is_empty());
        assert_eq!(calls.expire(at(5)).len(), 2);
        assert!(calls.is_overdue_at(launch(1)) && !calls.may_ask_at(launch(1)));
        assert!(!calls.is_overdue_at(launch(2)), "there was no question to expect");
        assert!(!calls.answered(1, launch(2)) && calls.is_overdue_at(launch(1)));
        assert!(!calls.answered(1, launch(1)), "nothing waited for it any more");
        assert!(!calls.is_overdue_at(launch(1)));
    }

    #[test]
    fn overdue_calls_end_with_their_process() {
        let mut calls = EndedCalls::default();
        for minted in 0..200 {
            calls.insert(minted, launch(1), true, at(0));
        }
        calls.expire(at(5));
        assert_eq!(calls.overdue.len(), 64);
        calls.keep_current(|current| current == launch(1));
        assert!(calls.is_overdue_at(launch(1)));
        calls.keep_current(|current| current == launch(2));
        assert!(!calls.is_overdue_at(launch(1)));
    }

    #[test]
    fn calls_without_questions_leave_first() {
        let mut calls = EndedCalls::default();
        calls.insert(0, launch(1), true, at(0));
        for minted in 1..100 {
            calls.insert(minted, launch(1), false, at(1));
        }
        assert_eq!((calls.late.len(), calls.may_ask_at(launch(1))), (64, true));
        assert!(calls.answered(0, launch(1)));
        assert_eq!((calls.is_any_at(launch(1)), calls.may_ask_at(launch(1))), (true, false));
    }
}

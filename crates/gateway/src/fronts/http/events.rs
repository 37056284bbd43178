//! What was said on a session's streams, kept for a client that has lost its connection and comes back. Bounded: all
//! sessions together have one budget of bytes, and what is dropped of an answer is that it was there. Pure.

use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use switchboard_protocol::RawId;

/// So many events of one session are remembered, even if their bytes are few.
const MOST: usize = 4096;

/// How many bytes all sessions may keep together.
#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(bytes) })
    }

    fn take(&self, bytes: usize) -> bool {
        let take = |left: usize| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    fn give(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Which stream of a session, and which of its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventId {
    pub(crate) stream: u64,
    pub(crate) number: u64,
}

impl EventId {
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (stream, number) = text.trim().split_once('-')?;
        Some(Self { stream: stream.parse().ok()?, number: number.parse().ok()? })
    }
}

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}

#[derive(Debug)]
struct Kept {
    id: EventId,
    /// Which request it answers.
    answers: Option<RawId>,
    /// Nothing, if there was no room for it.
    message: Option<Bytes>,
}

/// One event to be said again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Again {
    Message(EventId, Bytes),
    /// It answered this request, and is gone.
    Dropped(EventId, RawId),
}

#[derive(Debug)]
pub(crate) struct EventLog {
    budget: Arc<Budget>,
    kept: VecDeque<Kept>,
    next: u64,
}

impl EventLog {
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Self { budget, kept: VecDeque::new(), next: 1 }
    }

    /// Notes what is about to be said on a stream, and gives it its number.
    pub(crate) fn note(&mut self, stream: u64, message: &Bytes, answers: Option<RawId>) -> EventId {
        let id = self.mint(stream);
        if self.kept.len() == MOST {
            self.forget_oldest();
        }
        while !self.budget.take(message.len()) {
            if !self.drop_oldest() {
                // Others have taken it all.
                self.kept.extend(answers.map(|id_of| Kept { id, answers: Some(id_of), message: None }));
                return id;
            }
        }
        self.kept.push_back(Kept { id, answers, message: Some(message.clone()) });
        id
    }

    /// A number for an event that says nothing.
    pub(crate) fn mint(&mut self, stream: u64) -> EventId {
        let id = EventId { stream, number: self.next };
        self.next += 1;
        id
    }

    /// What was said on a stream after this.
    pub(crate) fn after(&self, id: EventId) -> Vec<Again> {
        let later = self.kept.iter().filter(|kept| kept.id.stream == id.stream && kept.id.number > id.number);
        let again = |kept: &Kept| match (&kept.message, &kept.answers) {
            (Some(message), _) => Some(Again::Message(kept.id, message.clone())),
            (None, Some(answers)) => Some(Again::Dropped(kept.id, answers.clone())),
            (None, None) => None,
        };
        later.filter_map(again).collect()
    }

    /// Makes room by one message of ours. `false` if there is none.
    fn drop_oldest(&mut self) -> bool {
        let Some(at) = self.kept.iter().position(|kept| kept.message.is_some()) else { return false };
        let message = self.kept[at].message.take();
        self.budget.give(message.map_or(0, |message| message.len()));
        if self.kept[at].answers.is_none() {
            self.kept.remove(at);
        }
        true
    }

    fn forget_oldest(&mut self) {
        let oldest = self.kept.pop_front().and_then(|kept| kept.message);
        self.budget.give(oldest.map_or(0, |message| message.len()));
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        while !self.kept.is_empty() {
            self.forget_oldest();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> RawId {
        RawId::from_bytes(text.as_bytes())
    }

    #[test]
    fn what_came_after_is_said_again_stream_by_stream() {
        let mut log = EventLog::new(Budget::new(1000));
        let first = log.note(1, &"a".into(), None);
        log.note(2, &"other".into(), None);
        let second = log.note(1, &"b".into(), Some(id("7")));
        assert_eq!(log.after(first), [Again::Message(second, "b".into())]);
        assert_eq!(log.after(second), []);
        assert_eq!(EventId::read(&first.to_string()), Some(first));
        assert_eq!(EventId::read("nonsense"), None);
    }

    #[test]
    fn an_answer_that_had_to_go_is_remembered_as_such() {
        let budget = Budget::new(10);
        let mut log = EventLog::new(budget.clone());
        let start = log.mint(1);
        log.note(1, &"123456".into(), None);
        let answer = log.note(1, &"1234567".into(), Some(id("7")));
        let last = log.note(1, &"12345".into(), None);
        assert_eq!(log.after(start), [Again::Dropped(answer, id("7")), Again::Message(last, "12345".into())]);
        drop(log);
        assert!(budget.take(10), "all of it is given back");
    }

    #[test]
    fn one_that_finds_no_room_at_all_keeps_only_that_it_answered() {
        let budget = Budget::new(3);
        let mut log = EventLog::new(budget);
        let start = log.mint(1);
        log.note(1, &"too long".into(), None);
        let answer = log.note(1, &"too long".into(), Some(id("7")));
        assert_eq!(log.after(start), [Again::Dropped(answer, id("7"))]);
    }
}

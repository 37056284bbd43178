//! Records that wait to be written, limited in number and in bytes.

use super::super::bad_messages::BadMessages;
use std::time::SystemTime;
use switchboard_core::Fact;
use switchboard_core::access::{Call, CallParams, Front};
use switchboard_protocol::ErrorKind;

const MAX_WAITING_RECORDS: usize = 100_000;
/// Bytes of recorded arguments, of all waiting records together.
const MAX_WAITING_BYTES: usize = 32 << 20;

/// Input of the audit.
pub(crate) enum Record {
    Call(SystemTime, Box<Call>),
    /// A request that was refused before the client was known.
    Refused {
        time: SystemTime,
        front: Front,
        kind: ErrorKind,
        from: String,
    },
    /// Number of further refusals, without a line each: strangers must not be able to push the lines of clients
    /// out of the files.
    MoreRefused(SystemTime, u64),
}

#[derive(Default)]
pub(crate) struct AuditQueue {
    records: Vec<Record>,
    bytes: usize,
    lost: u64,
    refused: BadMessages,
}

impl AuditQueue {
    /// Takes a fact that belongs into the audit; returns any other.
    pub(crate) fn take_fact(&mut self, time: SystemTime, fact: Fact) -> Option<Fact> {
        match fact {
            Fact::Called(call) => {
                let bytes = call.params.as_ref().map_or(0, CallParams::len);
                self.push(Record::Call(time, call), bytes);
            }
            Fact::AccessRefused { front, kind, from } => {
                if self.refused.take(time) {
                    self.push(Record::Refused { time, front, kind, from }, 0);
                }
            }
            other => return Some(other),
        }
        None
    }

    fn push(&mut self, record: Record, bytes: usize) {
        if self.records.len() >= MAX_WAITING_RECORDS || self.bytes + bytes > MAX_WAITING_BYTES {
            self.lost += 1;
            return;
        }
        self.bytes += bytes;
        self.records.push(record);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.lost == 0
    }

    /// The waiting records, and the number of those that did not fit.
    pub(crate) fn take(&mut self) -> (Vec<Record>, u64) {
        self.bytes = 0;
        let mut records = std::mem::take(&mut self.records);
        let more = self.refused.untold();
        records.extend((more > 0).then(|| Record::MoreRefused(SystemTime::now(), more)));
        (records, std::mem::take(&mut self.lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal() -> Fact {
        Fact::AccessRefused { front: Front::Http, kind: ErrorKind::Unauthorized, from: "x".into() }
    }

    #[test]
    fn strangers_get_few_lines() {
        let mut queue = AuditQueue::default();
        for _ in 0..1000 {
            assert!(queue.take_fact(SystemTime::UNIX_EPOCH, refusal()).is_none());
        }
        let (records, lost) = queue.take();
        let Some(Record::MoreRefused(_, more)) = records.last() else { panic!("no sum") };
        assert_eq!((records.len() as u64 - 1 + more, lost), (1000, 0));
        assert!(records.len() < 30);
    }

    #[test]
    fn other_facts_are_given_back() {
        assert_eq!(
            AuditQueue::default().take_fact(SystemTime::UNIX_EPOCH, Fact::Finished),
            Some(Fact::Finished)
        );
    }

    #[test]
    fn full_queue_counts() {
        let mut queue = AuditQueue::default();
        for _ in 0..MAX_WAITING_RECORDS + 5 {
            queue.push(Record::MoreRefused(SystemTime::UNIX_EPOCH, 1), 0);
        }
        queue.push(Record::MoreRefused(SystemTime::UNIX_EPOCH, 1), 0);
        let (records, lost) = queue.take();
        assert_eq!((records.len(), lost), (MAX_WAITING_RECORDS, 6));
        queue.push(Record::MoreRefused(SystemTime::UNIX_EPOCH, 1), MAX_WAITING_BYTES + 1);
        assert_eq!(queue.take().1, 1);
    }
}

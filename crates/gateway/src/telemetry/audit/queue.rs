//! Records that wait to be written, limited in number and in bytes.

use super::super::bad_messages::BadMessages;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;
use switchboard_core::Fact;
use switchboard_core::access::{Call, CallParams};

const MAX_WAITING_RECORDS: usize = 100_000;
/// Bytes of recorded arguments, of all waiting records together.
const MAX_WAITING_BYTES: usize = 32 << 20;

/// Input of the audit.
pub(crate) enum Record {
    Call(SystemTime, Box<Call>),
    Event(Box<AuditEvent>),
}

/// An event that is not a call. Parts that are not known are left out of its line.
#[derive(Debug, Clone)]
pub(crate) struct AuditEvent {
    pub(crate) time: SystemTime,
    /// `refused`, say.
    pub(crate) event: &'static str,
    pub(crate) identity: Option<Arc<str>>,
    pub(crate) front: Option<&'static str>,
    /// The caller's address.
    pub(crate) from: Option<String>,
    pub(crate) method: Option<Cow<'static, str>>,
    pub(crate) server: Option<String>,
    pub(crate) result: Option<&'static str>,
    /// Number of events that share the line.
    pub(crate) lines: Option<u64>,
}

impl AuditEvent {
    pub(crate) fn new(time: SystemTime, event: &'static str) -> Self {
        Self {
            time,
            event,
            identity: None,
            front: None,
            from: None,
            method: None,
            server: None,
            result: None,
            lines: None,
        }
    }
}

#[derive(Default)]
pub(crate) struct AuditQueue {
    /// Whether anything is recorded at all.
    is_on: bool,
    records: Vec<Record>,
    bytes: usize,
    lost: u64,
    refused: BadMessages,
    denied: BadMessages,
}

impl AuditQueue {
    pub(crate) fn set_on(&mut self, is_on: bool) {
        self.is_on = is_on;
    }

    /// Takes a fact that belongs into the audit; returns any that the log gets.
    pub(crate) fn take_fact(&mut self, time: SystemTime, fact: Fact) -> Option<Fact> {
        match fact {
            Fact::Called(call) => {
                let bytes = call.params.as_ref().map_or(0, CallParams::len);
                self.push(Record::Call(time, call), bytes);
            }
            Fact::AccessRefused { front, kind, from, identity } => {
                // Strangers must not be able to push the lines of clients out of the files.
                if self.is_on && (identity.is_some() || self.refused.take(time)) {
                    let (front, result) = (Some(front.name()), Some(kind.name()));
                    let event = AuditEvent::new(time, "refused");
                    self.push_event(AuditEvent { front, from: Some(from), result, identity, ..event });
                }
            }
            Fact::AskDenied { ref server, ref method, ref identity, .. } => {
                // A server that asks again and again must not push the lines of clients out of the files either.
                if self.is_on && self.denied.take(time) {
                    self.push_event(AuditEvent {
                        server: Some(server.clone()),
                        method: Some(method.clone()),
                        identity: identity.clone(),
                        ..AuditEvent::new(time, "ask_denied")
                    });
                }
                return Some(fact);
            }
            other => return Some(other),
        }
        None
    }

    fn push_event(&mut self, event: AuditEvent) {
        self.push(Record::Event(Box::new(event)), 0);
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
        for (more, event) in [(self.refused.untold(), "refused"), (self.denied.untold(), "ask_denied")] {
            records.extend((more > 0).then(|| {
                let lines = Some(more);
                Record::Event(Box::new(AuditEvent { lines, ..AuditEvent::new(SystemTime::now(), event) }))
            }));
        }
        (records, std::mem::take(&mut self.lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_core::access::Front;
    use switchboard_protocol::ErrorKind;

    fn refusal() -> Fact {
        let (kind, from) = (ErrorKind::Unauthorized, "x".into());
        Fact::AccessRefused { front: Front::Http, kind, from, identity: None }
    }

    #[test]
    fn strangers_get_few_lines() {
        let mut queue = AuditQueue { is_on: true, ..AuditQueue::default() };
        for _ in 0..1000 {
            assert!(queue.take_fact(SystemTime::UNIX_EPOCH, refusal()).is_none());
        }
        let (records, lost) = queue.take();
        let Some(Record::Event(last)) = records.last() else { panic!("no sum") };
        let more = last.lines.unwrap();
        assert_eq!((records.len() as u64 - 1 + more, lost), (1000, 0));
        assert!(records.len() < 30);
    }

    #[test]
    fn denied_questions_are_recorded_and_logged() {
        let mut queue = AuditQueue { is_on: true, ..AuditQueue::default() };
        let denied = Fact::AskDenied {
            backend: switchboard_core::BackendId(1),
            server: "files".into(),
            method: "sampling/createMessage".into(),
            identity: Some("ci".into()),
            total: 1,
        };
        for _ in 0..30 {
            assert_eq!(queue.take_fact(SystemTime::UNIX_EPOCH, denied.clone()), Some(denied.clone()));
        }
        let (records, _) = queue.take();
        let Some(Record::Event(first)) = records.first() else { panic!("no record") };
        assert_eq!((first.event, first.server.as_deref()), ("ask_denied", Some("files")));
        assert_eq!((records.len(), first.identity.as_deref()), (21, Some("ci")));
    }

    #[test]
    fn nothing_is_recorded_when_off() {
        let mut queue = AuditQueue::default();
        assert!(queue.take_fact(SystemTime::UNIX_EPOCH, refusal()).is_none());
        assert!(queue.is_empty() && queue.take().0.is_empty());
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
            queue.push_event(AuditEvent::new(SystemTime::UNIX_EPOCH, "refused"));
        }
        queue.push_event(AuditEvent::new(SystemTime::UNIX_EPOCH, "refused"));
        let (records, lost) = queue.take();
        assert_eq!((records.len(), lost), (MAX_WAITING_RECORDS, 6));
        let event = AuditEvent::new(SystemTime::UNIX_EPOCH, "refused");
        queue.push(Record::Event(Box::new(event)), MAX_WAITING_BYTES + 1);
        assert_eq!(queue.take().1, 1);
    }
}

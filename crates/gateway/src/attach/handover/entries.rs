//! Conversion of messages to journal entries, for both directions of a client's
//! stream. Pure: appends nothing.

use super::entry::{AskedRequest, Id, JournalEntry};
use switchboard_protocol::hunt::Glimpse;
use switchboard_protocol::{
    Broken, Kind, Message, Method, Outgoing, OutgoingKind, Part, SetupMessage, modern,
};

/// Longest request that is kept for a repeat by the next daemon.
pub(super) const MAX_REPEATED_BYTES: usize = 64 << 10;

/// Entries of messages from a client.
#[derive(Default)]
pub(super) struct Entries(pub(super) Vec<JournalEntry>);

impl Entries {
    pub(super) fn one(&mut self, message: &Message) {
        let line = || message.bytes().to_vec();
        match (message.kind(), message.method()) {
            (Kind::Request, method) => {
                let is_initialize = method == Method::Initialize;
                // A later daemon replays `initialize` even after it was answered, so it is kept
                // apart from the open request.
                if is_initialize {
                    self.0.push(JournalEntry::Said { what: SetupMessage::Initialize, line: line() });
                }
                self.effect(message);
                let is_short = message.bytes().len() <= MAX_REPEATED_BYTES;
                let again =
                    // `initialize` is harmless too, whatever its length.
                    if is_initialize || (modern::is_repeatable(message) && is_short) { line() } else { Vec::new() };
                let id = message.id().map(|id| id.as_bytes().to_vec());
                let is_modern = message.has(Part::MetaVersion);
                self.0.extend(id.map(|id| JournalEntry::Asked(AskedRequest { id, again, is_modern })));
            }
            (Kind::Notification, Method::Initialized) => {
                self.0.push(JournalEntry::Said { what: SetupMessage::Initialized, line: line() });
            }
            (Kind::Notification, Method::Cancelled) => {
                let id = message.part(Part::RequestId).map(<[u8]>::to_vec);
                self.0.extend(id.map(|id| JournalEntry::Cancelled { id }));
            }
            (Kind::Response { .. }, _) => {
                let id = message.id().map(|id| id.as_bytes().to_vec());
                self.0.extend(id.map(|id| JournalEntry::Resolved { id }));
            }
            // Other notifications get no answer, so nothing is owed if the daemon dies over one.
            (Kind::Notification, _) => {}
        }
    }

    /// Enters a request that changes a server's settings for this client: a log level or a subscription.
    fn effect(&mut self, message: &Message) {
        let uri = || message.part(Part::Uri).unwrap_or_default().to_vec();
        match message.method() {
            Method::SetLevel => {
                self.0.push(JournalEntry::Said { what: SetupMessage::Level, line: message.bytes().to_vec() });
            }
            Method::Subscribe => self.0.push(JournalEntry::Subscribed { uri: uri() }),
            Method::Unsubscribe => self.0.push(JournalEntry::Unsubscribed { uri: uri() }),
            // No other method changes state that the next daemon would have to restore.
            _ => {}
        }
    }

    pub(super) fn batch(&mut self, members: &[Result<Message, Broken>]) {
        let mut ids = Vec::new();
        for message in members.iter().flatten() {
            match message.kind() {
                Kind::Request => {
                    // A batch has one answer for all its members, so none of them is repeated on its own.
                    self.effect(message);
                    ids.extend(message.id().map(|id| id.as_bytes().to_vec()));
                }
                Kind::Notification | Kind::Response { .. } => self.one(message),
            }
        }
        if !ids.is_empty() {
            self.0.push(JournalEntry::AskedTogether { ids });
        }
    }
}

/// Entries of a message over the length limit, of which only the ids were seen.
pub(super) fn of_too_long(glimpses: &[Glimpse]) -> Vec<JournalEntry> {
    let asks = glimpses.iter().filter(|seen| seen.method.is_some());
    let ids = asks.filter_map(|seen| Some(seen.id.as_ref()?.as_bytes().to_vec()));
    // Never repeated: the bytes of an oversized message were not kept.
    let asked = |id: Id| AskedRequest { id, again: Vec::new(), is_modern: false };
    ids.map(|id| JournalEntry::Asked(asked(id))).collect()
}

/// Entry of a message to the client. Notifications need none: they are never owed.
pub(super) fn of_outgoing(out: &Outgoing) -> Option<JournalEntry> {
    let id = out.id()?.to_vec();
    match out.kind() {
        // The first member's id identifies the whole batch.
        OutgoingKind::Response { .. } | OutgoingKind::BatchResponse => Some(JournalEntry::Answered { id }),
        OutgoingKind::Request => Some(JournalEntry::Question { id }),
        OutgoingKind::Notification => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_protocol::{Parsed, parse};

    /// The server of the last daemon may have used the state, which is good for once.
    #[test]
    fn continued_requests_are_not_repeated() {
        let is_kept = |params: &str| {
            let text = format!(r#"{{"id":1,"method":"resources/read","params":{{"uri":"x:a"{params}}}}}"#);
            let Ok(Parsed::One(message)) = parse(text.into()) else { panic!("no message: {params}") };
            let mut entries = Entries::default();
            entries.one(&message);
            match &entries.0[..] {
                [JournalEntry::Asked(asked)] => !asked.again.is_empty(),
                other => panic!("{params}: {} entries", other.len()),
            }
        };
        assert!(is_kept(""));
        assert!(!is_kept(r#","requestState":"s""#));
        assert!(!is_kept(r#","inputResponses":{}"#));
    }
}

//! State of a client whose streams are handed over: positions in its input and output, open requests, and the
//! messages that the next daemon must hear again. Pure: a list of entries makes the state, and
//! [`JournalState::summary`] turns it back into entries.

use super::entry::{AskedRequest, Id, JournalEntry, decode, encode};
use bytes::Bytes;
use switchboard_core::settings::{MAX_SUBSCRIPTION_BYTES, MAX_SUBSCRIPTIONS};
use switchboard_protocol::{Framing, PeerSetup, SetupMessage};

/// Request or batch that awaits its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpenRequest {
    One(AskedRequest),
    Together(Vec<Id>),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct JournalState {
    pub(crate) taken: u64,
    pub(crate) written: u64,
    pub(crate) open: Vec<OpenRequest>,
    pub(crate) questions: Vec<Id>,
    /// Setup to replay. The number and size of subscriptions are limited here as in the core.
    pub(crate) setup: PeerSetup,
    pub(crate) framing: Option<Framing>,
}

impl JournalState {
    pub(crate) fn enter(&mut self, entry: JournalEntry) {
        match entry {
            JournalEntry::Taken { upto } => self.taken = self.taken.max(upto),
            JournalEntry::Asked(asked) => self.open.push(OpenRequest::One(asked)),
            JournalEntry::AskedTogether { ids } => self.open.push(OpenRequest::Together(ids)),
            JournalEntry::Cancelled { id } => self.cancel(&id),
            JournalEntry::Repeated { id } => {
                let is_it =
                    |open: &&mut OpenRequest| matches!(open, OpenRequest::One(asked) if asked.id == id);
                if let Some(OpenRequest::One(asked)) = self.open.iter_mut().find(is_it) {
                    // Without its text the request cannot be repeated a second time.
                    asked.again = Vec::new();
                }
            }
            JournalEntry::Written { upto } => self.written = self.written.max(upto),
            JournalEntry::Answered { id } => {
                // Only one: each of two requests with the same id is owed an answer.
                let at = self.open.iter().position(|open| open.has(&id));
                at.into_iter().for_each(|at| drop(self.open.remove(at)));
            }
            JournalEntry::Question { id } => self.questions.push(id),
            JournalEntry::Resolved { id } => self.questions.retain(|known| *known != id),
            JournalEntry::Said { what, line } => self.setup.set(what, line.into()),
            JournalEntry::Subscribed { uri } => self.subscribe(uri),
            JournalEntry::Unsubscribed { uri } => self.setup.unsubscribe(&uri),
            JournalEntry::Speaks { framing } => self.framing = Some(framing),
        }
    }

    fn subscribe(&mut self, uri: Vec<u8>) {
        // A repeated subscription must not count twice against the limits.
        self.setup.unsubscribe(&uri);
        let known = self.setup.subscriptions();
        let bytes: usize = known.iter().map(Bytes::len).sum();
        // Over the limit the core has not kept the subscription either.
        if known.len() < MAX_SUBSCRIPTIONS && bytes + uri.len() <= MAX_SUBSCRIPTION_BYTES {
            self.setup.subscribe(uri.into());
        }
    }

    /// Removes a cancelled request. A batch stays open for its other members.
    fn cancel(&mut self, id: &Id) {
        self.open.retain_mut(|open| match open {
            OpenRequest::One(asked) => asked.id != *id,
            OpenRequest::Together(ids) => {
                ids.retain(|other| other != id);
                !ids.is_empty()
            }
        });
    }

    /// State after all appends.
    pub(crate) fn of(appends: &[Vec<u8>]) -> Self {
        let mut state = Self::default();
        appends.iter().flat_map(|bytes| decode(bytes)).for_each(|entry| state.enter(entry));
        state
    }

    /// This state as one append.
    pub(crate) fn summary(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |entry: &JournalEntry| encode(entry, &mut bytes);
        put(&JournalEntry::Taken { upto: self.taken });
        put(&JournalEntry::Written { upto: self.written });
        for what in SetupMessage::ALL {
            if let Some(line) = self.setup.get(what) {
                put(&JournalEntry::Said { what, line: line.to_vec() });
            }
        }
        for uri in self.setup.subscriptions() {
            put(&JournalEntry::Subscribed { uri: uri.to_vec() });
        }
        if let Some(framing) = self.framing {
            put(&JournalEntry::Speaks { framing });
        }
        for id in &self.questions {
            put(&JournalEntry::Question { id: id.clone() });
        }
        for open in &self.open {
            match open {
                OpenRequest::One(asked) => put(&JournalEntry::Asked(asked.clone())),
                OpenRequest::Together(ids) => put(&JournalEntry::AskedTogether { ids: ids.clone() }),
            }
        }
        bytes
    }
}

impl OpenRequest {
    /// The request, if it is safe to repeat.
    pub(crate) fn again(&self) -> Option<&AskedRequest> {
        match self {
            Self::One(asked) if !asked.again.is_empty() => Some(asked),
            Self::One(_) | Self::Together(_) => None,
        }
    }

    fn has(&self, id: &Id) -> bool {
        match self {
            Self::One(asked) => asked.id == *id,
            Self::Together(ids) => ids.contains(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(id: &str, again: &str) -> JournalEntry {
        JournalEntry::Asked(AskedRequest { id: id.into(), again: again.into(), is_modern: id == "2" })
    }

    fn some() -> Vec<JournalEntry> {
        vec![
            JournalEntry::Speaks { framing: Framing::ContentLength },
            JournalEntry::Said { what: SetupMessage::Initialize, line: b"hello".to_vec() },
            asked("1", "hello"),
            JournalEntry::Taken { upto: 10 },
            JournalEntry::Answered { id: b"1".to_vec() },
            JournalEntry::Written { upto: 99 },
            JournalEntry::Said { what: SetupMessage::Initialized, line: b"ready".to_vec() },
            JournalEntry::Said { what: SetupMessage::Level, line: b"loud".to_vec() },
            JournalEntry::Said { what: SetupMessage::Level, line: b"quiet".to_vec() },
            JournalEntry::Subscribed { uri: b"a".to_vec() },
            JournalEntry::Subscribed { uri: b"b".to_vec() },
            JournalEntry::Unsubscribed { uri: b"a".to_vec() },
            asked("2", ""),
            asked("\"2\"", "list"),
            asked("2.0", ""),
            JournalEntry::AskedTogether { ids: vec![b"3".to_vec(), b"4".to_vec()] },
            JournalEntry::AskedTogether { ids: vec![b"5".to_vec()] },
            JournalEntry::Cancelled { id: b"4".to_vec() },
            JournalEntry::Cancelled { id: b"5".to_vec() },
            JournalEntry::Cancelled { id: b"2.0".to_vec() },
            JournalEntry::Repeated { id: b"\"2\"".to_vec() },
            JournalEntry::Question { id: b"8".to_vec() },
            JournalEntry::Question { id: b"9".to_vec() },
            JournalEntry::Resolved { id: b"8".to_vec() },
            JournalEntry::Taken { upto: 70 },
        ]
    }

    #[test]
    fn entries_add_up() {
        let mut state = JournalState::default();
        some().into_iter().for_each(|entry| state.enter(entry));
        assert_eq!((state.taken, state.written), (70, 99));
        assert_eq!(state.setup.get(SetupMessage::Level), Some(&"quiet".into()));
        assert_eq!(state.setup.subscriptions(), ["b"]);
        let one = |id: &str| {
            OpenRequest::One(AskedRequest { id: id.into(), again: Vec::new(), is_modern: id == "2" })
        };
        assert_eq!(state.open, [one("2"), one("\"2\""), OpenRequest::Together(vec![b"3".to_vec()])]);
    }

    #[test]
    fn subscriptions_are_limited() {
        let mut state = JournalState::default();
        for number in 0..2 * MAX_SUBSCRIPTIONS {
            state.enter(JournalEntry::Subscribed { uri: number.to_string().into_bytes() });
        }
        assert_eq!(state.setup.subscriptions().len(), MAX_SUBSCRIPTIONS);
        let mut state = JournalState::default();
        for number in 0..60_u8 {
            state.enter(JournalEntry::Subscribed { uri: vec![number; 1 << 19] });
        }
        assert_eq!(state.setup.subscriptions().len(), 2);
        state.enter(JournalEntry::Unsubscribed { uri: vec![0; 1 << 19] });
        state.enter(JournalEntry::Subscribed { uri: vec![9; 1 << 19] });
        assert_eq!(state.setup.subscriptions()[1][0], 9);
    }

    #[test]
    fn state_survives_encoding() {
        let mut state = JournalState::default();
        let mut appends = Vec::new();
        for entry in some() {
            let mut bytes = Vec::new();
            encode(&entry, &mut bytes);
            assert_eq!(decode(&bytes), std::slice::from_ref(&entry));
            appends.push(bytes);
            state.enter(entry);
            assert_eq!(JournalState::of(&appends), state);
            assert_eq!(JournalState::of(&[state.summary()]), state);
        }
    }

    #[test]
    fn decoding_survives_noise() {
        let whole = {
            let mut state = JournalState::default();
            some().into_iter().for_each(|entry| state.enter(entry));
            state.summary()
        };
        for cut in 0..whole.len() {
            decode(&whole[..cut]);
        }
        for seed in 0..2000_u32 {
            let noise: Vec<u8> =
                (0..64).map(|n| ((seed * 64 + n).wrapping_mul(2_654_435_761) >> 24) as u8 % 13).collect();
            decode(&noise);
        }
    }
}

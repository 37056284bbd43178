//! What must be known of a client whose streams are handed from one to the next: how far its words were dealt with and
//! answers were given, which requests are open, and what a new daemon must hear again. Pure: a list of entries makes
//! the books, and the books can be written down as such a list.

use switchboard_core::settings::{MAX_SUBSCRIPTION_BYTES, MAX_SUBSCRIPTIONS};
use switchboard_protocol::Framing;

/// A fact in the books. Those of one note count together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The client's stream was dealt with up to here.
    Taken {
        upto: u64,
    },
    Asked(Asked),
    /// Members of one batch: they are answered together.
    AskedTogether {
        ids: Vec<Id>,
    },
    /// The client does not want an answer any more.
    Cancelled {
        id: Id,
    },
    /// It was given to a second daemon; it is not given to a third.
    Repeated {
        id: Id,
    },
    /// What goes out is committed up to here.
    Written {
        upto: u64,
    },
    Answered {
        id: Id,
    },
    /// The client was asked something, and has not answered.
    Question {
        id: Id,
    },
    Resolved {
        id: Id,
    },
    /// To be said again.
    Said {
        what: Saying,
        line: Vec<u8>,
    },
    Subscribed {
        uri: Vec<u8>,
    },
    Unsubscribed {
        uri: Vec<u8>,
    },
    Speaks {
        framing: Framing,
    },
}

/// As it was spelled.
pub(crate) type Id = Vec<u8>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) id: Id,
    /// The whole request, if asking twice does no more than asking once. Empty otherwise.
    pub(crate) again: Vec<u8>,
}

/// Of each, the last counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Saying {
    Initialize,
    Initialized,
    Level,
}

/// What is to be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Open {
    One(Asked),
    Together(Vec<Id>),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Books {
    pub(crate) taken: u64,
    pub(crate) written: u64,
    pub(crate) open: Vec<Open>,
    pub(crate) questions: Vec<Id>,
    pub(crate) initialize: Option<Vec<u8>>,
    pub(crate) initialized: Option<Vec<u8>>,
    pub(crate) level: Option<Vec<u8>>,
    /// URIs, as JSON. No more than a client may have.
    pub(crate) subscriptions: Vec<Vec<u8>>,
    pub(crate) framing: Option<Framing>,
}

impl Books {
    pub(crate) fn enter(&mut self, entry: Entry) {
        match entry {
            Entry::Taken { upto } => self.taken = self.taken.max(upto),
            Entry::Asked(asked) => self.open.push(Open::One(asked)),
            Entry::AskedTogether { ids } => self.open.push(Open::Together(ids)),
            Entry::Cancelled { id } => self.cancel(&id),
            Entry::Repeated { id } => {
                let is_it = |open: &&mut Open| matches!(open, Open::One(asked) if asked.id == id);
                if let Some(Open::One(asked)) = self.open.iter_mut().find(is_it) {
                    asked.again = Vec::new();
                }
            }
            Entry::Written { upto } => self.written = self.written.max(upto),
            Entry::Answered { id } => {
                let at = self.open.iter().position(|open| open.has(&id));
                at.into_iter().for_each(|at| drop(self.open.remove(at)));
            }
            Entry::Question { id } => self.questions.push(id),
            Entry::Resolved { id } => self.questions.retain(|known| *known != id),
            Entry::Said { what: Saying::Initialize, line } => self.initialize = Some(line),
            Entry::Said { what: Saying::Initialized, line } => self.initialized = Some(line),
            Entry::Said { what: Saying::Level, line } => self.level = Some(line),
            Entry::Subscribed { uri } => self.subscribe(uri),
            Entry::Unsubscribed { uri } => self.subscriptions.retain(|known| *known != uri),
            Entry::Speaks { framing } => self.framing = Some(framing),
        }
    }

    fn subscribe(&mut self, uri: Vec<u8>) {
        self.subscriptions.retain(|known| *known != uri);
        let bytes: usize = self.subscriptions.iter().map(Vec::len).sum();
        if self.subscriptions.len() < MAX_SUBSCRIPTIONS && bytes + uri.len() <= MAX_SUBSCRIPTION_BYTES {
            self.subscriptions.push(uri);
        }
    }

    /// A member of a batch is only left out: the others are still waited for.
    fn cancel(&mut self, id: &Id) {
        self.open.retain_mut(|open| match open {
            Open::One(asked) => asked.id != *id,
            Open::Together(ids) => {
                ids.retain(|other| other != id);
                !ids.is_empty()
            }
        });
    }

    pub(crate) fn of(notes: &[Vec<u8>]) -> Self {
        let mut books = Self::default();
        notes.iter().flat_map(|note| decode(note)).for_each(|entry| books.enter(entry));
        books
    }

    /// The same, as one note.
    pub(crate) fn summed_up(&self) -> Vec<u8> {
        let mut note = Vec::new();
        let mut put = |entry: &Entry| encode(entry, &mut note);
        put(&Entry::Taken { upto: self.taken });
        put(&Entry::Written { upto: self.written });
        let said = [
            (Saying::Initialize, &self.initialize),
            (Saying::Initialized, &self.initialized),
            (Saying::Level, &self.level),
        ];
        for (what, line) in said {
            if let Some(line) = line {
                put(&Entry::Said { what, line: line.clone() });
            }
        }
        for uri in &self.subscriptions {
            put(&Entry::Subscribed { uri: uri.clone() });
        }
        if let Some(framing) = self.framing {
            put(&Entry::Speaks { framing });
        }
        for id in &self.questions {
            put(&Entry::Question { id: id.clone() });
        }
        for open in &self.open {
            match open {
                Open::One(asked) => put(&Entry::Asked(asked.clone())),
                Open::Together(ids) => put(&Entry::AskedTogether { ids: ids.clone() }),
            }
        }
        note
    }
}

impl Open {
    fn has(&self, id: &Id) -> bool {
        match self {
            Self::One(asked) => asked.id == *id,
            Self::Together(ids) => ids.contains(id),
        }
    }
}

pub(crate) fn encode(entry: &Entry, into: &mut Vec<u8>) {
    let mut put = |tag: u8, number: u64, texts: &[&[u8]]| {
        into.push(tag);
        into.extend_from_slice(&number.to_le_bytes());
        into.extend_from_slice(&(texts.len() as u32).to_le_bytes());
        for text in texts {
            into.extend_from_slice(&(text.len() as u32).to_le_bytes());
            into.extend_from_slice(text);
        }
    };
    match entry {
        Entry::Taken { upto } => put(1, *upto, &[]),
        Entry::Asked(Asked { id, again }) => put(2, 0, &[id, again]),
        Entry::AskedTogether { ids } => put(3, 0, &ids.iter().map(Vec::as_slice).collect::<Vec<_>>()),
        Entry::Cancelled { id } => put(4, 0, &[id]),
        Entry::Repeated { id } => put(5, 0, &[id]),
        Entry::Written { upto } => put(6, *upto, &[]),
        Entry::Answered { id } => put(7, 0, &[id]),
        Entry::Said { what, line } => put(8, *what as u64, &[line]),
        Entry::Subscribed { uri } => put(9, 0, &[uri]),
        Entry::Unsubscribed { uri } => put(10, 0, &[uri]),
        Entry::Question { id } => put(12, 0, &[id]),
        Entry::Resolved { id } => put(13, 0, &[id]),
        Entry::Speaks { framing } => put(11, u64::from(*framing == Framing::ContentLength), &[]),
    }
}

/// What cannot be read was not written by this version of us, and neither was what follows it.
pub(crate) fn decode(mut note: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    while let Some(entry) = decode_one(&mut note) {
        entries.push(entry);
    }
    entries
}

fn decode_one(rest: &mut &[u8]) -> Option<Entry> {
    let tag = *rest.split_off_first()?;
    let number = u64::from_le_bytes(*rest.split_off(..8)?.first_chunk()?);
    let mut length = || Some(u32::from_le_bytes(*rest.split_off(..4)?.first_chunk()?) as usize);
    let count = length()?;
    let mut texts = Vec::new();
    for _ in 0..count {
        let length = u32::from_le_bytes(*rest.split_off(..4)?.first_chunk()?) as usize;
        texts.push(rest.split_off(..length)?.to_vec());
    }
    let mut texts = texts.into_iter();
    Some(match tag {
        1 => Entry::Taken { upto: number },
        2 => Entry::Asked(Asked { id: texts.next()?, again: texts.next()? }),
        3 => Entry::AskedTogether { ids: texts.collect() },
        4 => Entry::Cancelled { id: texts.next()? },
        5 => Entry::Repeated { id: texts.next()? },
        6 => Entry::Written { upto: number },
        7 => Entry::Answered { id: texts.next()? },
        8 => {
            let what = match number {
                0 => Saying::Initialize,
                1 => Saying::Initialized,
                _ => Saying::Level,
            };
            Entry::Said { what, line: texts.next()? }
        }
        9 => Entry::Subscribed { uri: texts.next()? },
        10 => Entry::Unsubscribed { uri: texts.next()? },
        11 => Entry::Speaks { framing: if number == 0 { Framing::Newline } else { Framing::ContentLength } },
        12 => Entry::Question { id: texts.next()? },
        13 => Entry::Resolved { id: texts.next()? },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(id: &str, again: &str) -> Entry {
        Entry::Asked(Asked { id: id.into(), again: again.into() })
    }

    fn some() -> Vec<Entry> {
        vec![
            Entry::Speaks { framing: Framing::ContentLength },
            Entry::Said { what: Saying::Initialize, line: b"hello".to_vec() },
            asked("1", "hello"),
            Entry::Taken { upto: 10 },
            Entry::Answered { id: b"1".to_vec() },
            Entry::Written { upto: 99 },
            Entry::Said { what: Saying::Initialized, line: b"ready".to_vec() },
            Entry::Said { what: Saying::Level, line: b"loud".to_vec() },
            Entry::Said { what: Saying::Level, line: b"quiet".to_vec() },
            Entry::Subscribed { uri: b"a".to_vec() },
            Entry::Subscribed { uri: b"b".to_vec() },
            Entry::Unsubscribed { uri: b"a".to_vec() },
            asked("2", ""),
            asked("\"2\"", "list"),
            asked("2.0", ""),
            Entry::AskedTogether { ids: vec![b"3".to_vec(), b"4".to_vec()] },
            Entry::AskedTogether { ids: vec![b"5".to_vec()] },
            Entry::Cancelled { id: b"4".to_vec() },
            Entry::Cancelled { id: b"5".to_vec() },
            Entry::Cancelled { id: b"2.0".to_vec() },
            Entry::Repeated { id: b"\"2\"".to_vec() },
            Entry::Question { id: b"8".to_vec() },
            Entry::Question { id: b"9".to_vec() },
            Entry::Resolved { id: b"8".to_vec() },
            Entry::Taken { upto: 70 },
        ]
    }

    #[test]
    fn entries_make_the_books() {
        let mut books = Books::default();
        some().into_iter().for_each(|entry| books.enter(entry));
        assert_eq!((books.taken, books.written), (70, 99));
        assert_eq!(books.level.as_deref(), Some(&b"quiet"[..]));
        assert_eq!(books.subscriptions, [b"b"]);
        let one = |id: &str| Open::One(Asked { id: id.into(), again: Vec::new() });
        assert_eq!(books.open, [one("2"), one("\"2\""), Open::Together(vec![b"3".to_vec()])]);
    }

    #[test]
    fn books_keep_as_many_subscriptions_as_allowed() {
        let mut books = Books::default();
        for number in 0..2 * MAX_SUBSCRIPTIONS {
            books.enter(Entry::Subscribed { uri: number.to_string().into_bytes() });
        }
        assert_eq!(books.subscriptions.len(), MAX_SUBSCRIPTIONS);
        let mut books = Books::default();
        for number in 0..60_u8 {
            books.enter(Entry::Subscribed { uri: vec![number; 1 << 19] });
        }
        assert_eq!(books.subscriptions.len(), 2);
        books.enter(Entry::Unsubscribed { uri: vec![0; 1 << 19] });
        books.enter(Entry::Subscribed { uri: vec![9; 1 << 19] });
        assert_eq!(books.subscriptions[1][0], 9);
    }

    #[test]
    fn books_are_the_same_when_they_are_written_down() {
        let mut books = Books::default();
        let mut notes = Vec::new();
        for entry in some() {
            let mut note = Vec::new();
            encode(&entry, &mut note);
            assert_eq!(decode(&note), std::slice::from_ref(&entry));
            notes.push(note);
            books.enter(entry);
            assert_eq!(Books::of(&notes), books);
            assert_eq!(Books::of(&[books.summed_up()]), books);
        }
    }

    #[test]
    fn what_is_no_note_makes_no_books() {
        let whole = {
            let mut books = Books::default();
            some().into_iter().for_each(|entry| books.enter(entry));
            books.summed_up()
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

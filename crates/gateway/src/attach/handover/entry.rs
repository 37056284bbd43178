//! Entries of a client's journal and their binary encoding. Pure.

use switchboard_protocol::{Framing, SetupMessage};

/// One entry of a journal. Entries of one append are atomic: all of them count, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JournalEntry {
    /// Position up to which the client's stream was handled.
    Taken {
        upto: u64,
    },
    Asked(AskedRequest),
    /// Requests of one batch; one answer covers all of them.
    AskedTogether {
        ids: Vec<Id>,
    },
    /// The client no longer expects an answer.
    Cancelled {
        id: Id,
    },
    /// The request went to a second daemon and must not go to a third.
    Repeated {
        id: Id,
    },
    /// Position up to which output is committed.
    Written {
        upto: u64,
    },
    Answered {
        id: Id,
    },
    /// Request to the client, still unanswered.
    Question {
        id: Id,
    },
    Resolved {
        id: Id,
    },
    /// Message that the next daemon must hear: `initialize`, `initialized`, or the log level.
    Said {
        what: SetupMessage,
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

/// Id of a request, as it was spelled.
pub(crate) type Id = Vec<u8>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskedRequest {
    pub(crate) id: Id,
    /// The whole request, if it is safe to repeat. Empty otherwise.
    pub(crate) again: Vec<u8>,
    /// Whether it was made in the modern era, whose errors have other codes.
    pub(crate) is_modern: bool,
}

// Layout: tag, number, count of texts, then each text after its length; all numbers little-endian. Tags are
// never reused, since a daemon of another version may read them.
pub(crate) fn encode(entry: &JournalEntry, into: &mut Vec<u8>) {
    let mut put = |tag: u8, number: u64, texts: &[&[u8]]| {
        into.push(tag);
        into.extend_from_slice(&number.to_le_bytes());
        // The count lets a reader skip texts that a later version appends to an entry.
        into.extend_from_slice(&(texts.len() as u32).to_le_bytes());
        for text in texts {
            into.extend_from_slice(&(text.len() as u32).to_le_bytes());
            into.extend_from_slice(text);
        }
    };
    match entry {
        JournalEntry::Taken { upto } => put(1, *upto, &[]),
        JournalEntry::Asked(AskedRequest { id, again, is_modern }) => {
            put(2, u64::from(*is_modern), &[id, again]);
        }
        JournalEntry::AskedTogether { ids } => put(3, 0, &ids.iter().map(Vec::as_slice).collect::<Vec<_>>()),
        JournalEntry::Cancelled { id } => put(4, 0, &[id]),
        JournalEntry::Repeated { id } => put(5, 0, &[id]),
        JournalEntry::Written { upto } => put(6, *upto, &[]),
        JournalEntry::Answered { id } => put(7, 0, &[id]),
        JournalEntry::Said { what, line } => put(8, *what as u64, &[line]),
        JournalEntry::Subscribed { uri } => put(9, 0, &[uri]),
        JournalEntry::Unsubscribed { uri } => put(10, 0, &[uri]),
        JournalEntry::Question { id } => put(12, 0, &[id]),
        JournalEntry::Resolved { id } => put(13, 0, &[id]),
        JournalEntry::Speaks { framing } => put(11, u64::from(*framing == Framing::ContentLength), &[]),
    }
}

/// Entries of one append. Decoding stops at the first unknown entry, which another version wrote: without its
/// layout, the rest cannot be read either.
pub(crate) fn decode(mut bytes: &[u8]) -> Vec<JournalEntry> {
    let mut entries = Vec::new();
    while let Some(entry) = decode_one(&mut bytes) {
        entries.push(entry);
    }
    entries
}

fn decode_one(rest: &mut &[u8]) -> Option<JournalEntry> {
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
        1 => JournalEntry::Taken { upto: number },
        2 => {
            let (id, again) = (texts.next()?, texts.next()?);
            JournalEntry::Asked(AskedRequest { id, again, is_modern: number == 1 })
        }
        3 => JournalEntry::AskedTogether { ids: texts.collect() },
        4 => JournalEntry::Cancelled { id: texts.next()? },
        5 => JournalEntry::Repeated { id: texts.next()? },
        6 => JournalEntry::Written { upto: number },
        7 => JournalEntry::Answered { id: texts.next()? },
        8 => {
            let what = match number {
                0 => SetupMessage::Initialize,
                1 => SetupMessage::Initialized,
                _ => SetupMessage::Level,
            };
            JournalEntry::Said { what, line: texts.next()? }
        }
        9 => JournalEntry::Subscribed { uri: texts.next()? },
        10 => JournalEntry::Unsubscribed { uri: texts.next()? },
        11 => JournalEntry::Speaks {
            framing: if number == 0 { Framing::Newline } else { Framing::ContentLength },
        },
        12 => JournalEntry::Question { id: texts.next()? },
        13 => JournalEntry::Resolved { id: texts.next()? },
        _ => return None,
    })
}

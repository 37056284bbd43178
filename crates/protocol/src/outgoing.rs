//! What goes out: the bytes that came in, with a few places replaced. Nothing else is copied or changed.

use crate::id::RawId;
use crate::message::Message;
use crate::touch::Span;
use bytes::Bytes;
use smallvec::SmallVec;

/// What stands in a replaced place.
#[derive(Debug, Clone)]
pub enum Patch {
    Id(RawId),
    Static(&'static [u8]),
    /// Any other JSON: the name that a server knows, in place of the one that clients know.
    Text(Bytes),
}

impl Patch {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Id(id) => id.as_bytes(),
            Self::Static(bytes) => bytes,
            Self::Text(bytes) => bytes,
        }
    }
}

/// Which requests of the receiver are answered by a message, for those who keep books of them.
#[derive(Debug, Clone, Default)]
pub enum Answers {
    #[default]
    Nothing,
    One(RawId),
    /// Those of the answers in this array.
    Batch,
}

/// A message on its way out.
#[derive(Debug, Clone)]
pub struct Outgoing {
    bytes: Bytes,
    answers: Answers,
    /// In the order of their places, not overlapping.
    splices: SmallVec<[(Span, Patch); 2]>,
    /// The bytes did not come as a line, and may have line breaks in them.
    multiline: bool,
    /// The bytes will be sent again and again.
    prepared: bool,
    /// The receiver is asked for an answer.
    question: bool,
}

impl Outgoing {
    pub fn of(message: &Message) -> Self {
        let splices = message.patch().into_iter().collect();
        Self { splices, multiline: message.is_multiline(), ..Self::raw(message.bytes().clone()) }
    }

    /// Bytes that stand on one line as they are.
    pub fn raw(bytes: Bytes) -> Self {
        let (answers, splices) = (Answers::Nothing, SmallVec::new());
        Self { bytes, answers, splices, multiline: false, prepared: false, question: false }
    }

    /// The same for bytes that are kept, to be sent to others too.
    pub fn prepared(bytes: Bytes) -> Self {
        Self { prepared: true, ..Self::raw(bytes) }
    }

    pub fn is_prepared(&self) -> bool {
        self.prepared
    }

    /// Notes that the receiver is asked for an answer.
    pub fn asking(self) -> Self {
        Self { question: true, ..self }
    }

    pub fn is_question(&self) -> bool {
        self.question
    }

    /// Notes what it is the answer to.
    pub fn answering(self, answers: Answers) -> Self {
        Self { answers, ..self }
    }

    pub fn answers(&self) -> &Answers {
        &self.answers
    }

    /// Puts `patch` in place of the bytes at `span`; an empty span inserts.
    pub fn replace(&mut self, span: Span, patch: Patch) {
        let at = self.splices.partition_point(|(other, _)| other.start <= span.start);
        self.splices.insert(at, (span, patch));
    }

    pub fn len(&self) -> usize {
        let replaced: usize = self.splices.iter().map(|(span, _)| span.range().len()).sum();
        let put: usize = self.splices.iter().map(|(_, patch)| patch.as_bytes().len()).sum();
        self.bytes.len() - replaced + put
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pieces in order: slices of the original, and patches.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let mut from = 0;
        let spliced = self.splices.iter().flat_map(move |(span, patch)| {
            let kept = Piece::Kept(from..span.start as usize);
            from = span.end as usize;
            [kept, Piece::Put(patch.as_bytes())]
        });
        let tail = self.splices.last().map_or(0, |(span, _)| span.end as usize);
        spliced.chain(std::iter::once(Piece::Kept(tail..self.bytes.len())))
    }

    /// The bytes that [`Piece::Kept`] speaks of.
    pub fn original(&self) -> &Bytes {
        &self.bytes
    }

    pub fn write_to(&self, out: &mut Vec<u8>) {
        let mut from = 0;
        for (span, patch) in &self.splices {
            out.extend_from_slice(&self.bytes[from..span.start as usize]);
            out.extend_from_slice(patch.as_bytes());
            from = span.end as usize;
        }
        out.extend_from_slice(&self.bytes[from..]);
    }

    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len());
        self.write_to(&mut out);
        out
    }

    /// The same on one line, for a peer that cuts its stream at newlines. Between tokens a line break is
    /// white space like any other, and inside a string it cannot stand.
    pub fn on_one_line(mut self) -> Self {
        if self.multiline && memchr::memchr2(b'\n', b'\r', &self.bytes).is_some() {
            let flat: Vec<u8> =
                self.bytes.iter().map(|&b| if matches!(b, b'\n' | b'\r') { b' ' } else { b }).collect();
            self.bytes = flat.into();
        }
        self
    }
}

/// A stretch of an [`Outgoing`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    /// This range of the original bytes.
    Kept(std::ops::Range<usize>),
    /// These bytes instead.
    Put(&'a [u8]),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_replaced_in_order_however_they_were_given() {
        let mut out = Outgoing::raw(Bytes::from_static(b"{\"id\":7,\"token\":7}"));
        out.replace(Span::new(16, 17), Patch::Id(RawId::from_bytes(b"\"long\"")));
        out.replace(Span::new(6, 7), Patch::Id(RawId::from_number(1234)));
        out.replace(Span::new(1, 1), Patch::Static(b"\"a\":0,"));
        assert_eq!(out.to_vec(), b"{\"a\":0,\"id\":1234,\"token\":\"long\"}");
        assert_eq!(out.len(), out.to_vec().len());
    }

    #[test]
    fn a_name_is_replaced_by_any_other() {
        let mut out = Outgoing::raw(Bytes::from_static(b"{\"name\":\"files__read\"}"));
        out.replace(Span::new(8, 21), Patch::Text(Bytes::from_static(b"\"read\"")));
        assert_eq!(out.to_vec(), b"{\"name\":\"read\"}");
        assert_eq!(out.len(), out.to_vec().len());
    }

    #[test]
    fn line_breaks_between_tokens_become_spaces() {
        let mut out = Outgoing::raw(Bytes::from_static(b"{\r\n \"id\": 7\n}"));
        out.multiline = true;
        out.replace(Span::new(10, 11), Patch::Id(RawId::from_number(8)));
        assert_eq!(out.on_one_line().to_vec(), b"{   \"id\": 8 }");
    }
}

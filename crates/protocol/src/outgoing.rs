//! Outgoing messages: received bytes with a few spans replaced, or bytes of our own. Everything else stays
//! uncopied and unchanged. Must not know who receives them.

use crate::error_kind::ErrorKind;
use crate::id::RawId;
use crate::message::{Kind, Message};
use crate::method::Method;
use crate::touch::{Part, Span};
use bytes::Bytes;
use smallvec::SmallVec;
use std::time::Duration;

/// The replacement of a span.
#[derive(Debug, Clone)]
pub enum Patch {
    Id(RawId),
    Static(&'static [u8]),
    /// Any other JSON, such as the server's name for a tool in place of the client's.
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

/// Kind of an outgoing message, set when it was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutgoingKind {
    /// A request: the receiver owes an answer.
    Request,
    Notification,
    Response {
        failed: bool,
    },
    /// The responses to a batch, in one array.
    BatchResponse,
}

impl From<Kind> for OutgoingKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Request => Self::Request,
            Kind::Notification => Self::Notification,
            Kind::Response { failed } => Self::Response { failed },
        }
    }
}

/// Reason of an error response of our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    pub kind: ErrorKind,
    /// Seconds after which a retry may succeed, rounded up; 0 if unknown. Two bytes, since every message has
    /// room for them.
    retry_after: u16,
}

impl Refusal {
    pub fn new(kind: ErrorKind, retry_after: Option<Duration>) -> Self {
        // Rounded up: a client that retries too early is refused again.
        let seconds = |wait: Duration| u16::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u16::MAX);
        Self { kind, retry_after: retry_after.map_or(0, seconds) }
    }

    /// Seconds after which a retry may succeed.
    pub fn retry_after(self) -> Option<u16> {
        (self.retry_after > 0).then_some(self.retry_after)
    }
}

/// Source of an outgoing message's id.
#[derive(Debug, Clone)]
enum IdSource {
    None,
    /// The bytes at this span, or the patch over them.
    At(Span),
    Known(RawId),
}

/// A message on its way out. Carries its kind, method and id, so that later stages need not parse it.
#[derive(Debug, Clone)]
pub struct Outgoing {
    bytes: Bytes,
    id: IdSource,
    /// Sorted by span, without overlap.
    splices: SmallVec<[(Span, Patch); 2]>,
    kind: OutgoingKind,
    method: Method,
    /// The bytes did not arrive as a line and may contain line breaks.
    multiline: bool,
    /// The bytes are stored elsewhere and will be sent repeatedly.
    prepared: bool,
    /// Set for an error of our own, so that a front need not parse it.
    refusal: Option<Refusal>,
}

impl Outgoing {
    /// A received message, to be forwarded.
    pub fn of(message: &Message) -> Self {
        // The new name becomes a splice, and the bytes stay shared with the message.
        let renamed = message.renamed().map(|(span, text)| (span, Patch::Text(text.clone())));
        let id = message.span(Part::Id);
        Self {
            bytes: message.bytes().clone(),
            id: if id.is_absent() { IdSource::None } else { IdSource::At(id) },
            splices: renamed.into_iter().collect(),
            kind: message.kind().into(),
            method: message.method(),
            multiline: message.is_multiline(),
            prepared: false,
            refusal: None,
        }
    }

    /// A request of our own. Here and below, `bytes` are one line and agree with the other arguments.
    pub fn request(method: Method, id: RawId, bytes: Bytes) -> Self {
        Self::own(OutgoingKind::Request, method, IdSource::Known(id), bytes)
    }

    /// A notification of our own.
    pub fn notification(method: Method, bytes: Bytes) -> Self {
        Self::own(OutgoingKind::Notification, method, IdSource::None, bytes)
    }

    /// A successful response of our own.
    pub fn response(id: RawId, bytes: Bytes) -> Self {
        Self::own(OutgoingKind::Response { failed: false }, Method::Other, IdSource::Known(id), bytes)
    }

    /// A successful response whose bytes are stored and shared with other receivers.
    pub fn prepared_response(id: RawId, bytes: Bytes) -> Self {
        Self { prepared: true, ..Self::response(id, bytes) }
    }

    /// An error response of our own, with its reason.
    pub fn refusal(id: RawId, bytes: Bytes, refusal: Refusal) -> Self {
        Self { refusal: Some(refusal), ..Self::error(id, bytes) }
    }

    /// An error response of our own whose reason no front needs to know.
    pub fn error(id: RawId, bytes: Bytes) -> Self {
        Self::own(OutgoingKind::Response { failed: true }, Method::Other, IdSource::Known(id), bytes)
    }

    /// The responses to a batch, in one array. `first` is the id of one of them.
    pub fn batch_response(first: RawId, bytes: Bytes) -> Self {
        Self::own(OutgoingKind::BatchResponse, Method::Other, IdSource::Known(first), bytes)
    }

    fn own(kind: OutgoingKind, method: Method, id: IdSource, bytes: Bytes) -> Self {
        let (splices, multiline, prepared, refusal) = (SmallVec::new(), false, false, None);
        Self { bytes, id, splices, kind, method, multiline, prepared, refusal }
    }

    pub fn kind(&self) -> OutgoingKind {
        self.kind
    }

    /// [`Method::Other`] for a response.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The id as it will be written, with its quotes: a request's own id, the id of the request that a
    /// response answers, or the id of one member of a batch response. A notification has none.
    pub fn id(&self) -> Option<&[u8]> {
        match &self.id {
            IdSource::None => None,
            IdSource::Known(id) => Some(id.as_bytes()),
            IdSource::At(span) => {
                // Receivers see the replacement, so callers that track ids must see it too.
                let patch = self.splices.iter().find(|(patched, _)| patched == span);
                Some(patch.map_or(&self.bytes[span.range()], |(_, patch)| patch.as_bytes()))
            }
        }
    }

    pub fn is_request(&self) -> bool {
        self.kind == OutgoingKind::Request
    }

    /// Reason of an error response of our own; `None` for anything that a server sent.
    pub fn reason(&self) -> Option<Refusal> {
        self.refusal
    }

    pub fn is_prepared(&self) -> bool {
        self.prepared
    }

    /// Replaces the bytes at `span` with `patch`; an empty span inserts.
    pub fn replace(&mut self, span: Span, patch: Patch) {
        // Sorted insertion: callers may give replacements in any order.
        let at = self.splices.partition_point(|(other, _)| other.start <= span.start);
        self.splices.insert(at, (span, patch));
    }

    /// Takes back an insertion of this text; `false` if there is none.
    pub(crate) fn take_insertion(&mut self, text: &[u8]) -> bool {
        let is_it = |(span, patch): &(Span, Patch)| span.range().is_empty() && patch.as_bytes() == text;
        let at = self.splices.iter().position(is_it);
        at.map(|at| self.splices.remove(at)).is_some()
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
            let before = Piece::Original(from..span.start as usize);
            from = span.end as usize;
            [before, Piece::Replaced(patch.as_bytes())]
        });
        let tail = self.splices.last().map_or(0, |(span, _)| span.end as usize);
        spliced.chain(std::iter::once(Piece::Original(tail..self.bytes.len())))
    }

    /// The bytes to which [`Piece::Original`] refers.
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

    /// The message on one line, for a peer that splits its stream at newlines. Safe because JSON allows a raw
    /// line break only between tokens, where it is white space.
    pub fn on_one_line(mut self) -> Self {
        if self.multiline && memchr::memchr2(b'\n', b'\r', &self.bytes).is_some() {
            // Byte for byte, so that the spans of the splices stay valid.
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
    Original(std::ops::Range<usize>),
    /// Replacement bytes.
    Replaced(&'a [u8]),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::{Parsed, parse};

    #[test]
    fn spans_are_replaced_in_their_own_order() {
        let mut out = Outgoing::notification(Method::Other, Bytes::from_static(b"{\"id\":7,\"token\":7}"));
        out.replace(Span::new(16, 17), Patch::Id(RawId::from_bytes(b"\"long\"")));
        out.replace(Span::new(6, 7), Patch::Id(RawId::from_number(1234)));
        out.replace(Span::new(1, 1), Patch::Static(b"\"a\":0,"));
        assert_eq!(out.to_vec(), b"{\"a\":0,\"id\":1234,\"token\":\"long\"}");
        assert_eq!(out.len(), out.to_vec().len());
    }

    #[test]
    fn replacement_may_have_any_length() {
        let mut out =
            Outgoing::notification(Method::Other, Bytes::from_static(b"{\"name\":\"files__read\"}"));
        out.replace(Span::new(8, 21), Patch::Text(Bytes::from_static(b"\"read\"")));
        assert_eq!(out.to_vec(), b"{\"name\":\"read\"}");
        assert_eq!(out.len(), out.to_vec().len());
    }

    #[test]
    fn line_breaks_between_tokens_become_spaces() {
        let mut out = Outgoing::notification(Method::Other, Bytes::from_static(b"{\r\n \"id\": 7\n}"));
        out.multiline = true;
        out.replace(Span::new(10, 11), Patch::Id(RawId::from_number(8)));
        assert_eq!(out.on_one_line().to_vec(), b"{   \"id\": 8 }");
    }

    fn of(text: &str) -> Outgoing {
        match parse(text.to_owned().into()) {
            Ok(Parsed::One(message)) => Outgoing::of(&message),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[track_caller]
    fn check(out: &Outgoing, kind: OutgoingKind, method: Method, id: Option<&str>) {
        let found = (out.kind(), out.method(), out.id());
        assert_eq!(found, (kind, method, id.map(str::as_bytes)), "{out:?}");
    }

    #[test]
    fn forwarded_message_knows_what_it_is() {
        use OutgoingKind::{Notification, Request, Response};
        check(&of(r#"{"id":"a","method":"tools/call"}"#), Request, Method::ToolsCall, Some("\"a\""));
        check(&of(r#"{"method":"notifications/progress"}"#), Notification, Method::Progress, None);
        check(&of(r#"{"id":7,"result":{}}"#), Response { failed: false }, Method::Other, Some("7"));
        check(&of(r#"{"error":{},"id":7.5}"#), Response { failed: true }, Method::Other, Some("7.5"));
    }

    #[test]
    fn replaced_id_is_the_one_that_counts() {
        let mut out = of(r#"{"jsonrpc":"2.0","id":"theirs","method":"ping"}"#);
        out.replace(Span::new(1, 17), Patch::Static(b""));
        out.replace(Span::new(22, 30), Patch::Id(RawId::from_number(12)));
        check(&out, OutgoingKind::Request, Method::Ping, Some("12"));
        assert_eq!(out.to_vec(), br#"{"id":12,"method":"ping"}"#);
    }

    #[test]
    fn own_message_says_what_it_is() {
        let id = || RawId::from_bytes(b"\"x\"");
        let request = Outgoing::request(Method::Ping, id(), Bytes::new());
        check(&request, OutgoingKind::Request, Method::Ping, Some("\"x\""));
        let error = Outgoing::error(id(), Bytes::new());
        check(&error, OutgoingKind::Response { failed: true }, Method::Other, Some("\"x\""));
        let batch = Outgoing::batch_response(id(), Bytes::new());
        check(&batch, OutgoingKind::BatchResponse, Method::Other, Some("\"x\""));
        assert!(Outgoing::prepared_response(id(), Bytes::new()).is_prepared());
    }

    /// Every message is one of these: made, moved and queued.
    #[test]
    fn outgoing_message_stays_small() {
        assert!(size_of::<Outgoing>() <= 168, "{} bytes", size_of::<Outgoing>());
    }
}

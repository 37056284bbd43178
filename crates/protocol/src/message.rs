//! One JSON-RPC message: the bytes that arrived, and where its parts are.

use crate::id::RawId;
use crate::method::{self, Method};
use crate::touch::{PARTS, Part, Span};
use bytes::Bytes;
use std::borrow::Cow;
use std::sync::Arc;

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Request,
    Notification,
    Response { failed: bool },
}

/// A message that passed the envelope's checks. It changes hands many times on its way, so it is a pointer:
/// moving its spans about cost more than the allocation. Copies share what they have in common until one is changed:
/// a handshake is kept for each of a client's servers.
#[derive(Debug, Clone)]
pub struct Message(Arc<Anatomy>);

#[derive(Debug, Clone)]
struct Anatomy {
    bytes: Bytes,
    kind: Kind,
    method: Method,
    spans: [Span; PARTS],
    multiline: bool,
    /// A part that is to be called something else, wherever the message goes from here.
    renamed: Option<(Part, Bytes)>,
}

impl Message {
    /// A message of which only the bytes are known. [`fill`](Self::fill) records its parts where they will stay.
    pub(crate) fn blank(bytes: Bytes) -> Self {
        let spans = [Span::default(); PARTS];
        Self(Arc::new(Anatomy {
            bytes,
            kind: Kind::Notification,
            method: Method::Other,
            spans,
            multiline: false,
            renamed: None,
        }))
    }

    pub(crate) fn fill<E>(
        &mut self,
        read: impl FnOnce(&[u8], &mut [Span; PARTS]) -> Result<(Kind, Method), E>,
    ) -> Result<(), E> {
        let Anatomy { bytes, spans, kind, method, .. } = Arc::make_mut(&mut self.0);
        (*kind, *method) = read(bytes, spans)?;
        Ok(())
    }

    /// Notes that this did not come as a line, so that it may hold line breaks.
    pub fn mark_multiline(&mut self) {
        Arc::make_mut(&mut self.0).multiline = true;
    }

    pub(crate) fn is_multiline(&self) -> bool {
        self.0.multiline
    }

    /// The same in memory of its own. Whoever keeps a message for long would otherwise keep the whole buffer that it was
    /// read into.
    pub fn detached(&self) -> Self {
        let bytes = Bytes::copy_from_slice(&self.0.bytes);
        Self(Arc::new(Anatomy { bytes, ..(*self.0).clone() }))
    }

    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// [`Method::Other`] for a response.
    pub fn method(&self) -> Method {
        self.0.method
    }

    /// Calls a part something else: a name that its sender and its receiver know differently. `text` is JSON.
    pub fn rename(&mut self, part: Part, text: Bytes) {
        let renamed = self.has(part).then_some((part, text));
        Arc::make_mut(&mut self.0).renamed = renamed;
    }

    /// The span that [`rename`](Self::rename) gave another text, and that text.
    pub(crate) fn renamed(&self) -> Option<(Span, &Bytes)> {
        let (part, text) = self.0.renamed.as_ref()?;
        Some((self.span(*part), text))
    }

    pub fn span(&self, part: Part) -> Span {
        self.0.spans[part as usize]
    }

    /// The bytes of a part as they stand in the message, quotes included; under its other name if it has one.
    pub fn part(&self, part: Part) -> Option<&[u8]> {
        if let Some((renamed, text)) = &self.0.renamed
            && *renamed == part
        {
            return Some(text);
        }
        let span = self.span(part);
        (!span.is_absent()).then(|| &self.0.bytes[span.range()])
    }

    pub fn has(&self, part: Part) -> bool {
        !self.span(part).is_absent()
    }

    /// The id as it was spelled. A notification has none.
    pub fn id(&self) -> Option<RawId> {
        self.part(Part::Id).map(RawId::from_bytes)
    }

    /// A part that is a string, decoded.
    pub fn text(&self, part: Part) -> Option<Cow<'_, str>> {
        self.part(part).and_then(method::text)
    }

    /// The method's name, for people to read.
    pub fn method_name(&self) -> Cow<'_, str> {
        match self.0.method.name() {
            Some(name) => Cow::Borrowed(name),
            None => self.text(Part::Method).unwrap_or(Cow::Borrowed("?")),
        }
    }
}

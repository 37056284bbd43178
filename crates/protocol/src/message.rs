//! One JSON-RPC message: the bytes that arrived and the spans of its parts. Must not know who sent it.

use crate::id::RawId;
use crate::method::{self, Method};
use crate::touch::{PARTS, Part, Span};
use bytes::Bytes;
use std::borrow::Cow;
use std::sync::Arc;

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Request,
    Notification,
    Response { failed: bool },
}

/// A message that passed the envelope's checks. A pointer, because a message changes hands many times: moving
/// its spans costs more than the allocation. Copies share memory until one of them changes: a client's
/// handshake is stored once per server.
#[derive(Debug, Clone)]
pub struct Message(Arc<Anatomy>);

#[derive(Debug, Clone)]
struct Anatomy {
    bytes: Bytes,
    kind: Kind,
    method: Method,
    spans: [Span; PARTS],
    multiline: bool,
    /// Replacement for one part, applied wherever the message goes from here.
    renamed: Option<(Part, Bytes)>,
}

impl Message {
    /// A message with bytes only. [`fill`](Self::fill) records the parts in place, without a copy of the spans.
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
        // The only reference to a blank message, so nothing is copied.
        let Anatomy { bytes, spans, kind, method, .. } = Arc::make_mut(&mut self.0);
        (*kind, *method) = read(bytes, spans)?;
        Ok(())
    }

    /// Marks a message that did not arrive as a line and may contain line breaks.
    pub fn mark_multiline(&mut self) {
        Arc::make_mut(&mut self.0).multiline = true;
    }

    pub(crate) fn is_multiline(&self) -> bool {
        self.0.multiline
    }

    /// A copy in memory of its own. A message that is stored for long would otherwise keep its whole read buffer alive.
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

    /// Replaces a part with `text`, which is JSON: a name that sender and receiver know differently.
    pub fn rename(&mut self, part: Part, text: Bytes) {
        // An absent part has no position at which a replacement could go.
        let renamed = self.has(part).then_some((part, text));
        Arc::make_mut(&mut self.0).renamed = renamed;
    }

    /// Takes over the replacement of another message with the same parts.
    pub(crate) fn rename_like(&mut self, other: &Self) {
        if let Some((part, text)) = &other.0.renamed {
            self.rename(*part, text.clone());
        }
    }

    /// The span that [`rename`](Self::rename) replaced, and its new text.
    pub(crate) fn renamed(&self) -> Option<(Span, &Bytes)> {
        let (part, text) = self.0.renamed.as_ref()?;
        Some((self.span(*part), text))
    }

    pub fn span(&self, part: Part) -> Span {
        self.0.spans[part as usize]
    }

    /// The bytes of a part with their quotes, or the replacement from [`rename`](Self::rename).
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

    /// The id as spelled by the sender. A notification has none.
    pub fn id(&self) -> Option<RawId> {
        self.part(Part::Id).map(RawId::from_bytes)
    }

    /// The decoded text of a part that is a string.
    pub fn text(&self, part: Part) -> Option<Cow<'_, str>> {
        self.part(part).and_then(method::text)
    }

    /// The method's name, for people.
    pub fn method_name(&self) -> Cow<'_, str> {
        match self.0.method.name() {
            Some(name) => Cow::Borrowed(name),
            None => self.text(Part::Method).unwrap_or(Cow::Borrowed("?")),
        }
    }
}

//! The `_meta` that a modern client repeats in each of its requests. Equal bytes need no second scan. Must not know who
//! sends a message.

use crate::touch::{PARTS, Part, Span};

/// Longest `_meta` that is kept. Usual ones have about 250 bytes.
const MAX_CACHED_BYTES: usize = 2048;

/// The parts inside `_meta`, in the order of [`Part`].
const INSIDE: std::ops::RangeInclusive<usize> =
    Part::MetaProgressToken as usize..=Part::MetaAuthToken as usize;

/// The last `_meta` with a declaration that one sender has sent, and the positions of its parts.
#[derive(Debug, Default)]
pub struct MetaCache {
    /// The whole object. An object tells its own end, so equal bytes are an equal value wherever they stand.
    text: Vec<u8>,
    /// The parts, relative to the start of the object; absent parts are left out.
    parts: Vec<(usize, Span)>,
}

impl MetaCache {
    /// Records the parts of the `_meta` at `start`, if it is the cached one. Returns the offset behind it.
    #[inline]
    pub(crate) fn recall(&self, bytes: &[u8], start: usize, spans: &mut [Span; PARTS]) -> Option<usize> {
        if self.text.is_empty() || !bytes[start..].starts_with(&self.text) {
            return None;
        }
        for &(part, span) in &self.parts {
            spans[part] = Span::new(span.start as usize + start, span.end as usize + start);
        }
        Some(start + self.text.len())
    }

    /// Keeps a `_meta` that was scanned in full and has nothing doubtful.
    pub(crate) fn keep(&mut self, bytes: &[u8], range: std::ops::Range<usize>, spans: &[Span; PARTS]) {
        let has = |part: Part| !spans[part as usize].is_absent();
        // Progress tokens differ in each request, and a token of the client is not to be kept in one more place.
        let is_repeated =
            has(Part::MetaVersion) && !has(Part::MetaProgressToken) && !has(Part::MetaAuthToken);
        if !is_repeated || range.len() > MAX_CACHED_BYTES {
            return;
        }
        self.text.clear();
        self.text.extend_from_slice(&bytes[range.clone()]);
        let relative =
            |span: Span| Span::new(span.start as usize - range.start, span.end as usize - range.start);
        let found = INSIDE.map(|part| (part, spans[part])).filter(|(_, span)| !span.is_absent());
        self.parts.clear();
        self.parts.extend(found.map(|(part, span)| (part, relative(span))));
    }

    /// The cached bytes.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }
}

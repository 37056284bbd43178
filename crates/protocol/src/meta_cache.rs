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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::{Parsed, parse, parse_repeated};
    use proptest::prelude::*;

    const DECLARED: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"x":[1]}"#;

    fn call(id: u64, meta: &str, rest: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"_meta":{meta}{rest}}}}}"#)
    }

    /// Whatever was parsed before, a message is read as without a cache.
    #[track_caller]
    fn check(cache: &mut MetaCache, text: &str) {
        let cached = parse_repeated(text.to_owned().into(), true, cache);
        let plain = parse(text.to_owned().into());
        assert_eq!(format!("{cached:?}"), format!("{plain:?}"), "{text}");
    }

    #[test]
    fn repeated_meta_is_read_the_same() {
        let mut cache = MetaCache::default();
        for (id, rest) in [(1, ""), (22, r#","name":"echo""#), (333, r#","name":"echo","arguments":{}"#)] {
            check(&mut cache, &call(id, DECLARED, rest));
            assert_eq!(cache.text, DECLARED.as_bytes());
        }
        let other = DECLARED.replace("roots", "elicitation");
        check(&mut cache, &call(4, &other, ""));
        assert_eq!(cache.text, other.as_bytes());
    }

    #[test]
    fn repeated_meta_hides_no_fault() {
        let mut cache = MetaCache::default();
        check(&mut cache, &call(1, DECLARED, ""));
        for rest in
            [format!(r#","_meta":{DECLARED}"#), r#","name":1,"name":2"#.into(), "}".into(), ",".into()]
        {
            check(&mut cache, &call(2, DECLARED, &rest));
        }
        check(&mut cache, &call(3, &DECLARED.replace("roots\":{}", "roots\":{"), ""));
        check(&mut cache, &call(4, &format!("{DECLARED}x"), ""));
    }

    #[test]
    fn meta_with_tokens_is_not_kept() {
        for key in ["progressToken", "switchboard/authToken"] {
            let mut cache = MetaCache::default();
            check(&mut cache, &call(1, &DECLARED.replace("\"x\"", &format!("\"{key}\"")), ""));
            assert!(cache.text.is_empty(), "{key}");
        }
        let mut cache = MetaCache::default();
        check(&mut cache, &call(1, r#"{"io.modelcontextprotocol/clientInfo":{}}"#, ""));
        check(&mut cache, &call(1, &DECLARED.replace("\"x\"", "\"IO.modelcontextprotocol/clientInfo\""), ""));
        assert!(cache.text.is_empty());
    }

    proptest! {
        #[test]
        fn cache_changes_no_result(texts in prop::collection::vec((0..4usize, 0..3usize, "[a-z\\[\\]{}:,\" ]{0,12}"), 1..8)) {
            let metas = [DECLARED.to_owned(), DECLARED.replace("roots", "sampling"), "{}".to_owned(), format!("{} ", DECLARED)];
            let mut cache = MetaCache::default();
            for (meta, shape, noise) in texts {
                let text = match shape {
                    0 => call(1, &metas[meta], ""),
                    1 => call(1, &metas[meta], &noise),
                    _ => call(1, &metas[meta].replacen("x", &noise, 1), ""),
                };
                let cached = parse_repeated(text.clone().into(), true, &mut cache);
                prop_assert!(matches!(cached, Ok(Parsed::One(_)) | Err(_)));
                prop_assert_eq!(format!("{:?}", cached), format!("{:?}", parse(text.into())));
            }
        }
    }
}

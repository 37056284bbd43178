//! The tools of a list as a server sent them: the name and the digest of each definition. Must not know which
//! definitions are approved.

use super::digest::Digest;
use super::list::List;
use super::listing::Unreadable;
use super::scan;
use bytes::Bytes;
use std::sync::Arc;
use switchboard_protocol::json::{self, NotJson, Stepped, What};

/// A tool as a server defines it.
#[derive(Debug, Clone)]
pub struct SeenTool {
    pub name: Arc<str>,
    pub digest: Digest,
    /// The server's own words.
    pub definition: Bytes,
}

/// The tools of a page, or of a whole list.
#[derive(Debug, Clone)]
pub struct Sighting {
    raw: Digest,
    tools: Vec<SeenTool>,
    has_nameless: bool,
}

impl Sighting {
    /// Tools of one page of a server's answer; `result` is that of the answer.
    pub fn of_page(result: &Bytes) -> Result<Self, Unreadable> {
        let mut seen = Self::new(result);
        let mut is_list = true;
        let scanned = scan::members_by(result, json::space(result, 0), |key, start| {
            if !is_taken_for_tools(key) {
                return json::value(result, start);
            }
            // Of several lists a client may take any, so all are read. A key in another letter case is a list
            // to some clients and not to others, so that nobody could tell what they see.
            is_list &= scan::is_key(key, List::Tools.member()) && json::byte(result, start) == Some(b'[');
            match is_list {
                true => scan::elements_by(result, start, |pos| seen.item(result, pos)),
                false => json::value(result, start),
            }
        });
        match scanned.is_ok() && is_list {
            true => Ok(seen),
            false => Err(Unreadable::no_list(List::Tools)),
        }
    }

    /// Tools of a whole list: its items, joined with commas.
    pub(super) fn of_items(items: &Bytes) -> Self {
        let mut seen = Self::new(items);
        if seen.items(items).is_err() {
            // Callers have parsed it before.
            seen.has_nameless = true;
        }
        seen
    }

    fn new(bytes: &[u8]) -> Self {
        Self { raw: Digest::of_bytes(bytes), tools: Vec::new(), has_nameless: false }
    }

    /// Digest of the whole page or list to the letter.
    pub fn raw(&self) -> Digest {
        self.raw
    }

    pub fn tools(&self) -> &[SeenTool] {
        &self.tools
    }

    /// Whether there is an item that has no name, or none that can be decoded.
    pub fn has_nameless(&self) -> bool {
        self.has_nameless
    }

    fn items(&mut self, bytes: &Bytes) -> Result<(), NotJson> {
        let mut pos = json::space(bytes, 0);
        while pos < bytes.len() {
            pos = json::space(bytes, self.item(bytes, pos)?);
            if pos < bytes.len() {
                pos = json::space(bytes, json::exactly(bytes, pos, b',', What::NotClosed)?);
            }
        }
        Ok(())
    }

    /// Steps over the item at `pos` and adds it.
    fn item(&mut self, bytes: &Bytes, pos: usize) -> Stepped {
        let mut names: Vec<Option<Arc<str>>> = Vec::new();
        let end = match json::byte(bytes, pos) {
            Some(b'{') => scan::members(bytes, pos, |key, value| {
                // Of several names a client may take any, so the definition counts for each.
                if scan::is_key(key, List::Tools.key()) {
                    names.push(scan::text(&bytes[value.range()]).map(|name| name.as_ref().into()));
                }
            })?,
            _ => json::value(bytes, pos)?,
        };
        self.has_nameless |= names.is_empty() || names.contains(&None);
        let digest = Digest::of_json(&bytes[pos..end]);
        let seen = names.into_iter().flatten();
        self.tools.extend(seen.map(|name| SeenTool { name, digest, definition: bytes.slice(pos..end) }));
        Ok(end)
    }
}

fn is_taken_for_tools(key: &[u8]) -> bool {
    scan::text(key).is_some_and(|key| key.eq_ignore_ascii_case(List::Tools.member()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(seen: &Sighting) -> Vec<&str> {
        seen.tools().iter().map(|tool| &*tool.name).collect()
    }

    fn page(text: &'static str) -> Result<Sighting, Unreadable> {
        Sighting::of_page(&Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn every_name_is_seen() {
        let seen = page(
            r#"{"n":1,"tools":[{"name":"a"}, {"x":{"name":"no"},"n\u0061me":"\u0062"}],"tools":[{"name":"c","name":"d"}]}"#,
        );
        assert_eq!(names(&seen.unwrap()), ["a", "b", "c", "d"]);
        assert_eq!(names(&page(r#"{"other":[]}"#).unwrap()), Vec::<&str>::new());
    }

    #[test]
    fn items_without_a_name_are_noticed() {
        for (text, expect) in [
            (r#"{"tools":[{"name":"a"}]}"#, false),
            (r#"{"tools":[{"Name":"a"}]}"#, true),
            (r#"{"tools":[{"name":"a"},7]}"#, true),
            (r#"{"tools":[{"name":7}]}"#, true),
            (r#"{"tools":[{"name":"\ud800"}]}"#, true),
            (r#"{"tools":[{"name":"a","name":null}]}"#, true),
        ] {
            assert_eq!(page(text).unwrap().has_nameless(), expect, "{text}");
        }
    }

    #[test]
    fn doubtful_lists_are_unreadable() {
        for text in [r#"{"tools":{}}"#, r#"{"Tools":[]}"#, r#"{"tools":[],"TOOL\u0053":[]}"#, "[]"] {
            assert!(page(text).is_err(), "{text}");
        }
    }

    #[test]
    fn pages_and_lists_agree() {
        let items = r#"{"name":"a","x":[1, 2]},{"x":{},"name":"b"}"#;
        let list = Sighting::of_items(&Bytes::from_static(items.as_bytes()));
        let page = page(r#"{"tools":[ {"x" : [1,2], "name":"a"} ,{"name":"b","x":{} }]}"#).unwrap();
        let seen = |seen: &Sighting| -> Vec<(Arc<str>, Digest)> {
            seen.tools().iter().map(|tool| (tool.name.clone(), tool.digest)).collect()
        };
        assert_eq!(seen(&list), seen(&page));
        assert!(!list.has_nameless() && list.raw() != page.raw());
    }
}

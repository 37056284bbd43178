//! What a server offers: how it introduced itself, and its lists. Also as it is kept on disk, so that clients can be
//! answered before the server runs.

use super::list::{List, Naming};
use super::listing::Listing;
use super::scan;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// The form on disk; whatever has another is not read.
const FORMAT: u32 = 1;

/// What a server offers to clients that can do this.
#[derive(Debug, Clone)]
pub struct Offer {
    welcome: Bytes,
    said: Arc<Said>,
    lists: [Option<Arc<Listing>>; 4],
}

/// What of the welcome is read, once.
#[derive(Debug)]
struct Said {
    capabilities: Value,
    instructions: Option<String>,
}

impl Offer {
    /// `welcome` is the `result` of its `initialize`, as it came. No list is known yet.
    pub fn new(welcome: Bytes) -> Self {
        // Each by itself: a text that cannot be decoded must not cost the capabilities.
        let part = |name| Some(&welcome[scan::member(&welcome, name).ok()??.range()]);
        let capabilities = part("capabilities").and_then(|raw| serde_json::from_slice(raw).ok());
        let instructions = part("instructions").and_then(|raw| Some(scan::text(raw)?.into_owned()));
        let said = Arc::new(Said { capabilities: capabilities.unwrap_or_default(), instructions });
        Self { welcome, said, lists: [const { None }; 4] }
    }

    /// The same with this list, known now.
    pub fn with(mut self, listing: Arc<Listing>) -> Self {
        let list = listing.list();
        self.lists[list as usize] = Some(listing);
        self
    }

    pub fn welcome(&self) -> &Bytes {
        &self.welcome
    }

    /// `None`: not declared, or not known.
    pub fn list(&self, list: List) -> Option<&Arc<Listing>> {
        self.lists[list as usize].as_ref()
    }

    /// Null if there are none.
    pub fn capabilities(&self) -> &Value {
        &self.said.capabilities
    }

    pub fn instructions(&self) -> Option<&str> {
        self.said.instructions.as_deref()
    }

    pub fn declares(&self, list: List) -> bool {
        let capability = match list {
            List::Tools => "tools",
            List::Prompts => "prompts",
            List::Resources | List::Templates => "resources",
        };
        self.has(capability)
    }

    pub fn declares_logging(&self) -> bool {
        self.has("logging")
    }

    pub fn declares_completions(&self) -> bool {
        self.has("completions")
    }

    pub fn declares_tasks(&self) -> bool {
        self.has("tasks")
    }

    pub fn declares_subscribe(&self) -> bool {
        self.capabilities()["resources"]["subscribe"] == true
    }

    fn has(&self, capability: &str) -> bool {
        self.capabilities().get(capability).is_some_and(|value| !value.is_null() && *value != false)
    }

    /// Declared, and not known yet.
    pub fn lacks(&self, list: List) -> bool {
        self.declares(list) && self.list(list).is_none()
    }

    /// Whether the server says the same in both.
    pub fn same_as(&self, other: &Self) -> bool {
        self.welcome == other.welcome
            && self.lists.iter().zip(&other.lists).all(|(one, other)| match (one, other) {
                (None, None) => true,
                (Some(one), Some(other)) => one.same_as(other),
                (Some(_), None) | (None, Some(_)) => false,
            })
    }

    /// The same under another naming; the bytes are shared.
    pub fn under(&self, naming: &Naming) -> Self {
        let again = |list: &Option<Arc<Listing>>| Some(Arc::new(list.as_ref()?.under(naming).ok()?));
        Self { lists: self.lists.each_ref().map(again), ..self.clone() }
    }

    /// For the disk: JSON, with the server's words byte for byte.
    pub fn store(&self) -> Vec<u8> {
        let mut out = format!("{{\"format\":{FORMAT},\"welcome\":").into_bytes();
        out.extend_from_slice(&self.welcome);
        for list in List::ALL {
            if let Some(listing) = self.list(list) {
                out.extend_from_slice(format!(",\"{}\":[", list.member()).as_bytes());
                out.extend_from_slice(listing.original());
                out.push(b']');
            }
        }
        out.push(b'}');
        out
    }

    /// What [`Offer::store`] gave; `None` for anything else.
    pub fn load(bytes: &[u8], naming: &Naming) -> Option<Self> {
        let stored: Stored<'_> = serde_json::from_slice(bytes).ok()?;
        if stored.format != FORMAT {
            return None;
        }
        let welcome = stored.welcome.get();
        if !welcome.starts_with('{') {
            return None;
        }
        let mut offer = Self::new(Bytes::copy_from_slice(welcome.as_bytes()));
        let lists = [stored.tools, stored.prompts, stored.resources, stored.templates];
        for (list, raw) in List::ALL.into_iter().zip(lists) {
            let Some(raw) = raw else { continue };
            let items = raw.get().strip_prefix('[')?.strip_suffix(']')?;
            offer = offer.with(Arc::new(Listing::restore(list, items.as_bytes(), naming).ok()?));
        }
        Some(offer)
    }
}

#[derive(Deserialize)]
struct Stored<'a> {
    format: u32,
    #[serde(borrow)]
    welcome: &'a RawValue,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    prompts: Option<&'a RawValue>,
    #[serde(borrow)]
    resources: Option<&'a RawValue>,
    #[serde(borrow, rename = "resourceTemplates")]
    templates: Option<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::names::Style;

    fn offer(naming: &Naming) -> Offer {
        let welcome = br#"{"capabilities":{"tools":{},"resources":{"subscribe":true},"logging":{}, "tasks":null}, "instructions":"be \u006bind","x":1.50}"#;
        let page = Bytes::from_static(br#"{"tools":[{"name":"a", "x":1.0}]}"#);
        let tools = Listing::read(List::Tools, &[page], naming).unwrap();
        Offer::new(Bytes::from_static(welcome)).with(Arc::new(tools))
    }

    #[test]
    fn what_is_declared() {
        let offer = offer(&Naming::new("s", Style::Prefixed));
        assert!(
            offer.declares(List::Tools) && offer.declares(List::Templates) && !offer.declares(List::Prompts)
        );
        assert!(offer.declares_logging() && offer.declares_subscribe());
        assert!(!offer.declares_tasks() && !offer.declares_completions());
        assert!(offer.lacks(List::Resources) && !offer.lacks(List::Tools) && !offer.lacks(List::Prompts));
        assert_eq!(offer.instructions(), Some("be kind"));
    }

    #[test]
    fn a_text_that_cannot_be_decoded_costs_no_capabilities() {
        let offer =
            Offer::new(Bytes::from_static(br#"{"instructions":"\ud800","capabilities":{"tools":{}}}"#));
        assert!(offer.declares(List::Tools));
        assert_eq!(offer.instructions(), None);
        assert!(!Offer::new(Bytes::from_static(b"nonsense")).declares(List::Tools));
    }

    #[test]
    fn the_disk_gives_back_what_was_stored() {
        let naming = Naming::new("s", Style::Prefixed);
        let offer = offer(&naming);
        let stored = offer.store();
        let loaded = Offer::load(&stored, &naming).unwrap();
        assert!(loaded.same_as(&offer));
        assert_eq!(loaded.store(), stored);
        assert_eq!(loaded.list(List::Tools).unwrap().names().collect::<Vec<_>>(), ["s__a"]);
        assert!(loaded.list(List::Prompts).is_none());
        let plain = loaded.under(&Naming::new("s", Style::Plain));
        assert_eq!(plain.list(List::Tools).unwrap().names().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn whatever_else_is_on_the_disk_is_nothing() {
        let naming = Naming::new("s", Style::Prefixed);
        let stored = offer(&naming).store();
        for end in 0..stored.len() {
            assert!(Offer::load(&stored[..end], &naming).is_none(), "{end}");
        }
        for text in [
            r#"{"format":2,"welcome":{}}"#,
            r#"{"format":1,"welcome":[]}"#,
            r#"{"format":1,"welcome":{},"tools":{}}"#,
            r#"{"format":1}"#,
            "null",
        ] {
            assert!(Offer::load(text.as_bytes(), &naming).is_none(), "{text}");
        }
    }
}

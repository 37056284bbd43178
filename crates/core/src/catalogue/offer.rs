//! The offer of a server: its introduction and its lists. Also stored on disk, so that clients can be
//! answered before the server runs.

use super::digest::Digest;
use super::hints::{CacheScope, Freshness, Hints};
use super::list::{List, Naming};
use super::listing::Listing;
use super::scan;
use super::sighting::Sighting;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// Version of the format on disk; other versions are not read.
const FORMAT_VERSION: u32 = 2;

/// The offer of a server to clients with certain capabilities.
#[derive(Debug, Clone)]
pub struct Offer {
    welcome: Bytes,
    said: Arc<Said>,
    lists: [Option<Arc<Listing>>; 4],
    /// Made on first use, since most servers' tools are compared when they arrive.
    sighting: OnceLock<Arc<Sighting>>,
}

/// The parsed parts of the welcome.
#[derive(Debug)]
struct Said {
    capabilities: Value,
    instructions: Option<String>,
    hints: Hints,
    is_modern: bool,
}

impl Offer {
    /// `welcome` is the raw `result` of `initialize` or `server/discover`. No list is known yet.
    pub fn new(welcome: Bytes) -> Self {
        // Each part separately: a text that cannot be decoded must not cost the capabilities.
        let part = |name| Some(&welcome[scan::member(&welcome, name).ok()??.range()]);
        let capabilities = part("capabilities").and_then(|raw| serde_json::from_slice(raw).ok());
        let instructions = part("instructions").and_then(|raw| Some(scan::text(raw)?.into_owned()));
        let hints = Hints::of_result(&welcome);
        let is_modern = part("supportedVersions").is_some() && part("protocolVersion").is_none();
        let capabilities = capabilities.unwrap_or_default();
        let said = Arc::new(Said { capabilities, instructions, hints, is_modern });
        Self { welcome, said, lists: [const { None }; 4], sighting: OnceLock::new() }
    }

    /// Adds a list.
    pub fn with(mut self, listing: Arc<Listing>) -> Self {
        let list = listing.list();
        if list == List::Tools {
            self.sighting = OnceLock::new();
        }
        self.lists[list as usize] = Some(listing);
        self
    }

    pub fn welcome(&self) -> &Bytes {
        &self.welcome
    }

    /// Whether the welcome answers `server/discover`.
    pub fn is_modern(&self) -> bool {
        self.said.is_modern
    }

    /// `None` if not declared, or not known.
    pub fn list(&self, list: List) -> Option<&Arc<Listing>> {
        self.lists[list as usize].as_ref()
    }

    /// The definitions of its tools; `None` if they are not known.
    pub fn sighting(&self) -> Option<&Arc<Sighting>> {
        let tools = self.list(List::Tools)?;
        Some(self.sighting.get_or_init(|| Arc::new(Sighting::of_items(tools.original()))))
    }

    /// Makes the sighting now. A list that is equal to the known one need not be read again.
    pub(super) fn sight(&self, known: Option<Arc<Sighting>>) {
        let Some(tools) = self.list(List::Tools) else { return };
        let Some(known) = known.filter(|known| known.raw() == Digest::of_bytes(tools.original())) else {
            self.sighting();
            return;
        };
        let _ = self.sighting.set(known);
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
        // Some servers declare what they lack, as `false` or null.
        self.capabilities().get(capability).is_some_and(|value| !value.is_null() && *value != false)
    }

    /// Whether the list is declared, but not known yet.
    pub fn lacks(&self, list: List) -> bool {
        self.declares(list) && self.list(list).is_none()
    }

    /// Whether a modern server allows everyone to be shown this. Without a hint it does not.
    pub fn is_public(&self) -> bool {
        let lists = self.lists.iter().flatten().map(|listing| listing.hints());
        let all = lists.chain([self.said.hints]);
        Freshness::of_all(all.map(Hints::freshness)).scope == CacheScope::Public
    }

    /// Whether the server sent the same in both.
    pub fn same_as(&self, other: &Self) -> bool {
        self.welcome == other.welcome
            && self.lists.iter().zip(&other.lists).all(|(one, other)| match (one, other) {
                (None, None) => true,
                (Some(one), Some(other)) => one.same_as(other) && one.hints() == other.hints(),
                (Some(_), None) | (None, Some(_)) => false,
            })
    }

    /// The same offer under another naming; the bytes are shared.
    pub fn under(&self, naming: &Naming) -> Self {
        // Bytes that were read before can be read again, so no list is lost.
        let again = |list: &Option<Arc<Listing>>| Some(Arc::new(list.as_ref()?.under(naming).ok()?));
        Self { lists: self.lists.each_ref().map(again), ..self.clone() }
    }

    /// The form on disk: a line with the length of each part, and the parts in the server's own words.
    pub fn store(&self) -> Vec<u8> {
        let list = |list| self.list(list).map(|listing| listing.original());
        let [tools, prompts, resources, templates] = List::ALL.map(list);
        let length = |part: Option<&Bytes>| part.map(Bytes::len);
        let lengths = Lengths {
            format: FORMAT_VERSION,
            welcome: self.welcome.len(),
            tools: length(tools),
            prompts: length(prompts),
            resources: length(resources),
            templates: length(templates),
            hints: List::ALL.map(|list| self.list(list).map(|listing| listing.hints()).unwrap_or_default()),
        };
        let mut out = serde_json::to_vec(&lengths).unwrap_or_default();
        out.push(b'\n');
        let parts = [Some(&self.welcome), tools, prompts, resources, templates];
        parts.into_iter().flatten().for_each(|part| out.extend_from_slice(part));
        out
    }

    /// Parses the bytes from [`Offer::store`]; `None` for anything else. Shares the bytes.
    pub fn load(bytes: &Bytes, naming: &Naming) -> Option<Self> {
        let line = bytes.iter().position(|byte| *byte == b'\n')?;
        let lengths: Lengths = serde_json::from_slice(&bytes[..line]).ok()?;
        if lengths.format != FORMAT_VERSION {
            return None;
        }
        let mut rest = bytes.slice(line + 1..);
        let mut next = |length: usize| (length <= rest.len()).then(|| rest.split_to(length));
        let welcome = next(lengths.welcome)?;
        // A cheap check that the lengths belong to this file.
        if !welcome.starts_with(b"{") {
            return None;
        }
        let mut offer = Self::new(welcome);
        let lists = [lengths.tools, lengths.prompts, lengths.resources, lengths.templates];
        for (list, length) in List::ALL.into_iter().zip(lists) {
            let Some(length) = length else { continue };
            let listing = Listing::restore(list, next(length)?, naming).ok()?;
            offer = offer.with(Arc::new(listing.with_old_hints(lengths.hints[list as usize])));
        }
        // Trailing bytes mean a damaged or foreign file.
        rest.is_empty().then_some(offer)
    }
}

#[derive(Serialize, Deserialize)]
struct Lengths {
    format: u32,
    welcome: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompts: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "resourceTemplates")]
    templates: Option<usize>,
    /// Cache hints by list; absent if no list has any.
    #[serde(default, skip_serializing_if = "have_none")]
    hints: [Hints; 4],
}

fn have_none(hints: &[Hints; 4]) -> bool {
    hints.iter().all(Hints::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::names::NameStyle;

    fn offer(naming: &Naming) -> Offer {
        let welcome = br#"{"capabilities":{"tools":{},"resources":{"subscribe":true},"logging":{}, "tasks":null}, "instructions":"be \u006bind","x":1.50}"#;
        let page = Bytes::from_static(br#"{"tools":[{"name":"a", "x":1.0}]}"#);
        let tools = Listing::read(List::Tools, &[page], naming).unwrap();
        Offer::new(Bytes::from_static(welcome)).with(Arc::new(tools))
    }

    #[test]
    fn declared_capabilities_are_read() {
        let offer = offer(&Naming::new("s", NameStyle::Prefixed));
        assert!(
            offer.declares(List::Tools) && offer.declares(List::Templates) && !offer.declares(List::Prompts)
        );
        assert!(offer.declares_logging() && offer.declares_subscribe());
        assert!(!offer.declares_tasks() && !offer.declares_completions());
        assert!(offer.lacks(List::Resources) && !offer.lacks(List::Tools) && !offer.lacks(List::Prompts));
        assert_eq!(offer.instructions(), Some("be kind"));
    }

    #[test]
    fn undecodable_text_costs_no_capabilities() {
        let offer =
            Offer::new(Bytes::from_static(br#"{"instructions":"\ud800","capabilities":{"tools":{}}}"#));
        assert!(offer.declares(List::Tools));
        assert_eq!(offer.instructions(), None);
        assert!(!Offer::new(Bytes::from_static(b"nonsense")).declares(List::Tools));
    }

    #[test]
    fn offer_survives_the_disk() {
        let naming = Naming::new("s", NameStyle::Prefixed);
        let offer = offer(&naming);
        let stored = Bytes::from(offer.store());
        let loaded = Offer::load(&stored, &naming).unwrap();
        assert!(loaded.same_as(&offer));
        assert_eq!(loaded.store(), stored);
        assert_eq!(loaded.list(List::Tools).unwrap().names().collect::<Vec<_>>(), ["s__a"]);
        assert!(loaded.list(List::Prompts).is_none());
        let plain = loaded.under(&Naming::new("s", NameStyle::Plain));
        assert_eq!(plain.list(List::Tools).unwrap().names().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn hints_survive_the_disk() {
        let naming = Naming::new("s", NameStyle::Prefixed);
        let page = Bytes::from_static(br#"{"tools":[],"ttlMs":9000,"cacheScope":"public"}"#);
        let offer =
            Offer::new("{}".into()).with(Arc::new(Listing::read(List::Tools, &[page], &naming).unwrap()));
        let stored = Bytes::from(offer.store());
        let loaded = Offer::load(&stored, &naming).unwrap();
        let hints = loaded.list(List::Tools).unwrap().hints();
        assert_eq!(hints.freshness(), Freshness { ttl_ms: 0, scope: CacheScope::Public });
        // A fresh list takes the place of an equal one of unknown age, but is no change for clients.
        assert!(!loaded.same_as(&offer));
        assert!(loaded.list(List::Tools).unwrap().same_as(offer.list(List::Tools).unwrap()));
        let plain = self::offer(&naming).store();
        assert!(!String::from_utf8(plain).unwrap().contains("hints"), "a legacy offer is stored as before");
    }

    #[test]
    fn foreign_bytes_on_disk_are_refused() {
        let naming = Naming::new("s", NameStyle::Prefixed);
        let stored = Bytes::from(offer(&naming).store());
        for end in 0..stored.len() {
            assert!(Offer::load(&stored.slice(..end), &naming).is_none(), "{end}");
        }
        for text in [
            "{\"format\":1,\"welcome\":2}\n{}",
            "{\"format\":2,\"welcome\":2}\n[]",
            "{\"format\":2,\"welcome\":2}\n{} ",
            "{\"format\":2,\"welcome\":2,\"tools\":1}\n{}\u{7f}",
            "{\"format\":2,\"welcome\":18446744073709551615}\n{}",
            "{\"format\":2}\n",
            "null\n",
        ] {
            assert!(Offer::load(&Bytes::from(text), &naming).is_none(), "{text}");
        }
        assert!(Offer::load(&Bytes::from("{\"format\":2,\"welcome\":2}\n{}"), &naming).is_some());
    }
}

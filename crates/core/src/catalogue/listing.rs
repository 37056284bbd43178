//! One complete list of one server: its original bytes, and the public names of its items. Items are stored
//! once, as the server sent them; public names are inserted when a view is built.

mod reading;
#[cfg(test)]
mod tests;

use super::hints::{Freshness, Hints};
use super::index::Index;
use super::list::{List, Naming};
use super::names::{Collision, NameStyle};
use super::{readings, scan, template, uris};
use bytes::Bytes;
use std::borrow::Cow;
use switchboard_protocol::Span;

/// Reason why an answer is not a list, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable(String);

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

impl Unreadable {
    pub(super) fn no_list(list: List) -> Self {
        unreadable(list, format_args!("`result` has no array `{}`", list.member()))
    }
}

fn unreadable(list: List, why: impl std::fmt::Display) -> Unreadable {
    let method = list.method().name().unwrap_or_default();
    Unreadable(format!("the answer to `{method}` cannot be read: {why}"))
}

/// A complete list of one server.
#[derive(Debug)]
pub struct Listing {
    list: List,
    naming: NameForm,
    original: Bytes,
    hints: Hints,
    entries: Vec<Entry>,
    /// Earlier members with the key's name within an item (duplicates before the one that counts): rare.
    doubled: Vec<(u32, Span)>,
    /// References of tools to their MCP Apps, by entry.
    apps: Vec<(u32, Span)>,
    /// Labels that do not occur literally in `original`.
    made: String,
    index: Index,
    items: usize,
    skipped: usize,
    collisions: Vec<Collision>,
}

/// The part of the naming that is needed later.
#[derive(Debug)]
struct NameForm {
    server: String,
    style: NameStyle,
}

/// A visible item.
#[derive(Debug, Clone, Copy)]
struct Entry {
    item: Span,
    /// The value of its key, including quotes.
    key: Span,
    label: Label,
    shown: Shown,
}

/// Lookup key of an entry: the public name of a tool or prompt, the server's own URI of a resource or template.
#[derive(Debug, Clone, Copy)]
struct Label {
    at: Span,
    home: Home,
}

#[derive(Debug, Clone, Copy)]
enum Home {
    Original,
    Made,
}

/// Relation of the public name to the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    AsSent,
    /// Prefixed or wrapped, without loss.
    Wrapped,
    /// Renamed, truncated, or with characters replaced.
    Altered,
}

impl Listing {
    /// `pages` are the `result` objects of the answers, in order.
    pub fn read(list: List, pages: &[Bytes], naming: &Naming) -> Result<Self, Unreadable> {
        let (original, items) = reading::read_pages(list, pages)?;
        let hints = Hints::of_pages(pages.iter().map(|page| &page[..]));
        Self::name(list, original, items, naming).map(|listing| Self { hints, ..listing })
    }

    /// Parses the bytes from [`Listing::original`].
    pub fn restore(list: List, original: Bytes, naming: &Naming) -> Result<Self, Unreadable> {
        std::str::from_utf8(&original).map_err(|error| unreadable(list, error))?;
        let items = reading::read_joined(list, &original)?;
        Self::name(list, original, items, naming)
    }

    /// The same with hints that the server gave at an unknown time.
    pub(super) fn with_old_hints(self, hints: Hints) -> Self {
        Self { hints: hints.aged(), ..self }
    }

    /// The same items under another naming; the bytes are shared.
    pub fn under(&self, naming: &Naming) -> Result<Self, Unreadable> {
        let items = reading::read_joined(self.list, &self.original)?;
        let named = Self::name(self.list, self.original.clone(), items, naming)?;
        Ok(Self { hints: self.hints, ..named })
    }

    pub fn list(&self) -> List {
        self.list
    }

    /// Number of visible items.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of items that are not objects, or lack a string as their key.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// All items as the server sent them, joined with commas.
    pub fn original(&self) -> &Bytes {
        &self.original
    }

    /// The server's cache hints for this list.
    pub fn hints(&self) -> Hints {
        self.hints
    }

    /// The whole list as the server would answer a modern client, with its hints.
    pub fn modern_result(&self) -> String {
        let Freshness { ttl_ms, scope } = self.hints.freshness();
        // Checked to be UTF-8 when it was parsed.
        let items = std::str::from_utf8(&self.original).unwrap_or_default();
        let member = self.list.member();
        format!(
            r#"{{"resultType":"complete","ttlMs":{ttl_ms},"cacheScope":"{}","{member}":[{items}]}}"#,
            scope.name()
        )
    }

    /// Whether the server sent the same list in `other`, whatever its hints.
    pub fn same_as(&self, other: &Self) -> bool {
        self.list == other.list && self.original == other.original
    }

    /// Name collisions among this server's own items.
    pub fn collisions(&self) -> &[Collision] {
        &self.collisions
    }

    /// Public names of the visible items, in order.
    pub fn names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        (0..self.entries.len() as u32).map(|entry| self.public(entry))
    }

    pub(super) fn server(&self) -> &str {
        &self.naming.server
    }

    pub(super) fn style(&self) -> NameStyle {
        self.naming.style
    }

    pub(super) fn label(&self, entry: u32) -> &str {
        let Label { at, home } = self.entries[entry as usize].label;
        match home {
            Home::Made => &self.made[at.range()],
            // Checked to be UTF-8 when it was parsed.
            Home::Original => std::str::from_utf8(&self.original[at.range()]).unwrap_or_default(),
        }
    }

    fn label_bytes(&self, entry: u32) -> &[u8] {
        let Label { at, home } = self.entries[entry as usize].label;
        match home {
            Home::Made => &self.made.as_bytes()[at.range()],
            Home::Original => &self.original[at.range()],
        }
    }

    /// The entry with this label; `hash` comes from `index::hash`.
    pub(super) fn find(&self, hash: u64, label: &[u8]) -> Option<u32> {
        self.index.find(hash, |entry| self.label_bytes(entry) == label)
    }

    /// The server's own name, as JSON in its original spelling.
    pub(super) fn spelling(&self, entry: u32) -> Bytes {
        self.original.slice(self.entries[entry as usize].key.range())
    }

    /// The server's own name, decoded.
    pub(super) fn own_name(&self, entry: u32) -> Cow<'_, str> {
        scan::text(&self.original[self.entries[entry as usize].key.range()]).unwrap_or_default()
    }

    pub(super) fn public(&self, entry: u32) -> Cow<'_, str> {
        let label = self.label(entry);
        match (self.list, self.entries[entry as usize].shown) {
            (List::Resources, Shown::Wrapped) => uris::encode_resource(self.server(), label).into(),
            (List::Templates, Shown::Wrapped) => uris::encode_template(self.server(), label).into(),
            (_, Shown::AsSent | Shown::Wrapped | Shown::Altered) => label.into(),
        }
    }

    pub(super) fn is_altered(&self, entry: u32) -> bool {
        self.entries[entry as usize].shown == Shown::Altered
    }

    pub(super) fn is_as_sent(&self, entry: u32) -> bool {
        self.entries[entry as usize].shown == Shown::AsSent
    }

    /// Whether the label is the public name.
    pub(super) fn is_shown_by_label(&self, entry: u32) -> bool {
        match self.list {
            List::Tools | List::Prompts => true,
            List::Resources | List::Templates => self.is_as_sent(entry),
        }
    }

    /// Whether a URI matches one of these templates and is not denied. Allowing a template allows its
    /// expansions, and nothing that merely looks like one.
    pub fn has_template_for(&self, naming: &Naming, uri: &str) -> bool {
        let filter = naming.filter(self.list);
        // The list may have been read under a wider naming.
        let is_shown = |template: &str| filter.layers.is_empty() || filter.allows_uri(template);
        let is_of = |template: &str| {
            template::matches(template, uri)
                && is_shown(template)
                && (!filter.is_selective() || readings::allows(&[template::as_glob(template)], uri))
        };
        (0..self.entries.len() as u32).any(|entry| is_of(self.label(entry))) && !filter.denies_uri(uri)
    }

    /// Whether it has items of MCP Apps, or tools that refer to one.
    pub(super) fn has_apps(&self) -> bool {
        match self.list {
            List::Tools => !self.apps.is_empty(),
            List::Prompts => false,
            List::Resources | List::Templates => {
                (0..self.entries.len() as u32).any(|entry| uris::is_ui(self.label(entry)))
            }
        }
    }

    /// Whether `original` is what clients see, apart from references to MCP Apps.
    pub(super) fn is_untouched(&self) -> bool {
        self.entries.len() == self.items && self.entries.iter().all(|entry| entry.shown == Shown::AsSent)
    }

    /// Offset of the entry's item in `original`.
    pub(super) fn start(&self, entry: u32) -> u32 {
        self.entries[entry as usize].item.start
    }

    /// Writes the item with its public name, or with `alias` instead. `app` returns the public URI of an MCP App
    /// if it differs from the server's.
    pub(super) fn write(
        &self,
        entry: u32,
        alias: Option<&str>,
        app: impl Fn(&str) -> Option<String>,
        out: &mut Vec<u8>,
    ) {
        let at = &self.entries[entry as usize];
        let is_named = alias.is_some() || at.shown != Shown::AsSent;
        // Every duplicate key gets the new name, since a client may read any of them.
        let names = of_entry(&self.doubled, entry).chain([at.key]).filter(|_| is_named);
        let mut places: Vec<(Span, Option<String>)> = names.map(|key| (key, None)).collect();
        for place in of_entry(&self.apps, entry) {
            let uri = scan::text(&self.original[place.range()]).and_then(|uri| app(&uri));
            places.extend(uri.map(|uri| (place, Some(uri))));
        }
        places.sort_unstable_by_key(|(place, _)| place.start);
        let mut from = at.item.start as usize;
        for (place, uri) in places {
            out.extend_from_slice(&self.original[from..place.start as usize]);
            match uri {
                Some(uri) => scan::quote(&uri, out),
                None => self.write_name(entry, alias, out),
            }
            from = place.end as usize;
        }
        out.extend_from_slice(&self.original[from..at.item.end as usize]);
    }

    fn write_name(&self, entry: u32, alias: Option<&str>, out: &mut Vec<u8>) {
        match (alias, self.list) {
            (None, List::Templates) if !uris::is_ui(self.label(entry)) => {
                // The text after the prefix keeps its spelling.
                let key = self.entries[entry as usize].key.range();
                out.push(b'"');
                out.extend_from_slice(uris::template_prefix(self.server()).as_bytes());
                out.extend_from_slice(&self.original[key.start + 1..key.end]);
            }
            (None, _) => scan::quote(&self.public(entry), out),
            (Some(alias), _) => scan::quote(alias, out),
        }
    }
}

/// The parts of one entry, in a list that is sorted by entry.
fn of_entry(parts: &[(u32, Span)], entry: u32) -> impl Iterator<Item = Span> {
    let first = parts.partition_point(|(of, _)| *of < entry);
    parts[first..].iter().take_while(move |(of, _)| *of == entry).map(|(_, at)| *at)
}

/// The `nextCursor` of a page in its original spelling, if any.
pub fn next_cursor(result: &[u8]) -> Option<Bytes> {
    let at = scan::member(result, "nextCursor").ok()??;
    let spelling = &result[at.range()];
    // Some servers send `null` after the last page.
    spelling.starts_with(b"\"").then(|| Bytes::copy_from_slice(spelling))
}

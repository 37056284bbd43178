//! One list of one server, complete: as it came, and what its items are called here. The items are kept once, as
//! the server sent them; they are written with their public names when a view is made of them.

use super::filter::Filter;
use super::index::{self, Index};
use super::names::{self, Collision, Style};
use super::{scan, uris};
use bytes::Bytes;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use switchboard_protocol::json;
use switchboard_protocol::{Method, Span};

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl List {
    pub const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    pub fn method(self) -> Method {
        match self {
            Self::Tools => Method::ToolsList,
            Self::Prompts => Method::PromptsList,
            Self::Resources => Method::ResourcesList,
            Self::Templates => Method::ResourceTemplatesList,
        }
    }

    pub fn of(method: Method) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.method() == method)
    }

    /// The member of the result that holds the items.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The member of an item by which it is asked for.
    pub fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }
}

/// How the things of a server are called and which are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    pub server: String,
    pub style: Style,
    pub tools: Filter,
    pub prompts: Filter,
    /// Also for templates.
    pub resources: Filter,
}

impl Naming {
    /// Everything is shown.
    pub fn new(server: impl Into<String>, style: Style) -> Self {
        let open = Filter::default;
        Self { server: server.into(), style, tools: open(), prompts: open(), resources: open() }
    }

    pub fn filter(&self, list: List) -> &Filter {
        match list {
            List::Tools => &self.tools,
            List::Prompts => &self.prompts,
            List::Resources | List::Templates => &self.resources,
        }
    }
}

/// Why an answer is no list, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable(String);

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

fn unreadable(list: List, why: impl std::fmt::Display) -> Unreadable {
    let method = list.method().name().unwrap_or_default();
    Unreadable(format!("the answer to `{method}` cannot be read: {why}"))
}

/// One server's list, complete.
#[derive(Debug)]
pub struct Listing {
    list: List,
    naming: Named,
    original: Bytes,
    entries: Vec<Entry>,
    /// Further members of the key's name within an item, which come before the one that counts: rare.
    doubled: Vec<(u32, Span)>,
    /// Labels that do not stand in `original` as they are.
    made: String,
    index: Index,
    items: usize,
    skipped: usize,
    collisions: Vec<Collision>,
}

/// What of the naming is needed later.
#[derive(Debug)]
struct Named {
    server: String,
    style: Style,
}

/// An item that is shown.
#[derive(Debug, Clone, Copy)]
struct Entry {
    item: Span,
    /// The value of its key, quotes included.
    key: Span,
    label: Label,
    shown: Shown,
}

/// By what an entry is found: the public name of a tool or prompt, the server's own URI of a resource or template.
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

/// How far the public name is the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    AsSent,
    /// With the prefix, or wrapped: nothing is lost.
    Wrapped,
    /// Renamed, cut, or with other characters.
    Altered,
}

impl Listing {
    /// `pages` are the `result` objects of the answers, in order.
    pub fn read(list: List, pages: &[Bytes], naming: &Naming) -> Result<Self, Unreadable> {
        let mut original = Vec::with_capacity(pages.iter().map(Bytes::len).sum());
        for page in pages {
            append_items(list, page, &mut original)?;
        }
        Self::index(list, original.into(), naming)
    }

    /// What [`Listing::original`] gave.
    pub fn restore(list: List, original: &[u8], naming: &Naming) -> Result<Self, Unreadable> {
        std::str::from_utf8(original).map_err(|error| unreadable(list, error))?;
        Self::index(list, Bytes::copy_from_slice(original), naming)
    }

    /// The same items under another naming; their bytes are shared.
    pub fn under(&self, naming: &Naming) -> Result<Self, Unreadable> {
        Self::index(self.list, self.original.clone(), naming)
    }

    pub fn list(&self) -> List {
        self.list
    }

    /// How many items are shown.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many items are no objects, or have no key of type string.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// The items as the server sent them, all of them, comma-joined.
    pub fn original(&self) -> &Bytes {
        &self.original
    }

    /// Whether the server says the same as in `other`.
    pub fn same_as(&self, other: &Self) -> bool {
        self.list == other.list && self.original == other.original
    }

    /// Among this server's own items.
    pub fn collisions(&self) -> &[Collision] {
        &self.collisions
    }

    /// What is shown, by its public name, in order.
    pub fn names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        (0..self.entries.len() as u32).map(|entry| self.public(entry))
    }

    pub(super) fn server(&self) -> &str {
        &self.naming.server
    }

    pub(super) fn style(&self) -> Style {
        self.naming.style
    }

    pub(super) fn label(&self, entry: u32) -> &str {
        let Label { at, home } = self.entries[entry as usize].label;
        match home {
            Home::Made => &self.made[at.range()],
            // It was UTF-8 when it was read.
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

    /// The entry with this label; `hash` is that of [`index::hash`].
    pub(super) fn find(&self, hash: u64, label: &[u8]) -> Option<u32> {
        self.index.find(hash, |entry| self.label_bytes(entry) == label)
    }

    /// The server's own name for it, as it spells it.
    pub(super) fn spelling(&self, entry: u32) -> Bytes {
        self.original.slice(self.entries[entry as usize].key.range())
    }

    /// The server's own name for it.
    pub(super) fn own_name(&self, entry: u32) -> Cow<'_, str> {
        scan::text(&self.original[self.entries[entry as usize].key.range()]).unwrap_or_default()
    }

    pub(super) fn public(&self, entry: u32) -> Cow<'_, str> {
        let label = self.label(entry);
        match (self.list, self.entries[entry as usize].shown) {
            (List::Resources, Shown::Wrapped) => uris::encode_resource(self.server(), label).into(),
            (List::Templates, Shown::Wrapped) => (uris::template_prefix(self.server()) + label).into(),
            (_, Shown::AsSent | Shown::Wrapped | Shown::Altered) => label.into(),
        }
    }

    pub(super) fn is_altered(&self, entry: u32) -> bool {
        self.entries[entry as usize].shown == Shown::Altered
    }

    pub(super) fn is_as_sent(&self, entry: u32) -> bool {
        self.entries[entry as usize].shown == Shown::AsSent
    }

    /// Whether the label is what clients see.
    pub(super) fn is_shown_by_label(&self, entry: u32) -> bool {
        match self.list {
            List::Tools | List::Prompts => true,
            List::Resources | List::Templates => self.is_as_sent(entry),
        }
    }

    /// Whether `original` is exactly what is shown.
    pub(super) fn is_untouched(&self) -> bool {
        self.entries.len() == self.items && self.entries.iter().all(|entry| entry.shown == Shown::AsSent)
    }

    /// Where the entry's item begins in `original`.
    pub(super) fn start(&self, entry: u32) -> u32 {
        self.entries[entry as usize].item.start
    }

    /// Writes the item with its public name, or with `alias` instead.
    pub(super) fn write(&self, entry: u32, alias: Option<&str>, out: &mut Vec<u8>) {
        let at = &self.entries[entry as usize];
        if alias.is_none() && at.shown == Shown::AsSent {
            out.extend_from_slice(&self.original[at.item.range()]);
            return;
        }
        let first = self.doubled.partition_point(|(of, _)| *of < entry);
        let doubled = self.doubled[first..].iter().take_while(|(of, _)| *of == entry).map(|(_, key)| *key);
        let mut from = at.item.start as usize;
        for key in doubled.chain([at.key]) {
            out.extend_from_slice(&self.original[from..key.start as usize]);
            self.write_name(entry, alias, out);
            from = key.end as usize;
        }
        out.extend_from_slice(&self.original[from..at.item.end as usize]);
    }

    fn write_name(&self, entry: u32, alias: Option<&str>, out: &mut Vec<u8>) {
        match (alias, self.list) {
            (None, List::Templates) => {
                // What follows the prefix keeps its spelling.
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

/// Appends the items of a page, on one line and without space between them.
fn append_items(list: List, page: &[u8], out: &mut Vec<u8>) -> Result<(), Unreadable> {
    let fault = |error: json::NotJson| unreadable(list, error.what);
    std::str::from_utf8(page).map_err(|error| unreadable(list, error))?;
    let array =
        scan::member(page, list.member()).map_err(fault)?.filter(|at| page[at.start as usize] == b'[');
    let Some(array) = array else {
        return Err(unreadable(list, format_args!("`result` has no array `{}`", list.member())));
    };
    scan::elements(page, array.start as usize, |item| {
        if !out.is_empty() {
            out.push(b',');
        }
        let from = out.len();
        out.extend_from_slice(&page[item.range()]);
        // Between tokens a line break is white space like any other, and inside a string it cannot stand.
        for byte in out[from..].iter_mut().filter(|b| matches!(b, b'\n' | b'\r')) {
            *byte = b' ';
        }
    })
    .map_err(fault)?;
    Ok(())
}

/// What a first pass finds: every item that may be shown, by the name that it would have if it were alone.
struct Reading<'a> {
    list: List,
    naming: &'a Naming,
    original: &'a [u8],
    entries: Vec<Entry>,
    doubled: Vec<(u32, Span)>,
    made: String,
    items: usize,
    skipped: usize,
}

impl Listing {
    fn index(list: List, original: Bytes, naming: &Naming) -> Result<Self, Unreadable> {
        if u32::try_from(original.len()).is_err() {
            return Err(unreadable(list, "it is too long"));
        }
        let mut reading = Reading {
            list,
            naming,
            original: &original,
            entries: Vec::new(),
            doubled: Vec::new(),
            made: String::new(),
            items: 0,
            skipped: 0,
        };
        reading.items()?;
        let Reading { entries, doubled, made, items, skipped, .. } = reading;
        let named = Named { server: naming.server.clone(), style: naming.style };
        let index = Index::default();
        let collisions = Vec::new();
        let mut listing =
            Self { list, naming: named, original, entries, doubled, made, index, items, skipped, collisions };
        listing.leave_out_doubles();
        listing.settle(naming);
        Ok(listing)
    }

    /// The same name twice: the first is kept.
    fn leave_out_doubles(&mut self) {
        let mut seen = Index::with_room(self.entries.len());
        let mut double = Vec::new();
        for entry in 0..self.entries.len() as u32 {
            let name = self.own_name(entry);
            let hash = index::hash(name.as_bytes());
            if seen.find(hash, |other| self.own_name(other) == name).is_some() {
                double.push(entry);
            } else {
                seen.insert(hash, entry);
            }
        }
        if double.is_empty() {
            return;
        }
        // One word for each name, however often it stands there.
        let told: HashSet<String> = double.iter().map(|&entry| self.own_name(entry).into_owned()).collect();
        let mut told: Vec<String> = told.into_iter().collect();
        told.sort_unstable();
        let server = self.naming.server.clone();
        let collision =
            |name| Collision { list: self.list, name, servers: vec![server.clone()], becomes: None };
        self.collisions.extend(told.into_iter().map(collision));
        self.remove(&double);
    }

    /// Removes entries, given in order.
    fn remove(&mut self, gone: &[u32]) {
        // How many were removed before an entry: by so much its number becomes less.
        let before = |entry: u32| gone.partition_point(|&other| other < entry) as u32;
        let is_gone = |entry: u32| gone.binary_search(&entry).is_ok();
        self.doubled.retain(|(entry, _)| !is_gone(*entry));
        self.doubled.iter_mut().for_each(|(entry, _)| *entry -= before(*entry));
        let mut entry = 0;
        self.entries.retain(|_| {
            entry += 1;
            !is_gone(entry - 1)
        });
    }

    /// Gives every entry a label of its own. What says exactly what it is keeps its name; of several that were altered
    /// into the same name none keeps it, so that it does not depend on the order in which a server lists them.
    fn settle(&mut self, naming: &Naming) {
        self.index = Index::with_room(self.entries.len());
        let all = 0..self.entries.len() as u32;
        let (altered, faithful): (Vec<u32>, Vec<u32>) = all.partition(|&entry| self.is_altered(entry));
        for entry in faithful {
            self.index.insert(index::hash(self.label_bytes(entry)), entry);
        }
        let mut wanted: HashMap<&str, u32> = HashMap::new();
        for &entry in &altered {
            *wanted.entry(self.label(entry)).or_default() += 1;
        }
        let (keep, lose): (Vec<u32>, Vec<u32>) = altered.iter().partition(|&&entry| {
            let label = self.label(entry);
            wanted[label] == 1 && self.find(index::hash(label.as_bytes()), label.as_bytes()).is_none()
        });
        for entry in keep {
            self.index.insert(index::hash(self.label_bytes(entry)), entry);
        }
        for entry in lose {
            self.relabel(entry, naming);
        }
    }

    fn relabel(&mut self, entry: u32, naming: &Naming) {
        let original = self.own_name(entry).into_owned();
        let shown = naming.filter(self.list).renamed(&original);
        let free = |name: &String| self.find(index::hash(name.as_bytes()), name.as_bytes()).is_none();
        let Some(becomes) = names::alternatives(naming.style, &naming.server, &original, shown).find(free)
        else {
            return;
        };
        self.collisions.push(Collision {
            list: self.list,
            name: self.label(entry).to_owned(),
            servers: vec![naming.server.clone()],
            becomes: Some(becomes.clone()),
        });
        self.entries[entry as usize].label = put(&mut self.made, &becomes);
        self.index.insert(index::hash(becomes.as_bytes()), entry);
    }
}

impl Reading<'_> {
    fn items(&mut self) -> Result<(), Unreadable> {
        let list = self.list;
        let fault = |error: json::NotJson| unreadable(list, error.what);
        let bytes = self.original;
        let mut keys: Vec<Span> = Vec::new();
        let mut pos = json::space(bytes, 0);
        while pos < bytes.len() {
            let start = pos;
            keys.clear();
            pos = if bytes[pos] == b'{' {
                let wanted = list.key();
                let note = |key: &[u8], value| {
                    if scan::is_key(key, wanted) {
                        keys.push(value);
                    }
                };
                scan::members(bytes, pos, note).map_err(fault)?
            } else {
                json::value(bytes, pos).map_err(fault)?
            };
            self.item(Span::new(start, pos), &keys);
            pos = json::space(bytes, pos);
            if pos < bytes.len() {
                pos = json::exactly(bytes, pos, b',', json::What::NotClosed).map_err(fault)?;
                pos = json::space(bytes, pos);
            }
        }
        Ok(())
    }

    fn item(&mut self, item: Span, keys: &[Span]) {
        self.items += 1;
        // Most parsers take the last one.
        let Some((&key, earlier)) = keys.split_last() else { return self.skipped += 1 };
        let Some(name) = scan::text(&self.original[key.range()]) else { return self.skipped += 1 };
        let filter = self.naming.filter(self.list);
        if !filter.allows(&name) {
            return;
        }
        let entry = self.entries.len() as u32;
        self.doubled.extend(earlier.iter().map(|&key| (entry, key)));
        let (label, shown) = self.label(key, &name);
        self.entries.push(Entry { item, key, label, shown });
    }

    fn label(&mut self, key: Span, name: &str) -> (Label, Shown) {
        let as_spelled = Label { at: Span { start: key.start + 1, end: key.end - 1 }, home: Home::Original };
        let own = |made: &mut String| {
            if name.len() as u32 == as_spelled.at.end - as_spelled.at.start {
                as_spelled
            } else {
                put(made, name)
            }
        };
        let style = self.naming.style;
        match self.list {
            List::Resources | List::Templates => {
                let stays = style == Style::Plain || uris::stays_as_it_is(name);
                (own(&mut self.made), if stays { Shown::AsSent } else { Shown::Wrapped })
            }
            List::Tools | List::Prompts => {
                let shown = self.naming.filter(self.list).renamed(name);
                match style {
                    Style::Plain if shown == name => (own(&mut self.made), Shown::AsSent),
                    Style::Plain => (put(&mut self.made, shown), Shown::Altered),
                    Style::Prefixed => {
                        let public = names::prefixed(&self.naming.server, name, shown);
                        let how = if public.altered { Shown::Altered } else { Shown::Wrapped };
                        (put(&mut self.made, &public.text), how)
                    }
                }
            }
        }
    }
}

fn put(made: &mut String, text: &str) -> Label {
    let start = made.len();
    made.push_str(text);
    Label { at: Span::new(start, made.len()), home: Home::Made }
}

/// The `nextCursor` of a page, as it is spelled, if there is one.
pub fn next_cursor(result: &[u8]) -> Option<Bytes> {
    let at = scan::member(result, "nextCursor").ok()??;
    let spelling = &result[at.range()];
    spelling.starts_with(b"\"").then(|| Bytes::copy_from_slice(spelling))
}

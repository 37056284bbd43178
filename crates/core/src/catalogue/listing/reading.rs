//! Parser from a server's answers to a [`Listing`]: positions of items and their names, public names, and
//! collisions between them. One pass over the answers, which may be long.

use super::{Entry, Home, Label, Listing, NameForm, Shown, Unreadable, unreadable};
use crate::catalogue::{apps, scan};
use crate::catalogue::{hints::Hints, index, index::Index};
use crate::catalogue::{list::List, list::Naming};
use crate::catalogue::{names, names::Collision, names::NameStyle};
use bytes::Bytes;
use std::collections::{BTreeSet, HashMap};
use switchboard_protocol::json::{self, NotJson, Stepped, What};
use switchboard_protocol::{Span, json::byte};

/// The items of a list, and the positions of their keys.
#[derive(Default)]
pub(super) struct Items {
    found: Vec<Item>,
    /// Duplicate keys of an item, by its number.
    doubled: Vec<(u32, Span)>,
    /// References of a tool to its MCP App, by the number of its item.
    apps: Vec<(u32, Span)>,
}

struct Item {
    at: Span,
    /// The value that counts, of whatever type.
    key: Option<Span>,
}

/// The items of all pages, on one line and without space between them.
pub(super) fn read_pages(list: List, pages: &[Bytes]) -> Result<(Bytes, Items), Unreadable> {
    let mut out = Vec::with_capacity(pages.iter().map(Bytes::len).sum());
    let mut items = Items::default();
    for page in pages {
        std::str::from_utf8(page).map_err(|error| unreadable(list, error))?;
        let found = read_page(list, page, &mut out, &mut items).map_err(|e| unreadable(list, e.what))?;
        if !found {
            return Err(Unreadable::no_list(list));
        }
    }
    // JSON allows a raw line break only between tokens, where it is white space.
    if out.contains(&b'\n') || out.contains(&b'\r') {
        out.iter_mut().filter(|b| matches!(b, b'\n' | b'\r')).for_each(|b| *b = b' ');
    }
    Ok((out.into(), items))
}

/// Appends the items of a page; `false` if the page has no such list.
fn read_page(list: List, page: &[u8], out: &mut Vec<u8>, items: &mut Items) -> Result<bool, NotJson> {
    let before = (out.len(), items.found.len(), items.doubled.len(), items.apps.len());
    let mut found = false;
    scan::members_by(page, json::space(page, 0), |name, start| {
        if !scan::is_key(name, list.member()) {
            return json::value(page, start);
        }
        // Of several members with this name, most parsers take the last.
        out.truncate(before.0);
        items.found.truncate(before.1);
        items.doubled.truncate(before.2);
        items.apps.truncate(before.3);
        found = byte(page, start) == Some(b'[');
        if !found {
            return json::value(page, start);
        }
        scan::elements_by(page, start, |pos| {
            if !out.is_empty() {
                out.push(b',');
            }
            let end = items.item(list, page, pos, out.len())?;
            out.extend_from_slice(&page[pos..end]);
            Ok(end)
        })
    })?;
    Ok(found)
}

/// Parses items joined with commas.
pub(super) fn read_joined(list: List, bytes: &[u8]) -> Result<Items, Unreadable> {
    let fault = |error: NotJson| unreadable(list, error.what);
    let mut items = Items::default();
    let mut pos = json::space(bytes, 0);
    while pos < bytes.len() {
        pos = json::space(bytes, items.item(list, bytes, pos, pos).map_err(fault)?);
        if pos < bytes.len() {
            pos = json::space(bytes, json::exactly(bytes, pos, b',', What::NotClosed).map_err(fault)?);
        }
    }
    Ok(items)
}

impl Items {
    /// Steps over the item at `pos` and records it at position `place`.
    fn item(&mut self, list: List, bytes: &[u8], pos: usize, place: usize) -> Stepped {
        let moved = |at: usize| at - pos + place;
        let mut key = None;
        let end = if byte(bytes, pos) == Some(b'{') {
            scan::members(bytes, pos, |name, value| {
                if scan::is_key(name, list.key()) {
                    let at = Span::new(moved(value.start as usize), moved(value.end as usize));
                    // Most parsers take the last one.
                    let earlier = key.replace(at);
                    self.doubled.extend(earlier.map(|at| (self.found.len() as u32, at)));
                } else if list == List::Tools && scan::is_key(name, apps::META) {
                    apps::references(bytes, value.start as usize, |at| {
                        let at = Span::new(moved(at.start as usize), moved(at.end as usize));
                        self.apps.push((self.found.len() as u32, at));
                    });
                }
            })?
        } else {
            json::value(bytes, pos)?
        };
        self.found.push(Item { at: Span::new(place, moved(end)), key });
        Ok(end)
    }
}

impl Listing {
    pub(super) fn name(
        list: List,
        original: Bytes,
        items: Items,
        naming: &Naming,
    ) -> Result<Self, Unreadable> {
        // Spans are 32 bits wide.
        if u32::try_from(original.len()).is_err() {
            return Err(unreadable(list, "it is too long"));
        }
        let mut listing = Self {
            list,
            hints: Hints::default(),
            naming: NameForm { server: naming.server.clone(), style: naming.style },
            entries: Vec::new(),
            doubled: Vec::new(),
            apps: Vec::new(),
            made: String::new(),
            index: Index::default(),
            items: items.found.len(),
            skipped: 0,
            collisions: Vec::new(),
            original,
        };
        listing.choose(items, naming);
        listing.label_entries(naming);
        Ok(listing)
    }

    /// Selects the visible items, with the name each would have without collisions.
    fn choose(&mut self, items: Items, naming: &Naming) {
        // Shares the bytes; a borrow would conflict with the changes below.
        let original = self.original.clone();
        let filter = naming.filter(self.list);
        let prefix = names::prefix(&naming.server);
        let mut doubled = items.doubled.into_iter().peekable();
        let mut apps = items.apps.into_iter().peekable();
        self.entries.reserve_exact(items.found.len());
        for (number, item) in items.found.iter().enumerate() {
            let name = item.key.and_then(|key| Some((key, scan::text(&original[key.range()])?)));
            let shown = name.as_ref().filter(|(_, name)| filter.shows(self.list, name));
            // Taken even for hidden items, to keep both lists in step.
            while let Some((_, key)) = doubled.next_if(|(of, _)| *of as usize == number) {
                if shown.is_some() {
                    self.doubled.push((self.entries.len() as u32, key));
                }
            }
            while let Some((_, at)) = apps.next_if(|(of, _)| *of as usize == number) {
                if shown.is_some() {
                    self.apps.push((self.entries.len() as u32, at));
                }
            }
            match (&name, shown) {
                (None, _) => self.skipped += 1,
                (Some(_), None) => {}
                (Some(_), Some((key, name))) => {
                    let (label, shown) = self.label_of(*key, name, &prefix, naming);
                    self.entries.push(Entry { item: item.at, key: *key, label, shown });
                }
            }
        }
        // A listing lives as long as its server's offer.
        self.entries.shrink_to_fit();
        self.made.shrink_to_fit();
    }

    fn label_of(&mut self, key: Span, name: &str, prefix: &str, naming: &Naming) -> (Label, Shown) {
        let inner = Span { start: key.start + 1, end: key.end - 1 };
        let own = |made: &mut String| {
            // A name without escapes is as long as its spelling, and equals it.
            let as_spelled = name.len() == inner.range().len();
            if as_spelled { Label { at: inner, home: Home::Original } } else { put(made, name) }
        };
        match (self.list, naming.style) {
            (List::Resources | List::Templates, style) => {
                let shown = match style {
                    NameStyle::Plain => Shown::AsSent,
                    NameStyle::Prefixed => Shown::Wrapped,
                };
                (own(&mut self.made), shown)
            }
            (List::Tools | List::Prompts, NameStyle::Plain) => {
                let shown = naming.filter(self.list).renamed(name);
                if shown == name {
                    return (own(&mut self.made), Shown::AsSent);
                }
                (put(&mut self.made, shown), Shown::Altered)
            }
            (List::Tools | List::Prompts, NameStyle::Prefixed) => {
                let shown = naming.filter(self.list).renamed(name);
                let start = self.made.len();
                let is_exact =
                    shown == name && names::push_exact(prefix, &naming.server, name, &mut self.made);
                if is_exact {
                    let at = Span::new(start, self.made.len());
                    return (Label { at, home: Home::Made }, Shown::Wrapped);
                }
                (put(&mut self.made, &names::prefixed(&naming.server, name, shown).text), Shown::Altered)
            }
        }
    }

    /// Gives every entry a unique label. An exact label keeps its name; of several altered to the same name
    /// none keeps it, so that the result does not depend on the order in which the server lists them.
    fn label_entries(&mut self, naming: &Naming) {
        self.index = Index::with_room(self.entries.len());
        let all = 0..self.entries.len() as u32;
        let (altered, faithful): (Vec<u32>, Vec<u32>) = all.partition(|&entry| self.is_altered(entry));
        let mut double = self.insert_faithful(&faithful);
        double.extend(self.doubles_among(&altered));
        if !double.is_empty() {
            self.leave_out(double);
            // Entry numbers have changed, so the index is rebuilt.
            return self.label_entries(naming);
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
        // After all others have their labels, so that no new name can meet one of them.
        for entry in lose {
            self.relabel(entry, naming);
        }
    }

    /// Inserts entries with exact labels. Returns those whose label is taken: they are duplicates, since the
    /// label is exact.
    fn insert_faithful(&mut self, faithful: &[u32]) -> Vec<u32> {
        let mut double = Vec::new();
        for &entry in faithful {
            let label = self.label_bytes(entry);
            let hash = index::hash(label);
            if self.find(hash, label).is_some() {
                double.push(entry);
            } else {
                self.index.insert(hash, entry);
            }
        }
        double
    }

    fn doubles_among(&self, altered: &[u32]) -> Vec<u32> {
        let mut seen = Index::with_room(altered.len());
        let mut double = Vec::new();
        for &entry in altered {
            let name = self.own_name(entry);
            let hash = index::hash(name.as_bytes());
            if seen.find(hash, |other| self.own_name(other) == name).is_some() {
                double.push(entry);
            } else {
                seen.insert(hash, entry);
            }
        }
        double
    }

    /// Removes duplicates; the first of each name stays.
    fn leave_out(&mut self, mut double: Vec<u32>) {
        double.sort_unstable();
        // One report per name, however often it occurs.
        let told: BTreeSet<String> = double.iter().map(|&entry| self.own_name(entry).into_owned()).collect();
        let servers = vec![self.naming.server.clone()];
        let collision = |name| Collision { list: self.list, name, servers: servers.clone(), becomes: None };
        self.collisions.extend(told.into_iter().map(collision));
        // An entry's number decreases by the number of removed entries before it.
        let before = |entry: u32| double.partition_point(|&other| other < entry) as u32;
        let is_gone = |entry: u32| double.binary_search(&entry).is_ok();
        for parts in [&mut self.doubled, &mut self.apps] {
            parts.retain(|(entry, _)| !is_gone(*entry));
            parts.iter_mut().for_each(|(entry, _)| *entry -= before(*entry));
        }
        let mut entry = 0;
        self.entries.retain(|_| {
            entry += 1;
            !is_gone(entry - 1)
        });
    }

    fn relabel(&mut self, entry: u32, naming: &Naming) {
        let original = self.own_name(entry).into_owned();
        let shown = naming.filter(self.list).renamed(&original);
        let free = |name: &String| self.find(index::hash(name.as_bytes()), name.as_bytes()).is_none();
        // The alternatives have no end, so one is free.
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

fn put(made: &mut String, text: &str) -> Label {
    let start = made.len();
    made.push_str(text);
    Label { at: Span::new(start, made.len()), home: Home::Made }
}

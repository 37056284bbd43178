//! From a server's answers to a [`Listing`]: where each item and its name stand, what it is called, and what of it
//! would be called the same. Linear in the length of the answers.

use super::{Entry, Home, Label, Listing, Named, Shown, Unreadable, unreadable};
use crate::catalogue::index::{self, Index};
use crate::catalogue::list::{List, Naming};
use crate::catalogue::names::{self, Collision, Style};
use crate::catalogue::{scan, uris};
use bytes::Bytes;
use std::collections::{HashMap, HashSet};
use switchboard_protocol::{Span, json};

/// Appends the items of a page, on one line and without space between them.
pub(super) fn append_items(list: List, page: &[u8], out: &mut Vec<u8>) -> Result<(), Unreadable> {
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
    pub(super) fn index(list: List, original: Bytes, naming: &Naming) -> Result<Self, Unreadable> {
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
        let Reading { mut entries, doubled, mut made, items, skipped, .. } = reading;
        entries.shrink_to_fit();
        made.shrink_to_fit();
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

//! The merged lists as bytes, and answers from them. All pages are slices of the same bytes: an answer copies
//! nothing. Must not know who asks.

use super::{Member, View};
use crate::catalogue::cursor;
use crate::catalogue::list::List;
use crate::translation::for_modern;
use bytes::Bytes;
use switchboard_protocol::{Dialect, Era, Outgoing, Patch, RawId, Span};

/// Position of a client in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    First,
    /// The offset from a cursor.
    At(usize),
}

/// The items of all members, joined with commas, and the start of each.
#[derive(Debug)]
pub(super) struct Stock {
    items: Bytes,
    starts: Vec<u32>,
}

impl View {
    /// Number of items in the list.
    pub fn len(&self, list: List) -> usize {
        self.members.iter().filter_map(|member| Some(member.list(list)?.len())).sum()
    }

    /// The answer to a list request. Without a page size everything is one page.
    pub fn answer(
        &self,
        list: List,
        page: Page,
        page_size: Option<usize>,
        id: &RawId,
        dialect: Dialect,
    ) -> Outgoing {
        self.answer_with("", self.stock(list, Era::Legacy), (list, (page, page_size)), id, dialect)
    }

    /// The same from this stock, with further members of the result before the list, each followed by a comma.
    pub(super) fn answer_with(
        &self,
        members: &str,
        stock: &Stock,
        (list, (page, page_size)): (List, (Page, Option<usize>)),
        id: &RawId,
        dialect: Dialect,
    ) -> Outgoing {
        let total = stock.starts.len();
        let from = match page {
            Page::First => 0,
            Page::At(offset) => offset.min(total),
        };
        // A page size of 0 would lead to the same page forever.
        let to = page_size.map_or(total, |size| from.saturating_add(size.max(1)).min(total));
        let mut out = Outgoing::prepared_response(id.clone(), stock.between(from, to));
        // Measured before the head goes in: positions refer to the items alone.
        let end = out.len();
        let version = crate::messages::version_member(dialect);
        let head = format!(r#"{{{version}"id":{id},"result":{{{members}"{}":["#, list.member());
        out.replace(Span::new(0, 0), Patch::Text(head.into()));
        let tail = if to < total {
            Patch::Text(format!(r#"],"nextCursor":"{}"}}}}"#, self.cursor(to)).into())
        } else {
            Patch::Static(b"]}}")
        };
        out.replace(Span::new(end, end), tail);
        out
    }

    /// The cursor for the next page.
    pub fn cursor(&self, offset: usize) -> String {
        cursor::write(self.number, offset)
    }

    /// View number and offset of a cursor; `None` if it is not one of ours.
    pub fn read_cursor(text: &str) -> Option<(u64, usize)> {
        cursor::read(text)
    }

    /// The items for clients of an era.
    pub(super) fn stock(&self, list: List, era: Era) -> &Stock {
        let usual = || self.stocks[list as usize].get_or_init(|| self.make_stock(list, Era::Legacy));
        match (list, era) {
            (List::Tools, Era::Modern) => self.modern_tools().unwrap_or_else(usual),
            _ => usual(),
        }
    }

    /// The tools for modern clients, if they differ: those of legacy servers lack what such clients do not know.
    fn modern_tools(&self) -> Option<&Stock> {
        let differs = |member: &Member| {
            let tools = member.list(List::Tools).filter(|_| member.is_legacy());
            tools.is_some_and(|tools| for_modern::may_have_execution(tools.original()))
        };
        let make = || self.members.iter().any(differs).then(|| self.make_stock(List::Tools, Era::Modern));
        self.modern_tools.get_or_init(make).as_ref()
    }

    fn make_stock(&self, list: List, era: Era) -> Stock {
        let members = || self.members.iter().enumerate().filter_map(|(at, m)| Some((at, m.list(list)?)));
        let mut known = members();
        if let (Some((_, only)), None, Era::Legacy) = (known.next(), known.next(), era)
            // Fast path: a single unchanged list shares the server's own bytes.
            && only.is_untouched()
            && !(self.has_apps && only.has_apps())
        {
            let starts = (0..only.len() as u32).map(|entry| only.start(entry)).collect();
            return Stock { items: only.original().clone(), starts };
        }
        let mut items = Vec::with_capacity(members().map(|(_, listing)| listing.original().len()).sum());
        let mut starts = Vec::with_capacity(self.len(list));
        for (member, listing) in members() {
            let is_translated = era == Era::Modern && self.members[member].is_legacy();
            for entry in 0..listing.len() as u32 {
                if !items.is_empty() {
                    items.push(b',');
                }
                starts.push(items.len() as u32);
                let app = |uri: &str| self.app_uri(member, uri);
                let start = items.len();
                listing.write(entry, self.alias(list, member, entry), app, &mut items);
                let shorter = || for_modern::tool_without_execution(&items[start..]);
                if let Some(shorter) = is_translated.then(shorter).flatten() {
                    items.truncate(start);
                    items.extend_from_slice(shorter.as_bytes());
                }
            }
        }
        items.shrink_to_fit();
        Stock { items: items.into(), starts }
    }
}

impl Stock {
    fn between(&self, from: usize, to: usize) -> Bytes {
        let start = |item: usize| self.starts.get(item).map_or(self.items.len(), |&at| at as usize);
        if from == to {
            return Bytes::new();
        }
        // Without the comma before the next item.
        let end = if to == self.starts.len() { self.items.len() } else { start(to) - 1 };
        self.items.slice(start(from)..end)
    }
}

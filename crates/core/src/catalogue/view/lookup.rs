//! The owner of a tool or prompt, by the name that a client uses.

use super::View;
use crate::catalogue::index;
use crate::catalogue::list::List;
use crate::catalogue::scan;
use crate::catalogue::{names, names::NameStyle};
use bytes::Bytes;

/// The owner of a name. `original` is the server's own name as a JSON string with quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Owner {
        member: usize,
        original: Bytes,
    },
    /// Not listed by any member, but it has the prefix of one whose list is not known.
    Perhaps {
        member: usize,
        original: Bytes,
    },
    Nobody,
}

impl View {
    /// `quoted` is the name as it occurs in the request, with quotes.
    pub fn find(&self, list: List, quoted: &[u8]) -> Found {
        let Some(name) = scan::text(quoted) else { return Found::Nobody };
        if let Some((member, entry)) = self.owner(list, &name) {
            let listing = self.members[member].list(list);
            return listing
                .map_or(Found::Nobody, |listing| Found::Owner { member, original: listing.spelling(entry) });
        }
        self.perhaps(list, &name)
    }

    /// The server of an item that is held back, and would otherwise be shown under this name.
    pub fn holder(&self, list: List, name: &str) -> Option<&str> {
        let is_it = |member: &&super::Member| {
            let (naming, filter) = (&member.naming, member.naming.filter(list));
            let shown = match naming.style {
                NameStyle::Plain => Some(name),
                NameStyle::Prefixed => name.strip_prefix(&names::prefix(&naming.server)),
            };
            // A name that was altered to fit is found only if it is known.
            let is_altered = |own: &str| {
                let text = names::prefixed(&naming.server, own, filter.renamed(own)).text;
                naming.style == NameStyle::Prefixed && text == name && filter.is_held(own)
            };
            shown.is_some_and(|shown| filter.held_by_name(shown).is_some())
                || filter.held.as_ref().is_some_and(|held| held.names().any(|own| is_altered(own)))
        };
        self.members.iter().find(is_it).map(|member| member.naming.server.as_str())
    }

    /// The item shown under this name.
    pub(super) fn owner(&self, list: List, name: &str) -> Option<(usize, u32)> {
        let aliases = &self.aliases[list as usize];
        if let Some(owner) = aliases.owner(name) {
            return Some(owner);
        }
        let hash = index::hash(name.as_bytes());
        let listed = |(at, member): (usize, &super::Member)| {
            Some((at, member.list(list)?.find(hash, name.as_bytes())?))
        };
        // A renamed item no longer answers to its old name.
        let keeps = |(member, entry): &(usize, u32)| aliases.of(*member, *entry).is_none();
        self.members.iter().enumerate().filter_map(listed).find(keeps)
    }

    fn perhaps(&self, list: List, name: &str) -> Found {
        let unknown = || self.members.iter().enumerate().filter(|(_, member)| member.lacks(list));
        let prefixed = unknown()
            .filter(|(_, member)| member.naming.style == NameStyle::Prefixed)
            .filter_map(|(at, member)| Some((at, name.strip_prefix(&names::prefix(&member.naming.server))?)));
        // Of `a` and `a__b` the longer one is meant.
        let best = prefixed.min_by_key(|(_, rest)| rest.len());
        let best = best.or_else(|| {
            let mut plain = unknown().filter(|(_, member)| member.naming.style == NameStyle::Plain);
            // A plain name has no prefix, so it can be guessed only if a single server is left.
            let (only, more) = (plain.next()?, plain.next());
            more.is_none().then_some((only.0, name))
        });
        let Some((member, shown)) = best else { return Found::Nobody };
        let filter = self.members[member].naming.filter(list);
        let own = filter.original(shown);
        // A renamed item no longer answers to its old name.
        if !filter.allows(own) || filter.renamed(own) != shown {
            return Found::Nobody;
        }
        let mut original = Vec::new();
        scan::quote(own, &mut original);
        Found::Perhaps { member, original: original.into() }
    }
}

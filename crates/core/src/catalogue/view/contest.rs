//! New names for items that two members would show under the same name. Nothing is hidden: one keeps the
//! name, and the others get new ones.

use super::Member;
use crate::catalogue::index;
use crate::catalogue::list::List;
use crate::catalogue::listing::Listing;
use crate::catalogue::uris;
use crate::catalogue::{names, names::Collision, names::NameStyle};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Member and entry.
pub(super) type Owner = (usize, u32);

/// Names given in place of others. Nearly always empty.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    by_owner: HashMap<Owner, String>,
    by_name: HashMap<String, Owner>,
}

impl Aliases {
    pub(super) fn of(&self, member: usize, entry: u32) -> Option<&str> {
        // The usual case, without hashing.
        (!self.by_owner.is_empty()).then(|| self.by_owner.get(&(member, entry)))?.map(String::as_str)
    }

    pub(super) fn owner(&self, name: &str) -> Option<Owner> {
        (!self.by_name.is_empty()).then(|| self.by_name.get(name))?.copied()
    }

    fn give(&mut self, owner: Owner, name: String) {
        self.by_owner.insert(owner, name.clone());
        self.by_name.insert(name, owner);
    }
}

pub(super) fn resolve(members: &[Member], list: List, collisions: &mut Vec<Collision>) -> Aliases {
    let mut aliases = Aliases::default();
    for (name, mut owners) in contested(members, list) {
        let is_altered = |owner: &Owner| members[owner.0].list(list).is_none_or(|l| l.is_altered(owner.1));
        // Exact names come first, then the order of the servers.
        owners.sort_by_key(|owner| (is_altered(owner), *owner));
        let server = |owner: &Owner| members[owner.0].naming.server.clone();
        // The first owner keeps the name.
        for owner in &owners[1..] {
            let becomes = other_name(members, list, &aliases, *owner, &name);
            let servers = vec![server(&owners[0]), server(owner)];
            collisions.push(Collision { list, name: name.clone(), servers, becomes: becomes.clone() });
            if let Some(becomes) = becomes {
                aliases.give(*owner, becomes);
            }
        }
    }
    aliases
}

/// Names that more than one member would show. Avoids a map of all names: for two members that may share a
/// name, those of the smaller one are looked up in the other.
fn contested(members: &[Member], list: List) -> BTreeMap<String, Vec<Owner>> {
    let known: Vec<(usize, &Listing)> = members
        .iter()
        .enumerate()
        .filter_map(|(at, member)| Some((at, &**member.list(list)?)))
        .filter(|(_, listing)| !listing.is_empty())
        .collect();
    let stems: Vec<String> = known.iter().map(|(_, listing)| stem(listing)).collect();
    let mut contested: BTreeMap<String, BTreeSet<Owner>> = BTreeMap::new();
    for (at, one) in known.iter().enumerate() {
        for (before, other) in known[..at].iter().enumerate() {
            let (stem, other_stem) = (&stems[at], &stems[before]);
            if !stem.starts_with(other_stem.as_str()) && !other_stem.starts_with(stem.as_str()) {
                continue;
            }
            let (small, large) = if one.1.len() <= other.1.len() { (one, other) } else { (other, one) };
            for entry in (0..small.1.len() as u32).filter(|&entry| small.1.is_shown_by_label(entry)) {
                let name = small.1.label(entry);
                let Some(same) = large.1.find(index::hash(name.as_bytes()), name.as_bytes()) else {
                    continue;
                };
                if large.1.is_shown_by_label(same) {
                    let owners = contested.entry(name.to_owned()).or_default();
                    owners.extend([(small.0, entry), (large.0, same)]);
                }
            }
        }
    }
    contested.into_iter().map(|(name, owners)| (name, owners.into_iter().collect())).collect()
}

/// The common beginning of all labels of a listing: two listings can share a label only if one's stem starts
/// with the other's. Resources and templates are labelled with the server's own URI.
fn stem(listing: &Listing) -> String {
    match (listing.list(), listing.style()) {
        (List::Tools | List::Prompts, NameStyle::Prefixed) => names::stem(listing.server()),
        (List::Resources | List::Templates, _) | (_, NameStyle::Plain) => String::new(),
    }
}

/// Returns `None` if it cannot have another name.
fn other_name(members: &[Member], list: List, aliases: &Aliases, owner: Owner, name: &str) -> Option<String> {
    let naming = &members[owner.0].naming;
    match list {
        List::Resources => Some(uris::encode_resource(&naming.server, name)),
        List::Templates => Some(uris::encode_template(&naming.server, name)),
        List::Tools | List::Prompts => {
            let is_free = |name: &String| {
                let hash = index::hash(name.as_bytes());
                let is_listed = |member: &Member| {
                    member.list(list).is_some_and(|listing| listing.find(hash, name.as_bytes()).is_some())
                };
                aliases.owner(name).is_none() && !members.iter().any(is_listed)
            };
            let own = members[owner.0].list(list)?.own_name(owner.1);
            let shown = naming.filter(list).renamed(&own);
            names::alternatives(naming.style, &naming.server, &own, shown).find(is_free)
        }
    }
}

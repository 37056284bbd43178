//! The owner of a URI. Clients use the wrapped form, or the server's own, which they found in a result.

use super::{Member, View};
use crate::catalogue::list::List;
use crate::catalogue::names::NameStyle;
use crate::catalogue::{apps, index, scan, template, uris};
use bytes::Bytes;
use std::borrow::Cow;
use switchboard_protocol::{Span, json};

/// Limit on comparisons of URIs with templates to prove that nothing clashes; beyond it, results are checked
/// one by one.
const MAX_COMPARISONS: usize = 200_000;

/// The owner of a URI or template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundUri {
    /// `uri` is the server's own.
    Owner {
        member: usize,
        uri: String,
    },
    /// Several members list it, or have a template for it.
    Several(Vec<usize>),
    /// Not listed by any member. These may still know it: members whose lists are not known, or otherwise all
    /// that have resources, since a server need not list them. Always more than one; a single one is the owner.
    Perhaps(Vec<usize>),
    Nobody,
}

impl View {
    /// The owner of a URI as a client spells it.
    pub fn find_uri(&self, uri: &str) -> FoundUri {
        if let Some(found) = self.addressed(List::Resources, uri) {
            return found;
        }
        let listed = self.listing_it(List::Resources, uri);
        // A listed URI is more specific than a template.
        let found = if listed.is_empty() { self.with_template_for(uri) } else { listed };
        match found[..] {
            [] => self.nobody_lists(uri),
            [member] => FoundUri::Owner { member, uri: uri.to_owned() },
            _ => FoundUri::Several(found),
        }
    }

    /// The owner of a template, as named by `completion/complete`: public, or the server's own. The result
    /// has the server's own.
    pub fn find_template(&self, template: &str) -> FoundUri {
        if let Some(found) = self.addressed(List::Templates, template) {
            return found;
        }
        let listed = self.listing_it(List::Templates, template);
        match listed[..] {
            // A completion may also be requested for a resource that is not a template.
            [] => self.find_uri(template),
            [member] => FoundUri::Owner { member, uri: template.to_owned() },
            _ => FoundUri::Several(listed),
        }
    }

    /// The public form of a URI of this member.
    pub fn shown_uri<'a>(&self, member: usize, uri: &'a str) -> Cow<'a, str> {
        let Some(of) = self.members.get(member) else { return uri.into() };
        let entry =
            of.list(List::Resources).and_then(|l| l.find(index::hash(uri.as_bytes()), uri.as_bytes()));
        match entry.and_then(|entry| self.alias(List::Resources, member, entry)) {
            Some(alias) => alias.to_owned().into(),
            None if of.naming.style == NameStyle::Plain => uri.into(),
            None => uris::encode_resource(&of.naming.server, uri).into(),
        }
    }

    /// The positions in a result of `member` with a URI that would be taken for another member's, and their
    /// replacements. Checks string members called `uri` at any depth, and references to MCP Apps in any `_meta`.
    /// `asked` is the server's own URI that the client used; the answer uses it too.
    pub fn disambiguate(
        &self,
        member: usize,
        result: &[u8],
        asked: Option<&str>,
    ) -> Option<Vec<(Span, Bytes)>> {
        if !self.uris_clash && !self.has_apps {
            return None;
        }
        let mut positions = Vec::new();
        for at in uri_members(result) {
            let Some(uri) = scan::text(&result[at.range()]).filter(|uri| Some(&**uri) != asked) else {
                continue;
            };
            if let Some(public) = self.unmistakable(member, &uri) {
                let mut quoted = Vec::new();
                scan::quote(&public, &mut quoted);
                positions.push((at, quoted.into()));
            }
        }
        (!positions.is_empty()).then_some(positions)
    }

    /// The wrapped form of a URI in a result of this member, if the URI would be taken for another member's.
    fn unmistakable(&self, member: usize, uri: &str) -> Option<String> {
        if uris::is_ui(uri) {
            return self.app_uri(member, uri);
        }
        // A URI that the server does not own may well be meant for another member.
        if !self.uris_clash || !self.could_own(member, uri) {
            return None;
        }
        let is_clear = matches!(self.find_uri(uri), FoundUri::Owner { member: owner, .. } if owner == member);
        (!is_clear).then(|| uris::encode_resource(&self.members[member].naming.server, uri))
    }

    /// The owner of an item shown under exactly this text, or whose wrapped form names it.
    fn addressed(&self, list: List, text: &str) -> Option<FoundUri> {
        if let Some(member) = self.shown_as_it_is(list, text) {
            return Some(FoundUri::Owner { member, uri: text.to_owned() });
        }
        let (server, uri) = match uris::decode_resource(text) {
            Some((server, uri)) => (Cow::Owned(server), Cow::Owned(uri)),
            None => uris::decode_template(text).map(|(server, rest)| (server, Cow::Borrowed(rest)))?,
        };
        // A server may itself be a switchboard, with wrapped URIs of its own.
        let member = self.members.iter().position(|member| member.naming.server == server)?;
        // The client has named this member, so no other is tried.
        if !permits(&self.members[member], &uri) {
            return Some(FoundUri::Nobody);
        }
        Some(FoundUri::Owner { member, uri: uri.into_owned() })
    }

    /// The member in plain style that kept this URI.
    fn shown_as_it_is(&self, list: List, text: &str) -> Option<usize> {
        let hash = index::hash(text.as_bytes());
        (0..self.members.len()).find(|&at| {
            let entry = self.members[at].list(list).and_then(|listing| {
                listing.find(hash, text.as_bytes()).filter(|&entry| listing.is_as_sent(entry))
            });
            entry.is_some_and(|entry| self.alias(list, at, entry).is_none())
        })
    }

    fn listing_it(&self, list: List, uri: &str) -> Vec<usize> {
        let hash = index::hash(uri.as_bytes());
        let lists =
            |member: &Member| member.list(list).is_some_and(|l| l.find(hash, uri.as_bytes()).is_some());
        self.positions(lists)
    }

    fn with_template_for(&self, uri: &str) -> Vec<usize> {
        self.positions(|member| has_template_for(member, uri))
    }

    fn could_own(&self, member: usize, uri: &str) -> bool {
        let of = &self.members[member];
        let hash = index::hash(uri.as_bytes());
        of.list(List::Resources).is_some_and(|l| l.find(hash, uri.as_bytes()).is_some())
            || has_template_for(of, uri)
    }

    fn nobody_lists(&self, uri: &str) -> FoundUri {
        let allows = |member: &Member| member.naming.resources.allows_uri(uri);
        let unknown = self.positions(|member| member.lacks(List::Resources) && allows(member));
        let able = || self.positions(|member| member.may_have(List::Resources) && allows(member));
        let may = if unknown.is_empty() { able() } else { unknown };
        match may[..] {
            [] => FoundUri::Nobody,
            [member] => FoundUri::Owner { member, uri: uri.to_owned() },
            _ => FoundUri::Perhaps(may),
        }
    }

    fn positions(&self, is: impl Fn(&Member) -> bool) -> Vec<usize> {
        (0..self.members.len()).filter(|&at| is(&self.members[at])).collect()
    }
}

fn has_template_for(member: &Member, uri: &str) -> bool {
    member.list(List::Templates).is_some_and(|templates| templates.has_template_for(&member.naming, uri))
}

/// Whether the member lets the URI be seen, including expansions of an allowed template.
fn permits(member: &Member, uri: &str) -> bool {
    member.naming.resources.allows_uri(uri) || has_template_for(member, uri)
}

/// Whether there may be a URI that two members could own. May return true too often, never too seldom.
pub(super) fn may_clash(members: &[Member]) -> bool {
    let pairs = || (0..members.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
    templates_overlap(members)
        || pairs().any(|(one, other)| {
            let (one, other) = (&members[one], &members[other]);
            lists_same(one, other) || is_covered(one, other) || is_covered(other, one)
        })
}

fn lists_same(one: &Member, other: &Member) -> bool {
    let (Some(one), Some(other)) = (one.list(List::Resources), other.list(List::Resources)) else {
        return false;
    };
    let (small, large) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    (0..small.len() as u32)
        .map(|entry| small.label(entry).as_bytes())
        .any(|uri| large.find(index::hash(uri), uri).is_some())
}

/// Whether one member has a template for a resource that the other lists.
fn is_covered(one: &Member, other: &Member) -> bool {
    let (Some(templates), Some(listed)) = (one.list(List::Templates), other.list(List::Resources)) else {
        return false;
    };
    templates.len().saturating_mul(listed.len()) > MAX_COMPARISONS
        || (0..listed.len() as u32).any(|entry| has_template_for(one, listed.label(entry)))
}

/// Whether templates of two members may share a URI, which requires that the text before the first expression
/// of one starts with that of the other. In sorted order, the prefixes of a text come before it.
fn templates_overlap(members: &[Member]) -> bool {
    let of_member = |(at, member): (usize, &'_ Member)| {
        let listing = member.list(List::Templates).cloned();
        let starts = listing.into_iter().flat_map(|listing| {
            let start = |entry| template::literal_start(listing.label(entry)).to_owned();
            (0..listing.len() as u32).map(start).collect::<Vec<_>>()
        });
        starts.map(|start| (start, at)).collect::<Vec<_>>()
    };
    let mut starts: Vec<(String, usize)> = members.iter().enumerate().flat_map(of_member).collect();
    starts.sort_unstable();
    let mut open: Vec<&(String, usize)> = Vec::new();
    for start in &starts {
        while open.last().is_some_and(|last| !start.0.starts_with(&last.0)) {
            open.pop();
        }
        // The last one suffices: entries below it of another member would have ended the search.
        if open.last().is_some_and(|last| last.1 != start.1) {
            return true;
        }
        open.push(start);
    }
    false
}

/// The values of all string members called `uri`, and of references to MCP Apps, in order. The JSON is known to
/// be complete, so a string followed by a colon is a key, and no further structure matters.
fn uri_members(result: &[u8]) -> Vec<Span> {
    let mut found = Vec::new();
    let (mut pos, mut behind_meta) = (0, 0);
    while let Some(quote) = result[pos..].iter().position(|&b| b == b'"') {
        let start = pos + quote;
        let Ok(end) = json::string(result, start) else { break };
        pos = json::space(result, end);
        if json::byte(result, pos) != Some(b':') {
            continue;
        }
        let (key, value) = (&result[start..end], json::space(result, pos + 1));
        // A `_meta` within another is not one of the protocol. The scan goes on inside, for other URIs.
        if value >= behind_meta && scan::is_key(key, apps::META) {
            behind_meta = apps::references(result, value, |at| found.push(at));
        }
        if !scan::is_key(key, "uri") {
            continue;
        }
        if json::byte(result, value) == Some(b'"') {
            let Ok(end) = json::string(result, value) else { break };
            found.push(Span::new(value, end));
            pos = end;
        }
    }
    found.sort_unstable_by_key(|at| at.start);
    found
}

//! Several servers merged into one. Built once per change of their offers, then only queried.
//!
//! - `contest`: new names for items whose names collide.
//! - `stock`: the merged lists as bytes, and answers from them.
//! - `lookup`: the owner of a name. `ownership`: the owner of a URI.
//! - `apps`: URIs of MCP Apps.
//! - `nearest`: suggestions for unknown names.
//! - `welcome`: our introduction to clients. `modern`: the same, and lists, for modern clients.

mod contest;
mod lookup;
mod nearest;
mod ownership;
mod apps;
mod stock;
mod welcome;
mod modern;
#[cfg(test)]
mod tests;

use super::list::{List, Naming};
use super::listing::Listing;
use super::names::Collision;
use super::offer::Offer;
use crate::ids::ServerId;
use contest::Aliases;
pub use lookup::Found;
pub use ownership::FoundUri;
use std::sync::{Arc, OnceLock};
pub use stock::Page;
use stock::Stock;
pub use welcome::unavailable;

/// One server of a view.
#[derive(Debug, Clone)]
pub struct Member {
    pub server: ServerId,
    pub naming: Arc<Naming>,
    /// `None` if not known yet.
    pub offer: Option<Arc<Offer>>,
}

impl Member {
    fn list(&self, list: List) -> Option<&Arc<Listing>> {
        self.offer.as_ref()?.list(list)
    }

    /// Whether it may have such items, but they are not known.
    fn lacks(&self, list: List) -> bool {
        self.offer.as_ref().is_none_or(|offer| offer.lacks(list))
    }

    fn may_have(&self, list: List) -> bool {
        self.offer.as_ref().is_none_or(|offer| offer.declares(list))
    }

    /// Whether its offer was made to legacy clients.
    fn is_legacy(&self) -> bool {
        self.offer.as_ref().is_some_and(|offer| !offer.is_modern())
    }
}

/// Several servers merged into one.
#[derive(Debug)]
pub struct View {
    number: u64,
    members: Vec<Member>,
    aliases: [Aliases; 4],
    /// Built on first use, since many clients never ask for prompts.
    stocks: [OnceLock<Stock>; 4],
    /// The tools for modern clients, if they differ.
    modern_tools: OnceLock<Option<Stock>>,
    /// Whether there may be a URI that two members could own.
    uris_clash: bool,
    /// Whether there are MCP Apps, whose URIs may need the name of their server.
    has_apps: bool,
    collisions: Vec<Collision>,
}

impl View {
    /// `number` is the view's generation, which cursors contain. The order of the members decides who keeps a name.
    pub fn new(members: Vec<Member>, number: u64) -> Self {
        let own = members.iter().flat_map(|member| {
            let listings = List::ALL.into_iter().filter_map(|list| member.list(list));
            listings.flat_map(|listing| listing.collisions().iter().cloned())
        });
        let mut collisions: Vec<Collision> = own.collect();
        let aliases = List::ALL.map(|list| contest::resolve(&members, list, &mut collisions));
        let uris_clash = ownership::may_clash(&members);
        let has_apps = apps::present(&members);
        let stocks = [const { OnceLock::new() }; 4];
        let modern_tools = OnceLock::new();
        Self { number, members, aliases, stocks, modern_tools, uris_clash, has_apps, collisions }
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Name collisions, within servers and between them.
    pub fn collisions(&self) -> &[Collision] {
        &self.collisions
    }

    fn alias(&self, list: List, member: usize, entry: u32) -> Option<&str> {
        self.aliases[list as usize].of(member, entry)
    }
}

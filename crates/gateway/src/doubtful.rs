//! Servers that may keep a client's state: the config does not say, the package is unknown, and a tool of an
//! earlier run has a suggestive name. Reads stored catalogues and starts nothing.

use crate::catalogue::Shelf;
use crate::config::{Config, ServerConfig, State};
use crate::known;
use std::borrow::Cow;
use std::path::Path;
use switchboard_core::catalogue::{List, NameStyle, Naming, Offer};
use switchboard_core::{StateHint, state_hint};

/// Names of such servers, each with the tool's name.
pub fn doubtful_servers(config: &Config, state_folder: &Path) -> Vec<(String, String)> {
    let is_open = |server: &&ServerConfig| {
        let is_undecided = server.state == State::Auto && !server.disabled;
        is_undecided && known::state_of(server).0 == switchboard_core::StatePolicy::Auto
    };
    let undecided: Vec<ServerConfig> = config.servers.iter().filter(is_open).cloned().collect();
    let stored = Shelf::new(state_folder).load_all(&undecided);
    let doubt = |(server, stored): (ServerConfig, Vec<_>)| {
        // Includes tools that are hidden from clients.
        let naming = Naming::new(&server.name, NameStyle::Plain);
        let offers: Vec<Offer> = stored.iter().filter_map(|(_, bytes)| Offer::load(bytes, &naming)).collect();
        let tools: Vec<Cow<'_, str>> =
            offers.iter().filter_map(|offer| offer.list(List::Tools)).flat_map(|list| list.names()).collect();
        match state_hint(tools.iter().map(|name| &**name)) {
            StateHint::Doubtful(tool) => Some((server.name, tool)),
            StateHint::Keeps(_) | StateHint::Stateless => None,
        }
    };
    undecided.into_iter().zip(stored).filter_map(doubt).collect()
}

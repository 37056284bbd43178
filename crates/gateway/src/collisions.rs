//! Name collisions between servers, as far as stored catalogues from earlier runs show them.

use crate::catalogue::Shelf;
use crate::config::{Config, ServerConfig};
use crate::settings;
use std::path::Path;
use std::sync::Arc;
use switchboard_core::catalogue::{Member, Offer, View};
use switchboard_core::{ServerId, status};

/// One line for each collision.
pub fn known_collisions(config: &Config, state_folder: &Path) -> Vec<String> {
    let enabled: Vec<ServerConfig> = config.servers.iter().filter(|it| !it.disabled).cloned().collect();
    let stored = Shelf::new(state_folder).load_all(&enabled);
    let members = enabled.iter().zip(stored).enumerate().map(|(at, (server, stored))| {
        let naming = settings::naming(config, server);
        // Any profile will do: names rarely depend on the client's capabilities.
        let offer = stored.iter().find_map(|(_, bytes)| Offer::load(bytes, &naming)).map(Arc::new);
        Member { server: ServerId(at as u32), naming, offer }
    });
    View::new(members.collect(), 0).collisions().iter().map(status::told).collect()
}

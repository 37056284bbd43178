//! Everything that is stored about servers between runs. Must not know when it is used.

use crate::catalogue::Shelf;
use crate::config::ServerConfig;
use crate::launches::Launches;
use crate::pins::PinStore;
use std::io;
use std::path::Path;

#[derive(Clone)]
pub(crate) struct Stores {
    /// Lists of servers.
    pub(crate) shelf: Shelf,
    /// Facts about launches.
    pub(crate) launches: Launches,
    /// Approved definitions of tools.
    pub(crate) pins: PinStore,
}

impl Stores {
    pub(crate) fn new(state_folder: &Path) -> Self {
        Self {
            shelf: Shelf::new(state_folder),
            launches: Launches::new(state_folder),
            pins: PinStore::new(state_folder),
        }
    }

    /// Removes everything about a server.
    pub(crate) fn forget(&self, server: &ServerConfig) -> io::Result<()> {
        self.shelf.forget(server);
        self.pins.forget(server)?;
        self.launches.forget(server)
    }
}

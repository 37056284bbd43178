//! The core, as a connection to a remote server sees it. Tests put a recorder in its place.

use crate::hub::Hub;
use std::pin::Pin;
use std::sync::Arc;
use switchboard_core::{Event, Peer};
use switchboard_protocol::Frame;

/// Receiver of all that happens on a connection.
pub(super) trait CoreSide: Send + Sync {
    fn handle(&self, event: Event);

    /// Shows a message of the server to those who watch the traffic.
    fn show(&self, frame: &Frame);

    /// Reports bytes that have left the mailbox.
    fn flushed(&self, bytes: usize);

    /// Waits while the server leaves too much of our output unread for more to be read from it.
    fn room(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// Writes a line into the server's own log.
    fn log(&self, line: String);
}

/// The hub, for one backend.
pub(super) struct HubSide {
    pub(super) hub: Arc<Hub>,
    pub(super) peer: Peer,
    pub(super) name: String,
}

impl CoreSide for HubSide {
    fn handle(&self, event: Event) {
        self.hub.handle(event);
    }

    fn show(&self, frame: &Frame) {
        self.hub.turn().show(self.peer, frame);
    }

    fn flushed(&self, bytes: usize) {
        self.hub.flushed(self.peer, bytes);
    }

    fn room(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.hub.wait_for_room(self.peer))
    }

    fn log(&self, line: String) {
        self.hub.telemetry().stderr(&self.name, line);
    }
}

//! Output to a peer without a byte stream: an HTTP client, or a remote server.

use switchboard_core::About;
use switchboard_protocol::{Outgoing, RawId};

/// Mailbox of one peer. Called under the hub's lock: it must neither block nor call the hub. Its owner
/// reports sent bytes with [`switchboard_core::Event::Flushed`], so that the core knows how many wait.
pub(crate) trait Mailbox: Send + Sync {
    /// Accepts a message. Returns the bytes that already count as sent.
    fn put(&self, out: Outgoing, about: About) -> usize;

    /// No answer follows to a request that its client has cancelled.
    fn no_answer(&self, _id: &RawId) {}

    /// No more messages follow.
    fn close(&self);
}

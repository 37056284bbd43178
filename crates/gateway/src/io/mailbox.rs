//! Where messages go for a peer that is no stream of bytes: the answers and streams of an HTTP client, or a remote server.

use switchboard_core::About;
use switchboard_protocol::Outgoing;

/// One peer's. It is called under the hub's lock: it must neither wait nor ask the hub for anything. Whoever owns it says
/// by [`switchboard_core::Event::Flushed`] when bytes have gone, so that the core knows how much waits.
pub(crate) trait Mailbox: Send + Sync {
    /// How many bytes are as good as gone already.
    fn put(&self, out: Outgoing, about: About) -> usize;

    /// Nothing more comes.
    fn close(&self);
}

//! Input tap: a view of a client's messages before the core handles them.

use switchboard_core::Event;
use switchboard_protocol::Framing;

/// Tap of one client's input. `admit` is called under the hub's lock.
pub(crate) trait InputTap: Send + Sync {
    /// Position in the client's stream at which reading starts.
    fn start(&self) -> u64;

    fn set_framing(&self, framing: Framing);

    /// Records an event that is about to be handled. `upto` is the position in the stream at which its
    /// frame ends; `is_succeeded` means that another process handles new requests. `false` if this process
    /// must not handle the event.
    fn admit(&self, event: &Event, upto: u64, is_succeeded: bool) -> bool;

    /// Whether the rest of the stream is left to another reader.
    fn is_closed(&self) -> bool;
}

//! The input tap: sees what a client says before anybody acts upon it.

use switchboard_core::Event;
use switchboard_protocol::Framing;

/// Tap of one client's input. `admit` is called under the hub's lock.
pub(crate) trait InputTap: Send + Sync {
    /// Position in the client's stream at which reading starts.
    fn start(&self) -> u64;

    fn set_framing(&self, framing: Framing);

    /// Records an event that is about to be acted upon. `upto` is the position in the stream at which its frame ends;
    /// `is_succeeded` says that new requests are for the next daemon. `false` if the event is not ours to act upon.
    fn admit(&self, event: &Event, upto: u64, is_succeeded: bool) -> bool;

    /// Whether the rest of the stream is left to another reader.
    fn is_closed(&self) -> bool;
}

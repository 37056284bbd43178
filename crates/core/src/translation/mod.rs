//! Translation between the eras of MCP, for one process of a server that does not speak the era of its clients. A
//! translator stands between the core and the process: it turns each message to and from the process into messages of
//! the other era. So everything else sees a process of its clients' era. Must not know clients, backends or transports.
//!
//! # Layout
//! - `json`: members of JSON objects, read and put together without a change to their bytes.
//! - `for_legacy`: legacy clients with a modern server.

mod json;
mod for_legacy;

use for_legacy::ForLegacy;

use switchboard_protocol::{Message, Outgoing};

/// Numbers of requests that a translator sends on its own. The core mints from 1 on and never comes so far; all numbers up
/// to 2^53 survive a server that keeps them in floats.
pub(crate) const FIRST_OWN_ID: u64 = 1 << 52;

/// Part of the result of a translation, in order.
#[derive(Debug)]
pub(crate) enum Step {
    /// Write this to the server.
    ToServer(Outgoing),
    /// Treat this as sent by the server.
    ToCore(Message),
    /// Treat this as a request of the server to the client whose request has this minted id.
    Ask { about: u64, question: Message },
}

/// Translator of one process.
#[derive(Debug)]
pub(crate) enum Translator {
    /// Its clients make a handshake, the server speaks the modern era.
    ForLegacy(Box<ForLegacy>),
}

impl Translator {
    pub(crate) fn for_legacy() -> Self {
        Self::ForLegacy(Box::default())
    }

    /// Translates what the core sends to the process.
    pub(crate) fn outbound(&mut self, message: &Message) -> Vec<Step> {
        match self {
            Self::ForLegacy(it) => it.outbound(message),
        }
    }

    /// Translates what the process sends.
    pub(crate) fn inbound(&mut self, message: Message) -> Vec<Step> {
        match self {
            Self::ForLegacy(it) => it.inbound(message),
        }
    }
}

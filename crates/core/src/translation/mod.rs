//! Translation between the eras of MCP. For legacy clients of a modern server, a translator stands between the core and the
//! process, and the core sees a legacy process. For modern clients of a legacy server, the client's messages are
//! translated, and the core sees a legacy client. Must not know clients, backends or transports.
//!
//! # Layout
//! - `json`: members of JSON objects, read and put together without a change to their bytes.
//! - `for_legacy`: legacy clients with a modern server.
//! - `for_modern`: modern clients with a legacy server.

mod json;
mod for_legacy;
pub(crate) mod for_modern;

use crate::ids::Launch;
use crate::moment::Moment;
use for_legacy::ForLegacy;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use switchboard_protocol::{Message, Outgoing};

/// First id of the translator's own requests. The core mints ids from 1 on and never gets this far; servers that keep ids
/// in floats preserve all numbers up to 2^53.
pub(crate) const FIRST_OWN_ID: u64 = 1 << 52;

/// One step of a translation's result. Steps are in order.
#[derive(Debug)]
pub(crate) enum Step {
    /// Write this to the server.
    ToServer(Outgoing),
    /// Treat this as sent by the server.
    ToCore(Message),
    /// Treat this as a question from the server to the client whose request has this minted id.
    Ask { about: u64, question: Message },
    /// The server is not modern: stop translating. It gets this handshake, or this is its refusal of the handshake.
    GiveUp { refusal: Option<Message>, handshake: Vec<Outgoing> },
    /// The server still works on the request with this minted id: restart its timeout.
    GoesOn { about: u64 },
}

/// The process of a translator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TranslatedProcess {
    /// The calendar time at the start of the program.
    pub(crate) started: SystemTime,
    pub(crate) launch: Launch,
    /// Number of ids that earlier translators of the process have used.
    pub(crate) spent_ids: u64,
}

impl TranslatedProcess {
    /// An id that no other process has given, in this program or in another one. Each number is good once.
    fn unique_id(self, number: u64) -> String {
        let Launch { backend, number: launch } = self.launch;
        format!("{}{}.{launch}-{number}", id_prefix(self.started), backend.0)
    }
}

/// Start of the ids that a program has given that was started at this time.
fn id_prefix(started: SystemTime) -> String {
    let millis = started.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    format!("switchboard-{millis}-")
}

/// Translator of one process.
#[derive(Debug)]
pub(crate) enum Translator {
    /// For legacy clients of a modern server.
    ForLegacy(Box<ForLegacy>),
}

impl Translator {
    pub(crate) fn for_legacy(process: TranslatedProcess) -> Self {
        Self::ForLegacy(Box::new(ForLegacy::new(process)))
    }

    /// For a server that is probably modern. If it refuses `server/discover` or does not answer in time, it gets the
    /// handshake.
    pub(crate) fn in_doubt(patience: Option<Duration>, process: TranslatedProcess) -> Self {
        Self::ForLegacy(Box::new(ForLegacy::in_doubt(patience, process)))
    }

    /// For a server that refused the handshake. It gets `server/discover`; if it is not modern, its refusal is the answer.
    pub(crate) fn after_refusal(
        initialize: &Message,
        refusal: Message,
        within: (Option<Duration>, Moment),
        process: TranslatedProcess,
    ) -> Option<(Self, Vec<Step>)> {
        let (it, step) = ForLegacy::after_refusal(initialize, refusal, within, process)?;
        Some((Self::ForLegacy(Box::new(it)), vec![step]))
    }

    /// The number of its own ids so far.
    pub(crate) fn spent_ids(&self) -> u64 {
        match self {
            Self::ForLegacy(it) => it.spent_ids(),
        }
    }

    pub(crate) fn is_in_doubt(&self) -> bool {
        match self {
            Self::ForLegacy(it) => it.is_in_doubt(),
        }
    }

    /// The server's refusal of the handshake, until its era is known.
    pub(crate) fn refusal(&self) -> Option<&Message> {
        match self {
            Self::ForLegacy(it) => it.refusal(),
        }
    }

    /// Treats the server as legacy.
    pub(crate) fn give_up(&mut self) -> Vec<Step> {
        match self {
            Self::ForLegacy(it) => it.give_up(),
        }
    }

    /// Translates a message from the core to the process. `level`: the log level that the client of a request has set, as
    /// JSON.
    pub(crate) fn outbound(&mut self, message: &Message, level: Option<&[u8]>, now: Moment) -> Vec<Step> {
        match self {
            Self::ForLegacy(it) => it.outbound(message, level, now),
        }
    }

    /// Translates a message from the process.
    pub(crate) fn inbound(&mut self, message: Message, now: Moment) -> Vec<Step> {
        match self {
            Self::ForLegacy(it) => it.inbound(message, now),
        }
    }

    /// Runs the timers that are due.
    pub(crate) fn tick(&mut self, now: Moment) -> Vec<Step> {
        match self {
            Self::ForLegacy(it) => it.tick(now),
        }
    }

    /// The time of the next tick.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        match self {
            Self::ForLegacy(it) => it.deadline(),
        }
    }

    /// Number of bytes that are kept for the request with this minted id.
    pub(crate) fn bytes_kept(&self, minted: u64) -> usize {
        match self {
            Self::ForLegacy(it) => it.bytes_kept(minted),
        }
    }

    /// The core's id for the request that the process knows under this one.
    pub(crate) fn minted_of(&self, number: u64) -> u64 {
        match self {
            Self::ForLegacy(it) => it.minted_of(number),
        }
    }
}

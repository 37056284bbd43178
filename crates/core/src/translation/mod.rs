//! Translation between the eras of MCP, beside the party that speaks the other era. For legacy clients of a modern server, a
//! translator stands between the core and the process: everything else sees a legacy process. For modern clients of a
//! legacy server, the messages of each client are translated: everything else sees a legacy client. Must not know
//! clients, backends or transports.
//!
//! # Layout
//! - `json`: members of JSON objects, read and put together without a change to their bytes.
//! - `for_legacy`: legacy clients with a modern server.
//! - `for_modern`: modern clients with a legacy server.

mod json;
mod for_legacy;
pub(crate) mod for_modern;

use crate::moment::Moment;
use for_legacy::ForLegacy;
use std::time::{Duration, SystemTime};
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
    /// The server does not speak the other era: translate no more. It gets this handshake, or has refused it with this.
    GiveUp { refusal: Option<Message>, handshake: Vec<Outgoing> },
    /// The server works on the request with this minted id, whose timeout begins anew.
    GoesOn { about: u64 },
}

/// Translator of one process.
#[derive(Debug)]
pub(crate) enum Translator {
    /// Its clients make a handshake, the server speaks the modern era.
    ForLegacy(Box<ForLegacy>),
}

impl Translator {
    /// `started`: the calendar time at the start of the program.
    pub(crate) fn for_legacy(started: SystemTime) -> Self {
        Self::ForLegacy(Box::new(ForLegacy::new(started)))
    }

    /// For a server that is thought to speak the modern era. If it does not, or does not answer in time, it gets the
    /// handshake. `spent`: the number of ids that earlier translators of the process have used.
    pub(crate) fn in_doubt(patience: Option<Duration>, started: SystemTime, spent: u64) -> Self {
        Self::ForLegacy(Box::new(ForLegacy::in_doubt(patience, started, spent)))
    }

    /// For a server that refuses the handshake: asks whether it speaks the modern era. If it does not, its refusal stands.
    pub(crate) fn after_refusal(
        initialize: &Message,
        refusal: Message,
        within: (Option<Duration>, Moment),
        started: SystemTime,
        spent: u64,
    ) -> Option<(Self, Vec<Step>)> {
        let (it, step) = ForLegacy::after_refusal(initialize, refusal, within, started, spent)?;
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

    /// The answer with which the server has refused the handshake, until it is known whether it speaks the other era.
    pub(crate) fn refusal(&self) -> Option<&Message> {
        match self {
            Self::ForLegacy(it) => it.refusal(),
        }
    }

    /// Treats the server as one that does not speak the other era.
    pub(crate) fn give_up(&mut self) -> Vec<Step> {
        match self {
            Self::ForLegacy(it) => it.give_up(),
        }
    }

    /// Translates what the core sends to the process. `level`: the one that the client of a request has set, as JSON.
    pub(crate) fn outbound(&mut self, message: &Message, level: Option<&[u8]>, now: Moment) -> Vec<Step> {
        match self {
            Self::ForLegacy(it) => it.outbound(message, level, now),
        }
    }

    /// Translates what the process sends.
    pub(crate) fn inbound(&mut self, message: Message, now: Moment) -> Vec<Step> {
        match self {
            Self::ForLegacy(it) => it.inbound(message, now),
        }
    }

    /// Does what is due at this time.
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

    /// The core's id for the request that the process knows under this one.
    pub(crate) fn minted_of(&self, number: u64) -> u64 {
        match self {
            Self::ForLegacy(it) => it.minted_of(number),
        }
    }
}

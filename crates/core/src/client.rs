//! A client: its handshake, its dialect, and what waits for it.

use crate::batch::Batches;
use crate::event::{BackendId, ClientId};
use switchboard_protocol::dialect::Ear;
use switchboard_protocol::{Message, RawId};

/// The client's half of the handshake. What it said is kept, to be replayed to a backend that is started anew.
#[derive(Debug)]
pub(crate) enum Handshake {
    /// Nothing yet. Requests pass all the same: what a server makes of them is its affair.
    New,
    /// `initialize` is on its way. Some clients send `initialized` without waiting for the answer.
    Asked { initialize: Message, initialized: Option<Message> },
    Answered { initialize: Message, initialized: Option<Message> },
}

impl Handshake {
    pub(crate) fn ask(&mut self, message: Message) {
        *self = Self::Asked { initialize: message, initialized: None };
    }

    pub(crate) fn answer(&mut self) {
        *self = match std::mem::replace(self, Self::New) {
            Self::Asked { initialize, initialized } => Self::Answered { initialize, initialized },
            Self::New => Self::New,
            Self::Answered { initialize, initialized } => Self::Answered { initialize, initialized },
        };
    }

    /// The server refused: whatever comes next starts from the beginning.
    pub(crate) fn fail(&mut self) {
        if let Self::Asked { .. } = self {
            *self = Self::New;
        }
    }

    pub(crate) fn confirm(&mut self, message: Message) {
        match self {
            Self::New => {}
            Self::Asked { initialized, .. } | Self::Answered { initialized, .. } => *initialized = Some(message),
        }
    }

    /// What a new process must hear first, if this client was greeted by an earlier one.
    pub(crate) fn to_replay(&self) -> Option<&Message> {
        match self {
            Self::New | Self::Asked { .. } => None,
            Self::Answered { initialize, .. } => Some(initialize),
        }
    }

    pub(crate) fn initialized(&self) -> Option<&Message> {
        match self {
            Self::New => None,
            Self::Asked { initialized, .. } | Self::Answered { initialized, .. } => initialized.as_ref(),
        }
    }
}

/// Whether the client is there, and in which directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Here,
    /// It sends nothing more, but may still read its answers.
    Listening,
    /// Nobody reads.
    Lost,
}

/// `shutdown` was asked for.
#[derive(Debug)]
pub(crate) struct Farewell {
    pub(crate) id: RawId,
    pub(crate) batch: Option<u32>,
    pub(crate) answered: bool,
}

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: ClientId,
    /// Its backend. One for now; routing by root and by name comes in here.
    pub(crate) backend: BackendId,
    pub(crate) handshake: Handshake,
    pub(crate) ear: Ear,
    pub(crate) presence: Presence,
    pub(crate) farewell: Option<Farewell>,
    pub(crate) batches: Batches,
    /// Bytes in its outbox.
    pub(crate) queued: usize,
    /// Accepted and not answered.
    pub(crate) unanswered: usize,
    pub(crate) dropped: u64,
}

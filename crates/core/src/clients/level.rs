//! Log levels requested by clients. Must not know who logs.

pub(crate) use crate::messages::log_rank as rank;

use switchboard_protocol::{Message, Part};

/// The log level that a client requested.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    /// The whole request, to be repeated to other processes.
    request: Message,
    rank: usize,
}

impl Level {
    /// The level in a request; `None` if unknown.
    pub(crate) fn of(request: &Message) -> Option<Self> {
        let rank = rank_in(request)?;
        Some(Self { request: request.clone(), rank })
    }

    /// The level in a request that a server has accepted: the lowest if we do not know it.
    pub(crate) fn accepted(request: Message) -> Self {
        let rank = rank_in(&request).unwrap_or_default();
        Self { request, rank }
    }

    pub(crate) fn request(&self) -> &Message {
        &self.request
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// Whether a client with this level wants messages of that rank.
    pub(crate) fn admits(&self, rank: usize) -> bool {
        rank >= self.rank
    }

    pub(crate) fn admits_warnings(&self) -> bool {
        rank(b"\"warning\"").is_some_and(|warning| self.admits(warning))
    }
}

/// The rank of the level that a message names.
pub(crate) fn rank_in(message: &Message) -> Option<usize> {
    message.part(Part::Level).and_then(rank)
}

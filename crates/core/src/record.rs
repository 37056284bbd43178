//! Facts learnt about a launch: one record per launch, stored on disk by the gateway. Must not know the file format.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use switchboard_protocol::{Era, Framing};

/// Choice of framing for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FramingChoice {
    /// Fixed by the config, or by an earlier detection.
    Fixed(Framing),
    /// Newline first; without an answer, `Content-Length` on a new process.
    Try,
    /// The other way round: an earlier start got no answer with newlines, and the client did not wait for the
    /// second try.
    Doubt,
}

/// Everything learnt from a server's starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its framing.
    pub framing: FramingChoice,
    /// Set while it was not ready in time; `None` once it has answered.
    pub slow: Option<Slow>,
    /// Has requested `roots/list`.
    pub asks_roots: bool,
    /// Has sent requests to its client (sampling, elicitation).
    pub asks_questions: bool,
    /// Keeps client state between calls, judging by its tools.
    pub keeps_state: bool,
    /// The era that it turned out to speak.
    pub era: Option<SeenEra>,
    /// Its offers, by kind of client.
    pub offers: SeenOffers,
}

/// Digests of a server's welcome and lists, by client capabilities. Equal digests mean that the capabilities
/// make no difference.
pub type SeenOffers = BTreeMap<Arc<str>, BTreeMap<String, u64>>;

impl Default for Record {
    fn default() -> Self {
        Self {
            framing: FramingChoice::Try,
            slow: None,
            asks_roots: false,
            asks_questions: false,
            keeps_state: false,
            era: None,
            offers: SeenOffers::new(),
        }
    }
}

impl Record {
    /// One phrase per learnt fact, for people.
    pub(crate) fn words(&self) -> Vec<String> {
        let framing = match self.framing {
            FramingChoice::Fixed(framing) => Some(format!("uses {} framing", framing.name())),
            FramingChoice::Doubt => Some("did not answer to newline framing".to_owned()),
            FramingChoice::Try => None,
        };
        let slow = self.slow.map(|_| "not ready in time; clients do not wait for it".to_owned());
        let said = |is_so: bool, text: &str| is_so.then(|| text.to_owned());
        [
            framing,
            slow,
            said(self.asks_roots, "asks for roots"),
            said(self.asks_questions, "asks its client questions"),
            said(self.keeps_state, "keeps client state"),
            self.era.map(|seen| {
                format!("speaks {} MCP{}", seen.era.name(), if seen.is_only { " only" } else { "" })
            }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// The era of a server. A verdict ends, since a server may be updated: one that is spoken to in the legacy era would
/// never show that it has learnt another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenEra {
    pub era: Era,
    /// Whether it has refused the handshake of the other era.
    pub is_only: bool,
    /// Remaining time, relative to the creation of the record.
    pub good_for: Duration,
}

impl SeenEra {
    /// Time for which a verdict is good.
    pub const GOOD_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
}

/// A server that was not ready in time. Clients do not wait for it; it is retried in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slow {
    /// Number of attempts so far.
    pub tries: u32,
    /// Time until the next attempt, relative to the creation of the record.
    pub retry_in: Duration,
}

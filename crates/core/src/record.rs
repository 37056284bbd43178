//! Facts learnt about a launch: one record per launch, stored between runs by the gateway.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use switchboard_protocol::Framing;

/// How we speak to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FramingChoice {
    /// By the config, or by an earlier verdict.
    Fixed(Framing),
    /// Newline first; if nothing comes back, `Content-Length` on a fresh process.
    Try,
    /// The other way round: at an earlier start nothing came back to newline, and the client did not wait
    /// for the second try.
    Doubt,
}

/// Everything that starts of a server have shown so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// How it frames its messages.
    pub framing: FramingChoice,
    /// It was not ready in time; `None` once it has answered.
    pub slow: Option<Slow>,
    /// It has asked `roots/list`.
    pub asks_roots: bool,
    /// It has asked its client something (sampling, elicitation).
    pub asks_questions: bool,
    /// Its tools show that it keeps a client's state between calls.
    pub keeps_state: bool,
    /// What it offers to which clients.
    pub offers: SeenOffers,
}

/// Digests of a server's welcome and of each of its lists, by what the client can do. Equal digests: it makes no difference.
pub type SeenOffers = BTreeMap<Arc<str>, BTreeMap<String, u64>>;

impl Default for Record {
    fn default() -> Self {
        Self {
            framing: FramingChoice::Try,
            slow: None,
            asks_roots: false,
            asks_questions: false,
            keeps_state: false,
            offers: SeenOffers::new(),
        }
    }
}

impl Record {
    /// For people to read, a phrase for each thing that was learnt.
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
            said(self.keeps_state, "keeps a client's state"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// A server that was not ready in time. Clients do not wait for it; it is retried in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slow {
    /// Tries so far.
    pub tries: u32,
    /// Time left until the next try, counted from when the record was made.
    pub retry_in: Duration,
}

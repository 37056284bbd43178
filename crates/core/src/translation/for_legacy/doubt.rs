//! Servers that may be modern: they get `server/discover` first, or after they have refused the handshake. A server that
//! refuses `server/discover` is legacy and needs no translator. Must not know why a server is in doubt.

use super::{Call, CallState, ForLegacy, Step};
use crate::moment::Moment;
use crate::translation::TranslatedProcess;
use std::time::Duration;
use switchboard_protocol::{Message, Outgoing, Part, RawId};

/// State of a server whose answer to `server/discover` decides its era.
#[derive(Debug)]
pub(super) struct Doubt {
    otherwise: Otherwise,
    /// Timeout for the answer; `None` is no timeout.
    patience: Option<Duration>,
    until: Option<Moment>,
}

/// Next step if the server is legacy.
#[derive(Debug)]
enum Otherwise {
    /// Answer the client's `initialize` with the server's refusal.
    Refusal(Message),
    /// Send the handshake, with `initialized` if the client has already sent it.
    Handshake(Option<Message>),
}

impl Doubt {
    fn new(otherwise: Otherwise, patience: Option<Duration>) -> Option<Self> {
        Some(Self { otherwise, patience, until: None })
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        self.until
    }

    fn end(self, initialize: &Message) -> Step {
        match self.otherwise {
            Otherwise::Refusal(refusal) => Step::GiveUp { refusal: Some(refusal), handshake: Vec::new() },
            Otherwise::Handshake(initialized) => {
                let messages = std::iter::once(initialize).chain(initialized.as_ref());
                Step::GiveUp { refusal: None, handshake: messages.map(Outgoing::of).collect() }
            }
        }
    }
}

impl ForLegacy {
    pub(in crate::translation) fn in_doubt(patience: Option<Duration>, process: TranslatedProcess) -> Self {
        Self { doubt: Doubt::new(Otherwise::Handshake(None), patience), ..Self::new(process) }
    }

    pub(in crate::translation) fn after_refusal(
        initialize: &Message,
        refusal: Message,
        (patience, now): (Option<Duration>, Moment),
        process: TranslatedProcess,
    ) -> Option<(Self, Step)> {
        let minted = refusal.part(Part::Id).and_then(RawId::minted)?;
        let doubt = Doubt::new(Otherwise::Refusal(refusal), patience);
        // The process may have been asked before, so an id must not begin anew.
        let mut it = Self { doubt, now, numbers: minted.max(process.spent_ids), ..Self::new(process) };
        it.speaker.greet(initialize);
        let step = it.discover(minted, initialize);
        Some((it, step))
    }

    /// Sends `server/discover` under an id of our own, since the server may still get the handshake under the minted id.
    pub(super) fn discover(&mut self, minted: u64, initialize: &Message) -> Step {
        let number = self.number();
        self.calls.insert(minted, Call::new(initialize.clone(), None, number));
        self.repeated.insert(number, minted);
        if let Some(doubt) = &mut self.doubt {
            doubt.until = doubt.patience.map(|patience| self.now + patience);
        }
        Step::ToServer(self.speaker.discover(RawId::from_number(number)))
    }

    /// Keeps an `initialized` that arrived before the era of the server was known.
    pub(super) fn confirmed(&mut self, initialized: &Message) {
        if let Some(Doubt { otherwise: Otherwise::Handshake(kept), .. }) = &mut self.doubt {
            *kept = Some(initialized.clone());
        }
    }

    pub(in crate::translation) fn is_in_doubt(&self) -> bool {
        self.doubt.is_some()
    }

    pub(in crate::translation) fn refusal(&self) -> Option<&Message> {
        match &self.doubt.as_ref()?.otherwise {
            Otherwise::Refusal(refusal) => Some(refusal),
            Otherwise::Handshake(_) => None,
        }
    }

    pub(super) fn end_doubt(&mut self) -> Vec<Step> {
        let Some(doubt) =
            self.doubt.as_mut().filter(|doubt| doubt.until.is_some_and(|until| until <= self.now))
        else {
            return Vec::new();
        };
        doubt.until = None;
        self.give_up()
    }

    /// Ends the doubt: the server refuses `server/discover`, or does not answer.
    pub(in crate::translation) fn give_up(&mut self) -> Vec<Step> {
        let asked = |call: &&Call| matches!(call.state, CallState::Sent(_)) && call.is_handshake();
        let Some(initialize) = self.calls.values().find(asked).map(|call| call.request.clone()) else {
            return Vec::new();
        };
        self.doubt.take().map(|doubt| doubt.end(&initialize)).into_iter().collect()
    }
}

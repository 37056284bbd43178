//! Servers that may not speak the modern era: asked for it first, or because they refuse the handshake. One that does not
//! speak it is a legacy server, which needs no translator. Must not know why a server is in doubt.

use super::{Call, CallState, ForLegacy, Step};
use crate::moment::Moment;
use std::time::{Duration, SystemTime};
use switchboard_protocol::{Message, Outgoing, Part, RawId};

/// A server that is asked whether it speaks the modern era.
#[derive(Debug)]
pub(super) struct Doubt {
    otherwise: Otherwise,
    /// Time for which it may leave the question unanswered.
    patience: Option<Duration>,
    until: Option<Moment>,
}

/// What follows if it does not.
#[derive(Debug)]
enum Otherwise {
    /// It has refused the handshake with this message, which is then its answer.
    Refusal(Message),
    /// It gets the handshake, and this `initialized` if its client has not waited for the answer.
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
    pub(in crate::translation) fn in_doubt(
        patience: Option<Duration>,
        started: SystemTime,
        spent: u64,
    ) -> Self {
        let doubt = Doubt::new(Otherwise::Handshake(None), patience);
        Self { doubt, numbers: spent, ..Self::new(started) }
    }

    pub(in crate::translation) fn after_refusal(
        initialize: &Message,
        refusal: Message,
        (patience, now): (Option<Duration>, Moment),
        started: SystemTime,
        spent: u64,
    ) -> Option<(Self, Step)> {
        let minted = refusal.part(Part::Id).and_then(RawId::minted)?;
        let doubt = Doubt::new(Otherwise::Refusal(refusal), patience);
        // The process may have been asked before, so an id must not begin anew.
        let mut it = Self { doubt, now, numbers: minted.max(spent), ..Self::new(started) };
        it.speaker.greet(initialize);
        let step = it.discover(minted, initialize);
        Some((it, step))
    }

    /// Asks for the modern era under an id of our own: the server may still get the handshake under its id.
    pub(super) fn discover(&mut self, minted: u64, initialize: &Message) -> Step {
        let number = self.number();
        self.calls.insert(minted, Call::new(initialize.clone(), None, number));
        self.repeated.insert(number, minted);
        if let Some(doubt) = &mut self.doubt {
            doubt.until = doubt.patience.map(|patience| self.now + patience);
        }
        Step::ToServer(self.speaker.discover(RawId::from_number(number)))
    }

    /// Keeps an `initialized` that came before the server was known.
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

    /// Ends the doubt: the server does not speak the modern era, or does not answer.
    pub(in crate::translation) fn give_up(&mut self) -> Vec<Step> {
        let asked = |call: &&Call| matches!(call.state, CallState::Sent(_)) && call.is_handshake();
        let Some(initialize) = self.calls.values().find(asked).map(|call| call.request.clone()) else {
            return Vec::new();
        };
        self.doubt.take().map(|doubt| doubt.end(&initialize)).into_iter().collect()
    }
}

//! The framing that a server uses, as far as it is known.

use crate::record::FramingChoice;
use switchboard_protocol::Framing;

/// The framing to be tried, and how much is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FramingGuess {
    Known(Framing),
    /// Tried, and nothing came back yet; then the other one is tried.
    First(Framing),
    /// Tried after the other one.
    Second(Framing),
    /// The first one once more: the server may only have been slow to start.
    Again(Framing),
}

impl FramingGuess {
    pub(crate) fn of(choice: FramingChoice) -> Self {
        match choice {
            FramingChoice::Fixed(framing) => Self::Known(framing),
            FramingChoice::Try => Self::First(Framing::Newline),
            FramingChoice::Doubt => Self::First(Framing::ContentLength),
        }
    }

    fn framing(self) -> Framing {
        match self {
            Self::Known(framing) | Self::First(framing) | Self::Second(framing) | Self::Again(framing) => {
                framing
            }
        }
    }

    fn is_known(self) -> bool {
        matches!(self, Self::Known(_))
    }

    /// The guess after this one was not answered.
    fn next(self) -> Option<Self> {
        match self {
            Self::First(tried) => Some(Self::Second(tried.other())),
            Self::Second(tried) => Some(Self::Again(tried.other())),
            Self::Again(_) | Self::Known(_) => None,
        }
    }
}

/// How a backend's processes are spoken to.
#[derive(Debug)]
pub(crate) struct BackendFraming {
    guess: FramingGuess,
    /// The framing of the present process.
    spoken: Framing,
    /// The present process has said something that counts as understanding.
    was_heard: bool,
}

impl BackendFraming {
    pub(super) fn new(guess: FramingGuess) -> Self {
        Self { guess, spoken: guess.framing(), was_heard: false }
    }

    /// A process starts. Returns the framing that it is spoken to in.
    pub(super) fn begin_process(&mut self) -> Framing {
        self.spoken = self.guess.framing();
        self.was_heard = false;
        self.spoken
    }

    /// The process has said something; `answers` if it answers a request of ours. Returns the framing if it is known now,
    /// and was not before.
    pub(super) fn record_word(&mut self, answers: bool, is_stopping: bool) -> Option<Framing> {
        self.was_heard |= answers || self.spoken == Framing::Newline;
        // Perhaps it is the last word of a process after which the other framing was to be tried. But the end of
        // its input makes a line of what stands behind the headers, and so even a server understand it that
        // wants lines.
        let is_by_chance = self.spoken == Framing::ContentLength && is_stopping;
        if !answers || is_by_chance || self.guess.is_known() {
            return None;
        }
        self.guess = FramingGuess::Known(self.spoken);
        Some(self.spoken)
    }

    /// A word without an id may be about headers that the server does not understand.
    pub(crate) fn may_misread_headers(&self) -> bool {
        self.spoken == Framing::ContentLength && !self.guess.is_known()
    }

    /// Nothing came back, and there is another framing to be tried.
    pub(crate) fn has_other_to_try(&self) -> bool {
        !self.was_heard && self.guess.next().is_some()
    }

    /// The same, and no other framing has been tried before.
    pub(crate) fn is_first_try_unheard(&self) -> bool {
        !self.was_heard && matches!(self.guess, FramingGuess::First(_))
    }

    /// The next process is spoken to in the other framing. Returns the one that was tried.
    pub(crate) fn try_other(&mut self) -> Framing {
        let tried = self.guess.framing();
        self.guess = self.guess.next().unwrap_or(self.guess);
        tried
    }

    /// The number of processes that the present guess has taken.
    pub(crate) fn tries(&self) -> u32 {
        match self.guess {
            FramingGuess::Known(_) | FramingGuess::First(_) => 1,
            FramingGuess::Second(_) => 2,
            FramingGuess::Again(_) => 3,
        }
    }

    /// No framing was answered: the next start begins from the first.
    pub(crate) fn begin_anew(&mut self, choice: FramingChoice) {
        if !self.guess.is_known() {
            self.guess = FramingGuess::of(choice);
        }
    }
}

//! The framing of a server, as far as known. Must not know how a process is started or asked.

use crate::record::FramingChoice;
use switchboard_protocol::Framing;

/// The framing to try, and its certainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FramingGuess {
    Known(Framing),
    /// First try; the other framing follows if it is not answered.
    First(Framing),
    /// Second try, with the other framing.
    Second(Framing),
    /// Third try, with the first framing again: the server may only have been slow to start.
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

    /// The next guess, after this one was not answered.
    fn next(self) -> Option<Self> {
        match self {
            Self::First(tried) => Some(Self::Second(tried.other())),
            Self::Second(tried) => Some(Self::Again(tried.other())),
            Self::Again(_) | Self::Known(_) => None,
        }
    }
}

/// The framing used with a backend's processes.
#[derive(Debug)]
pub(crate) struct BackendFraming {
    guess: FramingGuess,
    /// The framing of the current process.
    spoken: Framing,
    /// Whether the current process has sent something that shows understanding.
    was_heard: bool,
}

impl BackendFraming {
    pub(super) fn new(guess: FramingGuess) -> Self {
        Self { guess, spoken: guess.framing(), was_heard: false }
    }

    /// Starts a process; returns the framing to use with it.
    pub(super) fn begin_process(&mut self) -> Framing {
        self.spoken = self.guess.framing();
        self.was_heard = false;
        self.spoken
    }

    /// Records output of the process; `answers` if it answers a request of ours. Returns the framing if it
    /// has just become known.
    pub(super) fn record_word(&mut self, answers: bool, is_stopping: bool) -> Option<Framing> {
        // Any message shows that lines are understood. After headers only an answer does: others may be
        // complaints.
        self.was_heard |= answers || self.spoken == Framing::Newline;
        // Not conclusive for a process that is being stopped: the end of its input turns the text after the
        // headers into a line, so that even a server that expects lines understands it.
        let is_by_chance = self.spoken == Framing::ContentLength && is_stopping;
        if !answers || is_by_chance || self.guess.is_known() {
            return None;
        }
        self.guess = FramingGuess::Known(self.spoken);
        Some(self.spoken)
    }

    /// Whether a message without an id may be a complaint about headers that the server does not understand.
    pub(crate) fn may_misread_headers(&self) -> bool {
        self.spoken == Framing::ContentLength && !self.guess.is_known()
    }

    /// Whether nothing came back and another framing is left to try.
    pub(crate) fn has_other_to_try(&self) -> bool {
        !self.was_heard && self.guess.next().is_some()
    }

    /// Whether nothing came back and no other framing has been tried.
    pub(crate) fn is_first_try_unheard(&self) -> bool {
        !self.was_heard && matches!(self.guess, FramingGuess::First(_))
    }

    /// Switches to the other framing for the next process. Returns the one that was tried.
    pub(crate) fn try_other(&mut self) -> Framing {
        let tried = self.guess.framing();
        self.guess = self.guess.next().unwrap_or(self.guess);
        tried
    }

    /// Number of processes that the current guess has taken.
    pub(crate) fn tries(&self) -> u32 {
        match self.guess {
            FramingGuess::Known(_) | FramingGuess::First(_) => 1,
            FramingGuess::Second(_) => 2,
            FramingGuess::Again(_) => 3,
        }
    }

    /// Restarts detection from the first guess, after all were tried without an answer.
    pub(crate) fn begin_anew(&mut self, choice: FramingChoice) {
        if !self.guess.is_known() {
            self.guess = FramingGuess::of(choice);
        }
    }
}

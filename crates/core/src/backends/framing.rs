//! The framing that a server uses, as far as it is known.

use crate::record::FramingChoice;
use switchboard_protocol::Framing;

/// What we know of how it frames its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FramingGuess {
    Known(Framing),
    /// Tried, and nothing came back yet; then the other one is tried.
    First(Framing),
    /// Tried after the other one.
    Second(Framing),
    /// The first one once more: it may only have been slow to start.
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

    pub(crate) fn framing(self) -> Framing {
        match self {
            Self::Known(framing) | Self::First(framing) | Self::Second(framing) | Self::Again(framing) => {
                framing
            }
        }
    }

    pub(crate) fn is_known(self) -> bool {
        matches!(self, Self::Known(_))
    }
}

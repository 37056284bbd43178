//! How near the end of the program is. What becomes of clients and backends then is for `transitions::drain` to say.

use crate::moment::Moment;

/// How near the end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Running,
    /// `leave`: the program ends afterwards; else it waits for the client's `exit`.
    Draining {
        deadline: Moment,
        leave: bool,
        /// Told to, by a signal or an order: backends are not asked first.
        is_told: bool,
    },
    /// The backends are being stopped.
    Stopping {
        leave: bool,
    },
    Finished,
}

impl Ending {
    /// Starts draining, or adds these wishes to an end that has begun. Returns whether it begins now.
    pub(crate) fn begin(&mut self, by: Moment, leave: bool, is_told: bool) -> bool {
        match self {
            Self::Running => {
                *self = Self::Draining { deadline: by, leave, is_told };
                return true;
            }
            Self::Draining { leave: leaves, is_told: was_told, .. } => {
                *leaves |= leave;
                *was_told |= is_told;
            }
            Self::Stopping { leave: leaves } => *leaves |= leave,
            Self::Finished => {}
        }
        false
    }

    /// Backends are being stopped, or have been.
    pub(crate) fn is_stopping(self) -> bool {
        match self {
            Self::Running | Self::Draining { .. } => false,
            Self::Stopping { .. } | Self::Finished => true,
        }
    }

    /// The program was told to end, and has not ended yet.
    pub(crate) fn is_leaving(self) -> bool {
        matches!(self, Self::Draining { leave: true, .. } | Self::Stopping { leave: true })
    }

    /// The moment at which requests under way are given up.
    pub(crate) fn deadline(self) -> Option<Moment> {
        match self {
            Self::Draining { deadline, .. } => Some(deadline),
            Self::Running | Self::Stopping { .. } | Self::Finished => None,
        }
    }
}

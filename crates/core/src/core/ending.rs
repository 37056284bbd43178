//! The progress of a shutdown. Must not know what happens to clients and backends: `transitions::drain` decides that.

use crate::moment::Moment;

/// Progress of a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Running,
    /// `leave`: the program ends afterwards; otherwise it waits for the client's `exit`.
    Draining {
        deadline: Moment,
        leave: bool,
        /// Requested by a signal or an order: backends are not asked first.
        is_told: bool,
    },
    /// The backends are being stopped.
    Stopping {
        leave: bool,
    },
    Finished,
}

impl Ending {
    /// Starts draining, or adds these flags to a shutdown in progress. Returns whether it begins now.
    pub(crate) fn begin(&mut self, by: Moment, leave: bool, is_told: bool) -> bool {
        match self {
            Self::Running => {
                *self = Self::Draining { deadline: by, leave, is_told };
                return true;
            }
            Self::Draining { leave: leaves, is_told: was_told, .. } => {
                // Later requests to end can only add to the first.
                *leaves |= leave;
                *was_told |= is_told;
            }
            Self::Stopping { leave: leaves } => *leaves |= leave,
            Self::Finished => {}
        }
        false
    }

    /// Whether backends are being stopped, or have been.
    pub(crate) fn is_stopping(self) -> bool {
        match self {
            Self::Running | Self::Draining { .. } => false,
            Self::Stopping { .. } | Self::Finished => true,
        }
    }

    /// Whether the program was told to end, and has not ended yet.
    pub(crate) fn is_leaving(self) -> bool {
        matches!(self, Self::Draining { leave: true, .. } | Self::Stopping { leave: true })
    }

    /// Time at which requests in progress are given up.
    pub(crate) fn deadline(self) -> Option<Moment> {
        match self {
            Self::Draining { deadline, .. } => Some(deadline),
            Self::Running | Self::Stopping { .. } | Self::Finished => None,
        }
    }
}

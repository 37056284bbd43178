//! How near the end of the program is.

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

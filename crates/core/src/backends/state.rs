//! The states of a backend's life. `LIFECYCLE.md` beside this file has the picture.

use crate::backends::HandshakeFailure;
use crate::moment::Moment;

/// Where a backend is in its life. Each state has the data that only it needs.
#[derive(Debug)]
pub(crate) enum BackendState {
    /// No process, and none wanted at the moment.
    Stopped,
    /// A process is being made, or hears again the handshake that an earlier one heard.
    Starting {
        number: u32,
        since: Moment,
        is_spawned: bool,
    },
    Ready {
        number: u32,
        since: Moment,
    },
    /// Being stopped; `then` says what follows.
    Stopping {
        number: u32,
        then: AfterStop,
    },
    /// It crashed, and is started again at `until`.
    Backoff {
        until: Moment,
    },
    /// It crashed too often: requests fail fast until `until`, then one start is tried.
    Failed {
        until: Moment,
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AfterStop {
    /// Start again at once; what waits is served by the new process.
    Restart,
    Rest,
    /// Tell whoever waits why, with the process's last words; then as after a crash: see `unfit`.
    Fail(HandshakeFailure),
}

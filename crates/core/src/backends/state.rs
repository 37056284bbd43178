//! The states of a backend's life. `LIFECYCLE.md` beside this file has the picture.

use crate::backends::HandshakeFailure;
use crate::moment::Moment;

/// The state of a backend's life. Each state has the data that only it needs.
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
    /// A process is being stopped; `then` says what follows.
    Stopping {
        number: u32,
        then: AfterStop,
    },
    /// A process crashed; the next one is started at `until`.
    Backoff {
        until: Moment,
    },
    /// Too many processes crashed: requests fail fast until `until`, then one start is tried.
    Failed {
        until: Moment,
        why: String,
    },
}

/// The next step once a process is gone that was being stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AfterStop {
    /// Start another at once; it serves the messages that wait.
    Restart,
    Rest,
    /// Tell the clients that wait the reason, with the process's last words; then go on as after a crash.
    Fail(HandshakeFailure),
}

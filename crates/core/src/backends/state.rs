//! The states of a backend's life. `LIFECYCLE.md` in this folder has the diagram.

use crate::backends::HandshakeFailure;
use crate::moment::Moment;

/// State of a backend. Each variant has only the data it needs.
#[derive(Debug)]
pub(crate) enum BackendState {
    /// No process, and none wanted.
    Stopped,
    /// A process is being started, or gets a handshake replayed.
    Starting {
        number: u32,
        since: Moment,
        is_spawned: bool,
    },
    Ready {
        number: u32,
        since: Moment,
    },
    /// The process is being stopped; `then` is the next step.
    Stopping {
        number: u32,
        then: AfterStop,
    },
    /// The process crashed; the next one starts at `until`.
    Backoff {
        until: Moment,
    },
    /// Too many crashes: requests fail at once until `until`, then one start is tried.
    Failed {
        until: Moment,
        why: String,
    },
}

/// Next step after the end of a process that was being stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AfterStop {
    /// Start another process at once, for the queued messages.
    Restart,
    Rest,
    /// Report the reason to waiting clients, with the process's last words; then continue as after a crash.
    Fail(HandshakeFailure),
    /// Leave the clients to a process of the legacy era, which this server speaks.
    GiveWay,
}

//! What happened that is worth seeing. Logs, metrics and later the dashboard are listeners of this one type;
//! no one else logs.

use crate::event::{BackendId, ClientId};
use std::borrow::Cow;
use std::time::Duration;
use switchboard_protocol::{ErrorKind, Framing, RawId};

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The server's result.
    Ok,
    /// The server's own error.
    ServerError,
    /// An error of ours.
    Refused(ErrorKind),
    /// The client took it back.
    Cancelled,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// What keeps processes from outliving us, and what does not, and why.
    Layers {
        text: String,
        /// Something is missing that should be there.
        are_wanting: bool,
    },
    /// An earlier run was killed as a whole; this was still alive of it.
    Swept {
        names: Vec<String>,
        left: usize,
    },
    /// Whoever started us has ended.
    ParentGone,

    ClientConnected {
        client: ClientId,
    },
    ClientInputEnded {
        client: ClientId,
    },
    ClientLost {
        client: ClientId,
    },

    Starting {
        backend: BackendId,
        framing: Framing,
    },
    Spawned {
        backend: BackendId,
        pid: u32,
    },
    SpawnFailed {
        backend: BackendId,
        reason: String,
    },
    Ready {
        backend: BackendId,
        after: Duration,
        restarted: bool,
    },
    Crashed {
        backend: BackendId,
        how: String,
        pending: usize,
        stderr: String,
    },
    RestartIn {
        backend: BackendId,
        delay: Duration,
        crashes: usize,
    },
    BreakerOpened {
        backend: BackendId,
        cooldown: Duration,
        crashes: usize,
    },
    Stopping {
        backend: BackendId,
        why: &'static str,
    },
    Stopped {
        backend: BackendId,
        how: String,
    },
    /// Processes outlived the one we started.
    LeftBehind {
        backend: BackendId,
        /// Names of those that were ended.
        ended: Vec<String>,
        /// How many could not be.
        left: u32,
    },
    FramingLearnt {
        backend: BackendId,
        framing: Framing,
    },
    /// Nothing came back to this framing.
    FramingDoubted {
        backend: BackendId,
        framing: Framing,
    },
    Probing {
        backend: BackendId,
    },

    /// Which backend a message goes to, and under which id.
    Routed {
        client: ClientId,
        backend: BackendId,
        method: Cow<'static, str>,
        id: RawId,
        minted: u64,
    },
    /// The one line per request.
    Answered {
        client: ClientId,
        backend: Option<BackendId>,
        method: Cow<'static, str>,
        id: RawId,
        took: Duration,
        outcome: Outcome,
    },
    /// The same in the other direction: a server's request to its client.
    Asked {
        client: ClientId,
        backend: BackendId,
        method: Cow<'static, str>,
        took: Duration,
        outcome: Outcome,
    },
    Quarantined {
        backend: BackendId,
        text: String,
        bytes: usize,
        total: u64,
    },
    BadMessage {
        from: Cow<'static, str>,
        what: String,
    },
    TooLong {
        from: Cow<'static, str>,
        bytes: u64,
    },
    LateAnswer {
        backend: BackendId,
        total: u64,
    },
    DroppedNotification {
        to: Cow<'static, str>,
        total: u64,
    },
    Retried {
        backend: BackendId,
        method: Cow<'static, str>,
    },
    Draining {
        why: &'static str,
        pending: usize,
    },
    Finished,
}

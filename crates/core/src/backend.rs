//! A backend: the life of its process, and what waits for it. See `LIFECYCLE.md` beside this file.

use crate::event::{BackendId, Launch};
use crate::moment::Moment;
use crate::settings::FramingChoice;
use std::collections::VecDeque;
use std::time::Duration;
use switchboard_protocol::dialect::Ear;
use switchboard_protocol::{Framing, Outgoing};

/// Where a backend is in its life. Each state has the data that only it needs.
#[derive(Debug)]
pub(crate) enum State {
    /// No process, and none wanted at the moment.
    Stopped,
    /// A process is being made, or hears again the handshake that an earlier one heard.
    Starting {
        number: u32,
        since: Moment,
    },
    Ready {
        number: u32,
        since: Moment,
    },
    /// Being stopped; `then` says what follows.
    Stopping {
        number: u32,
        then: Then,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Start again at once; what waits is served by the new process.
    Restart,
    Rest,
}

/// Something to be sent as soon as the backend is ready, in the order in which it came.
#[derive(Debug)]
pub(crate) enum Waiting {
    Request(u64),
    Notification(Outgoing),
}

/// What we know of how it frames its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Known(Framing),
    /// Tried, and nothing came back yet; then the other one is tried.
    First(Framing),
    /// Tried after the other one.
    Second(Framing),
}

impl Manner {
    pub(crate) fn of(choice: FramingChoice) -> Self {
        match choice {
            FramingChoice::Fixed(framing) => Self::Known(framing),
            FramingChoice::Try => Self::First(Framing::Newline),
            FramingChoice::Doubt => Self::First(Framing::ContentLength),
        }
    }

    pub(crate) fn framing(self) -> Framing {
        match self {
            Self::Known(framing) | Self::First(framing) | Self::Second(framing) => framing,
        }
    }

    pub(crate) fn is_known(self) -> bool {
        matches!(self, Self::Known(_))
    }
}

/// A request for a sign of life.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe {
    pub(crate) id: u64,
    pub(crate) deadline: Moment,
}

#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) id: BackendId,
    pub(crate) state: State,
    /// How many processes were started so far.
    pub(crate) launches: u32,
    pub(crate) manner: Manner,
    /// How the present process was spoken to.
    pub(crate) framing: Framing,
    /// The present process has said something on its stdout.
    pub(crate) heard: bool,
    /// It has answered something at least once.
    pub(crate) proven: bool,
    /// Started after the breaker was open, and has answered nothing yet.
    pub(crate) on_trial: bool,
    pub(crate) ear: Ear,
    pub(crate) waiting: VecDeque<Waiting>,
    pub(crate) probe: Option<Probe>,
    /// When it crashed, within the last minute.
    pub(crate) crashes: VecDeque<Moment>,
    /// How often the breaker opened in a row.
    pub(crate) opened: u32,
    /// Bytes in its outbox.
    pub(crate) queued: usize,
    /// Requests that it works on, of those that take turns.
    pub(crate) at_work: usize,
    /// Lines on its stdout that were no messages: how many, and the last few, cut and redacted.
    pub(crate) noise: u64,
    pub(crate) quarantine: VecDeque<String>,
    pub(crate) late: u64,
    pub(crate) dropped: u64,
}

impl Backend {
    pub(crate) fn new(id: BackendId, framing: FramingChoice) -> Self {
        Self {
            id,
            state: State::Stopped,
            launches: 0,
            manner: Manner::of(framing),
            framing: Manner::of(framing).framing(),
            heard: false,
            proven: false,
            on_trial: false,
            ear: Ear::Open,
            waiting: VecDeque::new(),
            probe: None,
            crashes: VecDeque::new(),
            opened: 0,
            queued: 0,
            at_work: 0,
            noise: 0,
            quarantine: VecDeque::new(),
            late: 0,
            dropped: 0,
        }
    }

    /// The number of the process that exists or is being made.
    pub(crate) fn number(&self) -> Option<u32> {
        match self.state {
            State::Starting { number, .. } | State::Ready { number, .. } | State::Stopping { number, .. } => {
                Some(number)
            }
            State::Stopped | State::Backoff { .. } | State::Failed { .. } => None,
        }
    }

    /// Whether this is the process of now, and not a late word of an earlier one.
    pub(crate) fn is_current(&self, launch: Launch) -> bool {
        self.number() == Some(launch.number)
    }

    pub(crate) fn launch(&self) -> Option<Launch> {
        self.number().map(|number| Launch { backend: self.id, number })
    }

    /// Keeps a line that was no message.
    pub(crate) fn quarantine(&mut self, line: String) {
        const KEPT: usize = 16;
        self.noise += 1;
        if self.quarantine.len() == KEPT {
            self.quarantine.pop_front();
        }
        self.quarantine.push_back(line);
    }

    /// Notes a crash, and forgets those that are more than a minute ago. A backend that had worked for longer
    /// than that starts with a clean slate.
    pub(crate) fn note_crash(&mut self, now: Moment) {
        const WINDOW: Duration = Duration::from_secs(60);
        if let State::Ready { since, .. } = self.state
            && now.since(since) > WINDOW
        {
            self.opened = 0;
        }
        self.crashes.push_back(now);
        while self.crashes.front().is_some_and(|&first| now.since(first) > WINDOW) {
            self.crashes.pop_front();
        }
    }
}

//! What comes in, and what is to be done because of it. Both closed: every case is in these two enums.

use crate::catalogue::{Offer, OfferKey, RawOffer};
use crate::environment::Environment;
use crate::fact::Fact;
use crate::ids::{ClientId, Launch, Peer, Principal, ServerId};
use crate::record::Record;
use crate::routing::NamedPath;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use switchboard_protocol::hunt::Glimpse;
use switchboard_protocol::{Broken, Framing, Message, Outgoing, Parsed, RawId};

/// Where a client comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    pub principal: Principal,
    /// What it brings along for its server.
    pub environment: Environment,
    /// The root that it is pinned to.
    pub pinned: Option<String>,
    /// Roots that were given when it came.
    pub given: Vec<String>,
    pub default: Option<String>,
    /// The root that its environment names.
    pub named: Option<String>,
    pub working_folder: Option<String>,
    /// Its messages go different ways, so that each must say what it is about.
    pub goes_by_request: bool,
    /// It is on another machine, or nobody knows who it is: what it calls a folder is none of ours.
    pub is_elsewhere: bool,
    /// The secret of an attachment that carries the messages itself: by this it knows our refusals from a server's.
    pub refusal_mark: Option<Arc<str>>,
}

/// A place, and which member of the frame named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberPath {
    pub member: usize,
    pub path: NamedPath,
}

#[derive(Debug)]
pub enum Event {
    ClientConnected {
        client: ClientId,
        /// The server that it wants.
        server: ServerId,
        surroundings: Surroundings,
    },
    /// A client that wants all servers of the config, as one.
    AggregateConnected {
        client: ClientId,
        surroundings: Surroundings,
        /// What it brings along for each server, in place of the one environment of the surroundings.
        environments: Vec<(ServerId, Environment)>,
        /// Those of them that it wants, if not all.
        only: Option<Vec<ServerId>>,
    },
    FromClient {
        client: ClientId,
        frame: Result<Parsed, Broken>,
        /// Where its messages say that they belong, looked up on disk. Only wanted of servers that have an instance
        /// per root.
        paths: Vec<MemberPath>,
    },
    /// A frame beyond the limit, of which only glimpses remain.
    ClientTooLong {
        client: ClientId,
        length: u64,
        glimpses: Vec<Glimpse>,
    },
    /// It will send nothing more; it may still read.
    ClientInputEnded {
        client: ClientId,
    },
    /// It no longer reads: nobody is there.
    ClientLost {
        client: ClientId,
    },

    /// What came of [`Action::LookUp`]: the folders that exist, with links followed.
    RootsLookedUp {
        client: ClientId,
        inquiry: u32,
        roots: Vec<Option<String>>,
    },

    Spawned {
        launch: Launch,
        /// 0 of a server elsewhere, which is no process of ours.
        pid: u32,
    },
    SpawnFailed {
        launch: Launch,
        reason: String,
        hint: Option<String>,
    },
    /// A server elsewhere could not be reached, or refused the handshake.
    NotReached {
        launch: Launch,
        reason: String,
        hint: Option<String>,
        /// It may work later; and when, if that is known.
        retryable: bool,
        after: Option<Duration>,
    },
    FromBackend {
        launch: Launch,
        message: Message,
    },
    /// Something on the backend's stdout that is not a message.
    BackendNoise {
        launch: Launch,
        text: Bytes,
        /// Messages that it was meant to be, or has in it.
        broken: Vec<Broken>,
    },
    BackendTooLong {
        launch: Launch,
        length: u64,
        glimpses: Vec<Glimpse>,
    },
    /// The process is gone. `hint` is what to say if it never worked.
    BackendEnded {
        launch: Launch,
        how: String,
        stderr: String,
        hint: Option<String>,
    },

    /// What came of [`Action::ReadOffer`].
    OfferRead {
        launch: Launch,
        round: u32,
        offer: Arc<Offer>,
    },

    /// How much memory the processes of these hold.
    Measured {
        bytes: Vec<(Launch, u64)>,
    },

    /// Bytes have left an outbox.
    Flushed {
        peer: Peer,
        bytes: usize,
    },
    /// A notification that waited for a client was dropped by the front that kept it.
    Dropped {
        client: ClientId,
    },
    /// Time has passed.
    Tick,
    /// We are to end in order: finish what is in flight, stop the backends. If we do already: faster.
    Drain {
        why: &'static str,
    },
    /// We are to end at once.
    Kill,
}

/// Which of a client's requests a message that answers none belongs to; said to those who want to know
/// ([`Surroundings::goes_by_request`]). What a message answers it says itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// It comes while this one is worked on, and most likely because of it.
    Request(RawId),
    Nothing,
}

/// How a backend is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopHow {
    /// Ask first: close its input, then terminate, then kill, each with this grace. Said a second time:
    /// terminate at once, then kill.
    Gently {
        grace: Duration,
    },
    /// The same without the wait for what its closed input may do: terminate at once, then kill.
    Terminate {
        grace: Duration,
    },
    Kill,
}

impl StopHow {
    /// How long it may take to end by itself; nothing if it is killed.
    pub fn grace(self) -> Option<Duration> {
        match self {
            Self::Gently { grace } | Self::Terminate { grace } => Some(grace),
            Self::Kill => None,
        }
    }
}

#[derive(Debug)]
pub enum Action {
    Start {
        launch: Launch,
        server: ServerId,
        framing: Framing,
        root: Option<String>,
        /// It belongs to no workspace, and starts in the user's home folder.
        in_home: bool,
        /// Drawn from its clients' environments.
        environment: Environment,
    },
    Stop {
        launch: Launch,
        how: StopHow,
    },
    ToBackend {
        launch: Launch,
        out: Outgoing,
    },
    ToClient {
        client: ClientId,
        out: Outgoing,
        about: About,
    },
    /// Find out which folders these are; to be answered with [`Event::RootsLookedUp`].
    LookUp {
        client: ClientId,
        inquiry: u32,
        paths: Vec<String>,
    },
    /// Make out what a server offers; to be answered with [`Event::OfferRead`]. Lists may be long: not to be done where
    /// others wait.
    ReadOffer {
        launch: Launch,
        round: u32,
        raw: Box<RawOffer>,
    },
    /// Remember what a server offers to clients of this profile, beyond our own end.
    StoreOffer {
        server: ServerId,
        key: OfferKey,
        offer: Arc<Offer>,
    },
    /// Remember what was learnt about a server's launch, beyond our own end.
    StoreRecord {
        server: ServerId,
        record: Record,
    },
    /// Nothing more is to be had from us here: the connection is closed, once all is written.
    Disconnect {
        client: ClientId,
    },
    Report(Fact),
    /// Everything is answered and stopped: the program may end.
    Finished,
}

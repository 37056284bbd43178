//! Incoming events and resulting actions. Both enums are closed: every case is listed here.

use crate::access::{Front, Identity, Proof};
use crate::backends::ProcessUsage;
use crate::catalogue::{Offer, OfferKey, RawOffer};
use crate::environment::Environment;
use crate::fact::Fact;
use crate::ids::{ClientId, Launch, Peer, ServerId};
use crate::pins::PinNews;
use crate::record::Record;
use crate::routing::NamedPath;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use switchboard_protocol::hunt::Glimpse;
use switchboard_protocol::{Broken, Framing, Message, Outgoing, Parsed, RawId};

/// Origin and context of a client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The party on whose behalf it acts.
    pub identity: Arc<Identity>,
    /// How it proves that.
    pub proof: Proof,
    /// Profiles of the config that narrow its rights further. A profile that does not exist allows nothing.
    pub profiles: Vec<Arc<str>>,
    pub front: Front,
    /// Its environment for its server.
    pub environment: Environment,
    /// The root that it is pinned to.
    pub pinned: Option<String>,
    /// Roots given on connection.
    pub given: Vec<String>,
    pub default: Option<String>,
    /// The root named in its environment.
    pub named: Option<String>,
    pub working_folder: Option<String>,
    /// Messages to it travel on different connections, so each must name the request it belongs to.
    pub goes_by_request: bool,
    /// On another machine, or unauthenticated: its folder names do not refer to this machine.
    pub is_elsewhere: bool,
    /// Secret of an attachment that relays messages: distinguishes our refusals from a server's answers.
    pub refusal_mark: Option<Arc<str>>,
}

/// A path, and the member of the frame that named it.
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
    /// A client that wants, as one, all servers that its rights include.
    AggregateConnected {
        client: ClientId,
        surroundings: Surroundings,
        /// Its environment per server, in place of the one in the surroundings.
        environments: Vec<(ServerId, Environment)>,
    },
    FromClient {
        client: ClientId,
        frame: Result<Parsed, Broken>,
        /// Paths named in the messages, looked up on disk. Only needed for servers with an instance per root.
        paths: Vec<MemberPath>,
    },
    /// A frame over the limit, of which only glimpses remain.
    ClientTooLong {
        client: ClientId,
        length: u64,
        glimpses: Vec<Glimpse>,
    },
    /// End of its input; it may still read.
    ClientInputEnded {
        client: ClientId,
    },
    /// The client no longer reads: it is gone.
    ClientLost {
        client: ClientId,
    },

    /// A token was revoked, has expired, or has other rights now: its clients are disconnected.
    Revoked {
        identity: Arc<Identity>,
    },

    /// Result of [`Action::LookUp`]: the existing folders, with links resolved.
    RootsLookedUp {
        client: ClientId,
        inquiry: u32,
        roots: Vec<Option<String>>,
    },

    Spawned {
        launch: Launch,
        /// 0 for a remote server, which is not a process of ours.
        pid: u32,
    },
    SpawnFailed {
        launch: Launch,
        reason: String,
        hint: Option<String>,
    },
    /// A remote server could not be reached, or refused the handshake.
    NotReached {
        launch: Launch,
        reason: String,
        hint: Option<String>,
        /// Whether a retry may succeed, and when, if known.
        retryable: bool,
        after: Option<Duration>,
    },
    FromBackend {
        launch: Launch,
        message: Message,
    },
    /// A log message in the response to one request, as modern servers over HTTP send them.
    LogOfRequest {
        launch: Launch,
        /// The minted id of the request.
        about: u64,
        message: Message,
    },
    /// Output on the backend's stdout that is not a message.
    BackendNoise {
        launch: Launch,
        text: Bytes,
        /// Messages that it was meant to be, or contains.
        broken: Vec<Broken>,
    },
    BackendTooLong {
        launch: Launch,
        length: u64,
        glimpses: Vec<Glimpse>,
    },
    /// The process is gone. `hint` is for a process that never worked.
    BackendEnded {
        launch: Launch,
        how: String,
        stderr: String,
        hint: Option<String>,
    },

    /// Result of [`Action::ReadOffer`].
    OfferRead {
        launch: Launch,
        round: u32,
        offer: Arc<Offer>,
    },

    /// Memory and CPU time of the processes of these launches.
    Measured {
        used: Vec<(Launch, ProcessUsage)>,
    },

    /// Bytes have left an outbox.
    Flushed {
        peer: Peer,
        bytes: usize,
    },
    /// A notification queued for a client was dropped by its front.
    Dropped {
        client: ClientId,
    },
    /// Time has passed.
    Tick,
    /// Shut down in order: finish requests in progress, stop the backends. Repeated: faster.
    Drain {
        why: &'static str,
    },
    /// Shut down at once.
    Kill,
}

/// The client's request to which a message that is not an answer belongs, for clients that need it
/// ([`Surroundings::goes_by_request`]). An answer names its request itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// Sent while this request is in progress, and most likely because of it.
    Request(RawId),
    Nothing,
}

/// Method of stopping a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopHow {
    /// Close its input, then terminate, then kill, each after this grace period. Repeated: terminate at once,
    /// then kill.
    Gently {
        grace: Duration,
    },
    /// Without the wait after closing its input: terminate at once, then kill.
    Terminate {
        grace: Duration,
    },
    Kill,
}

impl StopHow {
    /// The time it has to end by itself; `None` if it is killed.
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
        /// Independent of the workspace; starts in the user's home folder.
        in_home: bool,
        /// Combined from its clients' environments.
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
    /// A request that its client has cancelled gets no answer any more, so that its id is free. Only for clients that need
    /// it ([`Surroundings::goes_by_request`]).
    NoAnswer {
        client: ClientId,
        id: RawId,
    },
    /// Look up these folders on disk; answered with [`Event::RootsLookedUp`].
    LookUp {
        client: ClientId,
        inquiry: u32,
        paths: Vec<String>,
    },
    /// Parse a server's lists; answered with [`Event::OfferRead`]. Lists may be long, so not under the lock.
    ReadOffer {
        launch: Launch,
        round: u32,
        raw: Box<RawOffer>,
    },
    /// Store on disk what a server offers to clients of this profile.
    StoreOffer {
        server: ServerId,
        key: OfferKey,
        offer: Arc<Offer>,
    },
    /// Store on disk what was learnt about a server's launch.
    StoreRecord {
        server: ServerId,
        record: Record,
    },
    /// Store on disk how the approved definitions of a server's tools have changed.
    StorePins {
        server: ServerId,
        news: Vec<PinNews>,
    },
    /// Close the connection once everything is written: nothing more will follow.
    Disconnect {
        client: ClientId,
    },
    Report(Fact),
    /// Everything is answered and stopped: the program may end.
    Finished,
}

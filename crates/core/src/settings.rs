//! Policies and limits, as the config gives them.

use crate::catalogue::{NameStyle, Naming, OfferKey, StoredOffer};
use crate::record::{FramingChoice, Record};
use crate::routing::Policy;
use crate::routing::path::Style;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use switchboard_protocol::dialect::LearntDialect;

/// Lists and other short questions, whatever time a server's calls are given.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// What is done with a backend after one of its requests timed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnTimeout {
    /// Ask it for a sign of life; restart it if none comes.
    Probe,
    Restart,
    Keep,
}

/// What is sent once more after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfterCrash {
    /// Lists and reads; never a call.
    Safe,
    Off,
}

/// What instances of a server are kept apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Root,
    Global,
    Client,
}

impl Scope {
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Global => "global",
            Self::Client => "client",
        }
    }
}

/// Why a server has its scope. All but the first were chosen for it, and give way to what it turns out to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeReason {
    /// The config or the command line says so.
    Given,
    /// Its launch contains the root, or `rootArguments` names arguments that do.
    UsesRoot,
    /// Its launch contains this relative path.
    RelativePath(String),
    /// It runs elsewhere.
    Remote,
    /// This package is known not to depend on the folder.
    KnownPackage(String),
    Unknown,
    /// It keeps a client's state between calls.
    KeepsState,
    /// It asks its client questions.
    AsksQuestions,
    /// It asks for its client's roots.
    AsksRoots,
}

impl fmt::Display for ScopeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given => write!(f, "the config says so"),
            Self::UsesRoot => write!(f, "its launch depends on the workspace"),
            Self::RelativePath(path) => write!(f, "its launch contains a relative path ({path})"),
            Self::Remote => write!(f, "it is a remote server"),
            Self::KnownPackage(package) => write!(f, "{package} does not depend on the folder"),
            Self::Unknown => write!(f, "it may depend on the folder (set `scope` if not)"),
            Self::KeepsState => write!(f, "it keeps a client's state between calls"),
            Self::AsksQuestions => write!(f, "it asks its client questions"),
            Self::AsksRoots => write!(f, "it asks for its client's roots"),
        }
    }
}

/// What an instance keeps between requests, and so who may use it, and when it may be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatePolicy {
    /// Nothing: shared, and stopped when idle.
    None,
    /// A client's affairs: private to it, and kept while it is there.
    Client,
    /// Everybody's affairs: shared, and kept while anyone is there.
    Backend,
    /// To be told from the names of its tools.
    Auto,
}

/// Whether clients that can do different things share an instance: a server may offer them different tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capabilities {
    /// Once it was seen that it offers them the same, and asks nothing of them.
    Auto,
    Exact,
    Shared,
}

/// What all servers share.
#[derive(Debug, Clone)]
pub struct Pool {
    /// How many instances may run, of whatever server.
    pub max_backends: usize,
    /// How many may start at a time only to be asked for their lists.
    pub max_list_starts: usize,
    /// What all of them may hold together.
    pub memory_limit: Option<u64>,
    /// The owner has chosen that limit. For a default no call is broken off.
    pub is_memory_limit_given: bool,
}

/// What is known of workspaces before anybody asks.
#[derive(Debug, Clone)]
pub struct Roots {
    /// Where a user's files begin.
    pub home: Option<String>,
    pub policy: Policy,
}

/// One entry of the config, as far as the routing of messages needs it.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    pub name: String,
    /// What its instances are kept apart by.
    pub scope: Scope,
    pub scope_reason: ScopeReason,
    /// One instance per root, and not one for all the roots of a client: its launch depends on the root, or its
    /// arguments name one.
    pub splits: bool,
    /// It cannot be started without a root.
    pub needs_root: bool,
    /// It is another Switchboard, which knows its clients: what it asks for is passed on as it is.
    pub relays: bool,
    /// The secret under which it refuses what it has not acted upon. A server behind it could say the same, and has acted.
    pub refusal_mark: Option<Arc<str>>,
    pub state: StatePolicy,
    pub capabilities: Capabilities,
    /// How many of its instances may run.
    pub max_backends: usize,
    /// How long an instance may be of no use before it is stopped; `None` for ever.
    pub idle_ttl: Option<Duration>,
    /// What the processes of one instance may hold together.
    pub memory_limit: Option<u64>,
    /// How often an instance in use is asked for a sign of life; `None` for never.
    pub health: Option<Duration>,
    /// Notifications, by method, of which equal ones in quick succession become one.
    pub debounce: Vec<(String, Duration)>,
    pub framing: FramingChoice,
    /// For the handshake.
    pub start_timeout: Duration,
    /// For calls; restarted by progress.
    pub timeout: Duration,
    /// The end of a request whatever its progress; `None` for never.
    pub hard_timeout: Option<Duration>,
    pub on_timeout: OnTimeout,
    pub retry_after_crash: RetryAfterCrash,
    pub shutdown_grace: Duration,
    /// How many requests a backend works on at a time; the others wait their turn.
    pub max_in_flight: usize,
    /// How many messages may wait, for their turn or for the backend to be ready.
    pub max_queue: usize,
    /// What its things are called, and which of them are shown, to clients of many servers.
    pub naming: Arc<Naming>,
    /// Clients of many servers have it among theirs.
    pub is_listed: bool,
    /// It is started when it is first needed, and not as soon as a client of many servers comes.
    pub lazy: bool,
    /// The launch itself depends on the root, and so may what the server offers.
    pub launch_uses_root: bool,
    /// Its lists are stored, and clients are answered from them while it starts.
    pub stores_lists: bool,
    /// Its lists as an earlier run stored them, the newest first.
    pub offers: Vec<(OfferKey, StoredOffer)>,
    /// What earlier runs have learnt about its launch.
    pub record: Record,
}

impl ServerSettings {
    /// What holds for a server of which nothing else was said.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            scope: Scope::Root,
            scope_reason: ScopeReason::Given,
            splits: false,
            needs_root: false,
            relays: false,
            refusal_mark: None,
            state: StatePolicy::None,
            capabilities: Capabilities::Auto,
            max_backends: 8,
            idle_ttl: None,
            memory_limit: None,
            health: None,
            debounce: Vec::new(),
            framing: FramingChoice::Try,
            start_timeout: Duration::from_secs(30),
            timeout: Duration::from_secs(600),
            hard_timeout: None,
            on_timeout: OnTimeout::Probe,
            retry_after_crash: RetryAfterCrash::Safe,
            shutdown_grace: Duration::from_secs(5),
            max_in_flight: 64,
            max_queue: 256,
            naming: Arc::new(Naming::new(name, NameStyle::Prefixed)),
            is_listed: true,
            lazy: true,
            launch_uses_root: false,
            stores_lists: false,
            offers: Vec::new(),
            record: Record::default(),
        }
    }
}

impl ServerSettings {
    /// What its instances are kept apart by, and why, with what was learnt about it.
    pub fn scope_with_reason(&self, record: &Record, state: StatePolicy) -> (Scope, ScopeReason) {
        self.learnt_scope(record, state).unwrap_or_else(|| (self.scope, self.scope_reason.clone()))
    }

    /// The scope that follows from what the server does, where the config leaves it open.
    pub(crate) fn learnt_scope(&self, record: &Record, state: StatePolicy) -> Option<(Scope, ScopeReason)> {
        match () {
            () if self.scope_reason == ScopeReason::Given => None,
            () if state == StatePolicy::Client => Some((Scope::Client, ScopeReason::KeepsState)),
            () if record.asks_questions && !self.relays => Some((Scope::Client, ScopeReason::AsksQuestions)),
            () if record.asks_roots && self.scope == Scope::Global => {
                Some((Scope::Root, ScopeReason::AsksRoots))
            }
            () => None,
        }
    }

    /// One instance per root, and not one for all the roots of a client.
    pub(crate) fn is_split(&self) -> bool {
        self.splits && self.scope != Scope::Global
    }
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self::new("?")
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self { max_backends: 128, max_list_starts: 4, memory_limit: None, is_memory_limit_given: false }
    }
}

impl Default for Roots {
    fn default() -> Self {
        let policy = Policy { open_roots: true, fallback: true, style: Style::OWN };
        Self { home: None, policy }
    }
}

/// What clients of many servers have in common.
#[derive(Debug, Clone)]
pub struct Aggregates {
    /// How long a client waits, from its handshake on, for servers whose lists are not known yet.
    pub list_grace: Duration,
    /// How many things a page of a list has; `None`: all of them.
    pub page_size: Option<usize>,
    /// Notifications of clients, by method, that go to these servers and to no others.
    pub notifications: Vec<(String, Vec<String>)>,
}

impl Default for Aggregates {
    fn default() -> Self {
        Self { list_grace: Duration::from_secs(10), page_size: None, notifications: Vec::new() }
    }
}

/// Resources that a client may be subscribed to, and the bytes of their URIs.
pub const MAX_SUBSCRIPTIONS: usize = 1024;
pub const MAX_SUBSCRIPTION_BYTES: usize = 1 << 20;

/// A limit on everything that could grow.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes that may wait in a client's outbox before an answer becomes `client_too_slow`.
    pub client_bytes: usize,
    /// Bytes that may wait in a backend's outbox before a request becomes `overloaded`.
    pub backend_bytes: usize,
    /// Requests of one client without an answer.
    pub pending_per_client: usize,
    /// Resources that one client may be subscribed to.
    pub subscriptions_per_client: usize,
    /// Bytes of the URIs of these.
    pub subscription_bytes: usize,
    /// Requests of one backend to its client without an answer.
    pub asked_per_backend: usize,
    /// Restarts after crashes within a minute, before the breaker opens.
    pub restarts_per_minute: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            client_bytes: 64 << 20,
            backend_bytes: 64 << 20,
            pending_per_client: 4096,
            subscriptions_per_client: MAX_SUBSCRIPTIONS,
            subscription_bytes: MAX_SUBSCRIPTION_BYTES,
            asked_per_backend: 256,
            restarts_per_minute: 5,
        }
    }
}

/// Everything the core is made with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// By their [`crate::ServerId`].
    pub servers: Vec<ServerSettings>,
    pub pool: Pool,
    pub roots: Roots,
    /// What is known of the client's dialect before it speaks.
    pub dialect: LearntDialect,
    /// How long requests in flight may go on once we are asked to end.
    pub shutdown_grace: Duration,
    pub limits: Limits,
    /// We serve clients that come and go: a backend that nobody holds any more goes after this time, and we when all are
    /// gone. `None`: we end with our client.
    pub linger: Option<Duration>,
    /// We are there for whoever may come, and do not end when nobody does.
    pub stays: bool,
    /// The first id of requests to clients. One that no earlier daemon has used: a client may still answer those.
    pub first_question: u64,
    /// For clients of many servers.
    pub aggregates: Aggregates,
    /// For the jitter of restarts.
    pub seed: u64,
    /// Whether anyone wants to see [`crate::Fact::Routed`] for every request.
    pub report_routes: bool,
}

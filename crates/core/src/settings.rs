//! Policies and limits from the config. Must not know where they come from.

use crate::access::{Asks, AuditPolicy, Authenticator, IdentityLimits, NewLimiter, Rights, ServerLimits};
use crate::catalogue::{NameStyle, Naming, OfferKey, StoredOffer};
use crate::pins::{Pinning, Pins};
use crate::record::{FramingChoice, Record};
use crate::redact::Secrets;
use crate::routing::Policy;
use crate::routing::path::Style;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Dialect, Era};

/// Timeout of lists and other short requests, whatever the timeout of a server's calls.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// Treatment of a backend after a request timed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnTimeout {
    /// Ask for a sign of life; restart the backend if none comes.
    Probe,
    Restart,
    Keep,
}

/// Requests that are repeated after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfterCrash {
    /// Lists and reads; never a call.
    Safe,
    Off,
}

/// Property by which instances of a server are separated.
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

/// Reason for a server's scope. All but the first are defaults, which give way to what the server turns out to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeReason {
    /// Set in the config or on the command line.
    Given,
    /// Its launch contains the root, or `rootArguments` names arguments that do.
    UsesRoot,
    /// Its launch contains this relative path.
    RelativePath(String),
    /// A remote server.
    Remote,
    /// A package known not to depend on the folder.
    KnownPackage(String),
    Unknown,
    /// Keeps client state between calls.
    KeepsState,
    /// Sends requests to its client.
    AsksQuestions,
    /// Requests its client's roots.
    AsksRoots,
}

impl fmt::Display for ScopeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given => write!(f, "set in the config"),
            Self::UsesRoot => write!(f, "its launch depends on the workspace"),
            Self::RelativePath(path) => write!(f, "its launch contains a relative path ({path})"),
            Self::Remote => write!(f, "it is a remote server"),
            Self::KnownPackage(package) => write!(f, "{package} does not depend on the folder"),
            Self::Unknown => write!(f, "it may depend on the folder (set `scope` if not)"),
            Self::KeepsState => write!(f, "it keeps client state between calls"),
            Self::AsksQuestions => write!(f, "it asks its client questions"),
            Self::AsksRoots => write!(f, "it asks for its client's roots"),
        }
    }
}

/// State that an instance keeps between requests, which decides who may use it and when it may be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatePolicy {
    /// None: shared, and stopped when idle.
    None,
    /// Client state: private to a client, and kept while that client is connected.
    Client,
    /// Shared state: shared by all, and kept while any client is connected.
    Backend,
    /// Judged by the names of its tools.
    Auto,
}

/// Whether clients with different capabilities share an instance: a server may offer them different tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capabilities {
    /// Once the server is known to offer the same to both, and sends them no requests.
    Auto,
    Exact,
    Shared,
}

/// The era in which clients are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientEra {
    /// As each client speaks.
    #[default]
    Auto,
    /// Modern requests are not served.
    Legacy,
}

/// The era in which a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EraChoice {
    /// As it turns out to speak.
    #[default]
    Auto,
    Fixed(Era),
}

/// Settings shared by all servers.
#[derive(Debug, Clone)]
pub struct Pool {
    /// Limit on running instances of all servers.
    pub max_backends: usize,
    /// Limit on concurrent starts that only serve to fetch lists.
    pub max_list_starts: usize,
    /// Memory limit for all of them together, in bytes.
    pub memory_limit: Option<u64>,
    /// Whether the owner set the memory limit. The default limit never interrupts a call.
    pub is_memory_limit_given: bool,
}

/// Settings for workspaces.
#[derive(Debug, Clone)]
pub struct Roots {
    /// The user's home folder.
    pub home: Option<String>,
    pub policy: Policy,
}

/// A secret key, which nobody else may know or guess. Zero by default, for tests.
#[derive(Clone, Default)]
pub struct StateKey(pub [u8; 32]);

impl fmt::Debug for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateKey(..)")
    }
}

/// One entry of the config, as far as routing needs it.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    pub name: String,
    /// Property by which its instances are separated.
    pub scope: Scope,
    pub scope_reason: ScopeReason,
    /// One instance per root instead of one for all roots of a client: its launch depends on the root, or its
    /// arguments name one.
    pub splits: bool,
    /// Cannot be started without a root.
    pub needs_root: bool,
    /// Another Switchboard, which knows its clients: its requests are forwarded unchanged.
    pub relays: bool,
    /// Secret that marks its refusals of requests it has not acted upon. A server behind it could send the
    /// same error after acting.
    pub refusal_mark: Option<Arc<str>>,
    pub state: StatePolicy,
    pub capabilities: Capabilities,
    /// Limit on its running instances.
    pub max_backends: usize,
    /// Idle time after which an instance is stopped; `None` means never.
    pub idle_ttl: Option<Duration>,
    /// Memory limit for all processes of one instance, in bytes.
    pub memory_limit: Option<u64>,
    /// Interval of liveness checks of an instance in use; `None` disables them.
    pub health: Option<Duration>,
    /// Notifications, by method, that are merged when equal ones follow within this time.
    pub debounce: Vec<(String, Duration)>,
    pub framing: FramingChoice,
    /// The era in which it is spoken to.
    pub era: EraChoice,
    /// Not a process of ours.
    pub is_remote: bool,
    /// Form of our messages to it. Its own may have either form.
    pub dialect: Dialect,
    /// Timeout of the handshake.
    pub start_timeout: Duration,
    /// Timeout of calls, restarted by progress.
    pub timeout: Duration,
    /// Timeout of a request regardless of progress; `None` means none.
    pub hard_timeout: Option<Duration>,
    /// Time in which a modern client continues a call for which a legacy server wants input.
    pub input_timeout: Duration,
    pub on_timeout: OnTimeout,
    pub retry_after_crash: RetryAfterCrash,
    pub shutdown_grace: Duration,
    /// Limit on requests in progress per backend; further ones are queued.
    pub max_in_flight: usize,
    /// Limit on queued messages, waiting for a turn or for the backend to be ready.
    pub max_queue: usize,
    /// Requests that it may send to its clients.
    pub asks: Asks,
    /// Limits on calls to it, shared by all identities; `None` if there are none.
    pub call_limits: Option<Arc<ServerLimits>>,
    /// Names and visibility of its items for aggregate clients.
    pub naming: Arc<Naming>,
    /// Whether aggregate clients include it.
    pub is_listed: bool,
    /// Started on first use, not as soon as an aggregate client connects.
    pub lazy: bool,
    /// The launch itself depends on the root, and so may the offer.
    pub launch_uses_root: bool,
    /// Its lists are stored, and clients are answered from them while it starts.
    pub stores_lists: bool,
    /// Its lists as stored by an earlier run, newest first.
    pub offers: Vec<(OfferKey, StoredOffer)>,
    /// Facts learnt about its launch in earlier runs.
    pub record: Record,
    /// Treatment of tools whose definition has changed.
    pub pinning: Pinning,
    /// Definitions of its tools that were approved in earlier runs.
    pub pins: Pins,
}

impl ServerSettings {
    /// The defaults for a server.
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
            era: EraChoice::Auto,
            is_remote: false,
            dialect: Dialect::Standard,
            start_timeout: Duration::from_secs(30),
            timeout: Duration::from_secs(600),
            hard_timeout: None,
            input_timeout: Duration::from_secs(600),
            on_timeout: OnTimeout::Probe,
            retry_after_crash: RetryAfterCrash::Safe,
            shutdown_grace: Duration::from_secs(5),
            max_in_flight: 64,
            max_queue: 256,
            asks: Asks::default(),
            call_limits: None,
            naming: Arc::new(Naming::new(name, NameStyle::Prefixed)),
            is_listed: true,
            lazy: true,
            launch_uses_root: false,
            stores_lists: false,
            offers: Vec::new(),
            record: Record::default(),
            pinning: Pinning::Off,
            pins: Pins::default(),
        }
    }

    /// The same with stored pins, which hide the tools that are held. Stored lists must be read under the naming of
    /// the result.
    pub fn with_pins(self, pinning: Pinning, pins: Pins) -> Self {
        let held = (pinning == Pinning::Hold).then(|| pins.held(false)).flatten();
        let naming = match held {
            Some(held) => Arc::new(self.naming.holding(Some(Arc::new(held)))),
            None => self.naming,
        };
        Self { naming, pinning, pins, ..self }
    }
}

impl ServerSettings {
    /// The scope of its instances and the reason, considering what was learnt.
    pub fn scope_with_reason(&self, record: &Record, state: StatePolicy) -> (Scope, ScopeReason) {
        self.learnt_scope(record, state).unwrap_or_else(|| (self.scope, self.scope_reason.clone()))
    }

    /// The scope that follows from what the server does, if the config leaves it open.
    pub(crate) fn learnt_scope(&self, record: &Record, state: StatePolicy) -> Option<(Scope, ScopeReason)> {
        match () {
            () if self.scope_reason == ScopeReason::Given => None,
            () if state == StatePolicy::Client => Some((Scope::Client, ScopeReason::KeepsState)),
            () if self.asks_questions(record) => Some((Scope::Client, ScopeReason::AsksQuestions)),
            // A server that asks for roots depends on the folder after all.
            () if self.asks_roots(record) && self.scope == Scope::Global => {
                Some((Scope::Root, ScopeReason::AsksRoots))
            }
            () => None,
        }
    }

    /// Whether it is known to ask its clients questions, as far as it may. Behind a relay, the other Switchboard
    /// knows the clients.
    pub(crate) fn asks_questions(&self, record: &Record) -> bool {
        record.asks_questions && !self.relays && self.asks.allows_questions()
    }

    /// Whether it is known to ask for roots, and may.
    pub(crate) fn asks_roots(&self, record: &Record) -> bool {
        record.asks_roots && self.asks.roots
    }

    /// Whether there is one instance per root instead of one for all roots of a client.
    pub(crate) fn is_split(&self) -> bool {
        // A global server has one instance, whatever its arguments name.
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

/// Settings for aggregate clients.
#[derive(Debug, Clone)]
pub struct Aggregates {
    /// Time that a client waits, from its handshake on, for servers whose lists are unknown.
    pub list_grace: Duration,
    /// Items per page of a list; `None` means all.
    pub page_size: Option<usize>,
    /// Notifications of clients, by method, that go only to these servers.
    pub notifications: Vec<(String, Vec<String>)>,
}

impl Default for Aggregates {
    fn default() -> Self {
        Self { list_grace: Duration::from_secs(10), page_size: None, notifications: Vec::new() }
    }
}

/// Limits on a client's subscriptions: their number, and the bytes of their URIs.
pub const MAX_SUBSCRIPTIONS: usize = 1024;
pub const MAX_SUBSCRIPTION_BYTES: usize = 1 << 20;

/// A limit on everything that could grow.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes queued for a client before an answer becomes `client_too_slow`.
    pub client_bytes: usize,
    /// Bytes queued for a backend before a request becomes `overloaded`.
    pub backend_bytes: usize,
    /// Unanswered requests of one client.
    pub pending_per_client: usize,
    /// Subscriptions of one client.
    pub subscriptions_per_client: usize,
    /// Bytes of the URIs of these.
    pub subscription_bytes: usize,
    /// Unanswered requests of one backend to its client.
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

/// Everything the core is created with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Indexed by [`crate::ServerId`].
    pub servers: Vec<ServerSettings>,
    pub pool: Pool,
    pub roots: Roots,
    /// Initial knowledge of the client's dialect.
    pub dialect: LearntDialect,
    /// The era in which clients are served.
    pub client_era: ClientEra,
    /// Time for requests in progress to finish during a shutdown.
    pub shutdown_grace: Duration,
    pub limits: Limits,
    /// Limits on the calls of identities that have none of their own.
    pub identity_limits: IdentityLimits,
    /// The policy of limits on calls.
    pub limiter: NewLimiter,
    /// For a daemon: a backend without clients ends after this time, and the daemon when all are gone.
    /// `None`: the program ends with its client.
    pub linger: Option<Duration>,
    /// Keep running even when no client comes.
    pub stays: bool,
    /// The first id of our requests to clients. No earlier daemon has used it: a client may still answer those.
    pub first_question: u64,
    /// The key of the states with which modern clients continue calls.
    pub state_key: StateKey,
    /// Calendar time at the start of the program.
    pub started: SystemTime,
    /// Settings for aggregate clients.
    pub aggregates: Aggregates,
    /// Rights of clients with a profile, by its name.
    pub profiles: Vec<(String, Arc<Rights>)>,
    /// Seed for the jitter of restarts.
    pub seed: u64,
    /// Recognises the tokens of clients.
    pub authenticator: Arc<dyn Authenticator>,
    /// Whether [`crate::Fact::Routed`] is reported for every request.
    pub report_routes: bool,
    /// Clients whose calls are reported as [`crate::Fact::Called`].
    pub audit: AuditPolicy,
    /// Values to mask in texts of servers that errors and facts quote.
    pub secrets: Secrets,
}

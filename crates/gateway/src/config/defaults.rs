//! Every default value, stated once. The loader applies them, the schema and `docs/config.md` repeat them,
//! and a test compares the three.

use std::time::Duration;

use super::{
    Ask, AuditClients, Capabilities, ClientEra, Dialect, Fallback, Framing, Guard, InheritEnv, LogFormat,
    LogLevel, Names, OnTimeout, Packages, Pinning, PoolMemory, RetryAfterCrash, Scope, ServerEra, State,
    StdioAccess,
};

pub const FRAMING: Framing = Framing::Auto;
pub const DIALECT: Dialect = Dialect::Auto;
pub const CLIENT_ERA: ClientEra = ClientEra::Auto;
pub const SERVER_ERA: ServerEra = ServerEra::Auto;
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
pub const LINGER: Duration = Duration::from_secs(30);
pub const SHARE_AD_HOC: bool = false;
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

pub const LIST_GRACE: Duration = Duration::from_secs(10);
pub const NAMES: Names = Names::Prefixed;

pub const DISABLED: bool = false;
pub const LAZY: bool = true;
pub const INHERIT_ENV: InheritEnv = InheritEnv::Safe;
pub const START_TIMEOUT: Duration = Duration::from_secs(30);
pub const TIMEOUT: Duration = Duration::from_secs(10 * 60);
pub const HARD_TIMEOUT: Duration = Duration::from_secs(60 * 60);
pub const INPUT_TIMEOUT: Duration = Duration::from_secs(10 * 60);
pub const ON_TIMEOUT: OnTimeout = OnTimeout::Probe;
pub const RETRY_AFTER_CRASH: RetryAfterCrash = RetryAfterCrash::Safe;

pub const PACKAGES: Packages = Packages::Isolated;
pub const GUARD: Guard = Guard::Auto;
pub const MAX_IN_FLIGHT: usize = 64;
pub const MAX_QUEUE: usize = 256;

pub const SCOPE: Scope = Scope::Auto;
pub const MAX_BACKENDS: usize = 8;
pub const HEALTH: Duration = Duration::from_secs(30);
pub const STATE: State = State::Auto;
pub const CAPABILITIES: Capabilities = Capabilities::Auto;
pub const ASK: Ask = Ask::Allow;
pub const LIMITS_OWNER: bool = false;
pub const PINNING: Pinning = Pinning::Warn;

/// An IDE that opens a folder announces it several times; and every client that is told of a
/// change fetches the list again.
pub const DEBOUNCE: &[(&str, Duration)] = &[
    ("notifications/roots/list_changed", Duration::from_millis(300)),
    ("notifications/tools/list_changed", Duration::from_millis(100)),
    ("notifications/prompts/list_changed", Duration::from_millis(100)),
    ("notifications/resources/list_changed", Duration::from_millis(100)),
    ("notifications/resources/updated", Duration::from_millis(100)),
];

pub const POOL_MAX_BACKENDS: usize = 128;
pub const POOL_MEMORY_LIMIT: PoolMemory = PoolMemory::HalfOfMachine;
pub const IDLE_TTL: Duration = Duration::from_secs(10 * 60);
pub const OPEN_ROOTS: bool = true;
pub const FALLBACK: Fallback = Fallback::On;
pub const IGNORED_FOLDERS: &[&str] = &["node_modules", ".git", "dist", "build", "target"];

pub const LOG_LEVEL: LogLevel = LogLevel::Info;
pub const LOG_FORMAT: LogFormat = LogFormat::Human;
pub const LOG_BODIES: bool = false;

pub const STDIO_ACCESS: StdioAccess = StdioAccess::Open;
pub const TOKEN_IN_BODY: bool = false;
pub const AUDIT_CLIENTS: AuditClients = AuditClients::Remote;
pub const AUDIT_ARGUMENTS: bool = false;
pub const AUDIT_MAX_BYTES: usize = 10 << 20;
pub const AUDIT_KEEP: usize = 10;

pub const LISTEN: &str = "127.0.0.1:7411";
pub const SESSION_TTL: Duration = Duration::from_secs(30 * 60);
pub const MAX_SESSIONS: usize = 4096;
pub const EVENT_BYTES: usize = 16 << 20;

//! The config as the rest of the program sees it: complete, checked, with defaults applied. Must
//! not know the file it came from.

use std::sync::Arc;
use std::time::Duration;

use switchboard_core::access::{Asks, IdentityLimits, Rights, ServerLimits};

use super::{
    AuditClients, Capabilities, ClientEra, Dialect, Fallback, Framing, Guard, InheritEnv, LogFormat,
    LogLevel, Missing, Names, OnTimeout, Packages, Pinning, Preset, RetryAfterCrash, RunKeys, Scope,
    ServerEra, State, StdioAccess, Variables, defaults,
};

/// All settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Servers in the order of the file, including disabled ones.
    pub servers: Vec<ServerConfig>,
    /// Defaults of the file. `servers` have them already; servers of command lines get them later.
    pub defaults: RunKeys,
    /// Framing of the client's messages.
    pub framing: Framing,
    pub dialect: Dialect,
    pub client_era: ClientEra,
    /// Largest message that either side may send.
    pub max_message_bytes: usize,
    /// Grace period of a backend before it is killed; a server may have its own.
    pub shutdown_grace: Duration,
    pub pool: PoolConfig,
    /// How long a backend outlives its last client.
    pub linger: Duration,
    /// Whether the daemon also runs servers of command lines.
    pub share_ad_hoc: bool,
    /// Unexpanded; see [`expand::default_root`](super::expand::default_root).
    pub default_root: Option<String>,
    /// Whether a path argument outside of all known roots opens its project as a root.
    pub open_roots: bool,
    /// Whether a request without a root still gets a backend.
    pub fallback: bool,
    /// Folders that servers should skip; copied into each server.
    pub ignored_folders: Vec<String>,
    /// Names of tools and prompts of several servers.
    pub names: Names,
    /// How long a client of several servers waits for servers whose lists are not known yet.
    pub list_grace: Duration,
    /// Entries per page of a list; `None` means all.
    pub page_size: Option<usize>,
    /// Servers that receive a client's notification, by method. Other methods are routed by the core.
    pub notifications: Vec<(String, Vec<String>)>,
    /// Rights of clients with a profile, by its name.
    pub profiles: Vec<(String, Arc<Rights>)>,
    /// Limits on the calls of identities without limits of their own.
    pub limits: IdentityLimits,
    /// Whether clients over stdio need a token.
    pub stdio_access: StdioAccess,
    pub serve: ServeConfig,
    pub log: LogConfig,
    pub audit: AuditConfig,
}

/// Settings of the HTTP front. Paths are unexpanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeConfig {
    pub listen: Vec<String>,
    pub tls_cert: Option<String>,
    pub tls_key: Option<String>,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    /// Whether a token in a message counts.
    pub token_in_body: bool,
    pub session_ttl: Duration,
    pub max_sessions: usize,
    pub event_bytes: usize,
    /// Folders by the names that clients use for them.
    pub root_map: Vec<(String, String)>,
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            listen: vec![defaults::LISTEN.to_owned()],
            tls_cert: None,
            tls_key: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            token_in_body: defaults::TOKEN_IN_BODY,
            session_ttl: defaults::SESSION_TTL,
            max_sessions: defaults::MAX_SESSIONS,
            event_bytes: defaults::EVENT_BYTES,
            root_map: Vec::new(),
        }
    }
}

/// Limits for all backends together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    pub max_backends: usize,
    pub memory_limit: PoolMemory,
    /// Idle time after which a backend is stopped, unless its server has its own; `None` is never.
    pub idle_ttl: Option<Duration>,
}

/// Memory limit for all processes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolMemory {
    /// The default. Where our cgroup has a lower limit, that counts as the machine's memory.
    HalfOfMachine,
    Unlimited,
    Bytes(u64),
}

/// Visible part of a server's tools, prompts or resources. Patterns match the server's own names (of
/// resources: their URIs); `*` stands for any characters, `?` for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterConfig {
    /// Empty allows everything that is not denied.
    pub allow: Vec<String>,
    /// Takes precedence over `allow`.
    pub deny: Vec<String>,
    /// From the server's own name to another. Resources have none.
    pub rename: Vec<(String, String)>,
}

/// Name of the log file that stands for our stderr.
pub const STDERR: &str = "-";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    pub level: LogLevel,
    pub format: LogFormat,
    /// Unexpanded; see [`expand::log_file`](super::expand::log_file). `None` is the daily file.
    pub file: Option<String>,
    /// Whether the content of messages is logged.
    pub bodies: bool,
}

/// Record of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditConfig {
    pub clients: AuditClients,
    /// Whether the arguments of calls are recorded.
    pub arguments: bool,
    /// Unexpanded; see [`expand::audit_file`](super::expand::audit_file). `None` is `audit.jsonl` in the log folder.
    pub file: Option<String>,
    /// Size at which a new file begins.
    pub max_bytes: usize,
    /// Old files that are kept.
    pub keep: usize,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self {
            clients: defaults::AUDIT_CLIENTS,
            arguments: defaults::AUDIT_ARGUMENTS,
            file: None,
            max_bytes: defaults::AUDIT_MAX_BYTES,
            keep: defaults::AUDIT_KEEP,
        }
    }
}

/// Address of a remote server. `url` and the values of `headers` are unexpanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteConfig {
    pub url: String,
    /// Sent with every request. The values may be secrets.
    pub headers: Variables,
    pub transport: Transport,
}

/// Protocol of a remote server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// To be detected.
    Auto,
    /// Streamable HTTP, since 2025-03-26.
    Http,
    /// HTTP with server-sent events, as of 2024-11-05.
    Sse,
}

/// Settings of an entry that names a preset. Paths are unexpanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetConfig {
    pub preset: Preset,
    pub node: Option<String>,
    pub entry: Option<String>,
    pub mode: Option<String>,
    pub args_template: Option<String>,
}

/// How to reach one MCP server. `command`, `args`, `env` and `cwd` are unexpanded:
/// [`expand::launch_parts`](super::expand::launch_parts) expands them for each root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    pub name: String,
    /// Address of a remote server, whose `command` is empty.
    pub remote: Option<RemoteConfig>,
    /// Preset, whose `command` and `args` are located later, on the machine that runs it.
    pub preset: Option<PresetConfig>,
    pub command: String,
    pub args: Vec<String>,
    pub env: Variables,
    pub cwd: Option<String>,
    pub disabled: bool,
    /// Whether the start waits for the first use, where the server's lists are known.
    pub lazy: bool,
    /// Whether readiness depends on this server.
    pub required: bool,
    pub tools: FilterConfig,
    pub prompts: FilterConfig,
    pub resources: FilterConfig,
    pub framing: Framing,
    pub era: ServerEra,
    pub dialect: Dialect,
    pub inherit_env: InheritEnv,
    /// Name patterns of variables to pass on in addition to `inherit_env`.
    pub pass_env: Vec<String>,
    /// Limit from the start of the process to its first answer.
    pub start_timeout: Duration,
    /// Limit for a call; [`on_timeout`](Self::on_timeout) decides what follows.
    pub timeout: Duration,
    /// Final limit for a call, whatever the backend says; `None` is never.
    pub hard_timeout: Option<Duration>,
    /// Limit for a modern client to continue a call for which a legacy server wants input.
    pub input_timeout: Duration,
    pub on_timeout: OnTimeout,
    pub retry_after_crash: RetryAfterCrash,
    pub shutdown_grace: Duration,
    /// Requests that it handles at a time.
    pub max_in_flight: usize,
    /// Further requests that may wait.
    pub max_queue: usize,
    /// What separates its backends.
    pub scope: Scope,
    /// Backends that may run at a time.
    pub max_backends: usize,
    /// Idle time after which a backend is stopped; `None` is never.
    pub idle_ttl: Option<Duration>,
    /// In bytes, for the whole process tree of one backend; `None` is no limit.
    pub memory_limit: Option<u64>,
    /// Arguments of its tools that name a path in the call's workspace.
    pub root_arguments: Vec<String>,
    /// Interval of health checks for a backend in use; `None` is never.
    pub health: Option<Duration>,
    pub state: State,
    pub capabilities: Capabilities,
    /// Limits on calls, shared by all clients.
    pub limits: ServerLimits,
    /// Requests that it may send to its clients.
    pub asks: Asks,
    pub pinning: Pinning,
    /// Delay by method: equal notifications that follow the first of a burst are merged into one.
    /// Other methods are not delayed.
    pub debounce: Vec<(String, Duration)>,
    /// The config's list; the value of `${ignoredFolders}`.
    pub ignored_folders: Vec<String>,
    /// Where a package runner finds packages.
    pub packages: Packages,
    pub guard: Guard,
    /// Names of processes that a stop leaves running.
    pub keep: Vec<String>,
    /// Whether `${…}` and `~` are expanded.
    pub expand: bool,
    /// Reason why it cannot be started, where that is known beforehand.
    pub missing: Option<Missing>,
    /// Advice for a server that ends during startup, where we know it by name.
    pub advice: Option<&'static str>,
}

impl Config {
    /// Applies this file's settings to a server of the command line, whose flags are applied later.
    pub fn apply_to(&self, server: &mut ServerConfig) {
        server.shutdown_grace = self.shutdown_grace;
        server.idle_ttl = self.pool.idle_ttl;
        server.ignored_folders.clone_from(&self.ignored_folders);
        self.defaults.apply(server);
    }
}

impl ServerConfig {
    /// All texts that may contain variables.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &String> {
        let own = self.env.iter().map(|(_, value)| value);
        let elsewhere = self.remote.iter().flat_map(|remote| {
            std::iter::once(&remote.url).chain(remote.headers.iter().map(|(_, value)| value))
        });
        std::iter::once(&self.command).chain(&self.args).chain(own).chain(&self.cwd).chain(elsewhere)
    }

    /// Whether the two differ at most in what clients see of them and how often, so that no restart is needed.
    pub(crate) fn runs_like(&self, other: &Self) -> bool {
        // The visible parts are replaced and the rest is compared as a whole, so that a new key counts as a
        // reason to restart.
        let Self { tools, prompts, resources, required, limits, .. } = other.clone();
        Self { tools, prompts, resources, required, limits, ..self.clone() } == *other
    }

    /// Server of a command line. Its words are not expanded: the shell has done that.
    pub fn for_command(name: impl Into<String>, command: impl Into<String>, args: Vec<String>) -> Self {
        Self {
            name: name.into(),
            remote: None,
            preset: None,
            command: command.into(),
            args,
            env: Variables::default(),
            cwd: None,
            disabled: defaults::DISABLED,
            lazy: defaults::LAZY,
            required: false,
            tools: FilterConfig::default(),
            prompts: FilterConfig::default(),
            resources: FilterConfig::default(),
            framing: defaults::FRAMING,
            era: defaults::SERVER_ERA,
            dialect: defaults::DIALECT,
            inherit_env: defaults::INHERIT_ENV,
            pass_env: Vec::new(),
            start_timeout: defaults::START_TIMEOUT,
            timeout: defaults::TIMEOUT,
            hard_timeout: Some(defaults::HARD_TIMEOUT),
            input_timeout: defaults::INPUT_TIMEOUT,
            on_timeout: defaults::ON_TIMEOUT,
            retry_after_crash: defaults::RETRY_AFTER_CRASH,
            shutdown_grace: defaults::SHUTDOWN_GRACE,
            max_in_flight: defaults::MAX_IN_FLIGHT,
            max_queue: defaults::MAX_QUEUE,
            // Runs in the folder where its client started us.
            scope: Scope::Root,
            max_backends: defaults::MAX_BACKENDS,
            idle_ttl: Some(defaults::IDLE_TTL),
            memory_limit: None,
            root_arguments: Vec::new(),
            health: Some(defaults::HEALTH),
            state: defaults::STATE,
            capabilities: defaults::CAPABILITIES,
            limits: ServerLimits::default(),
            asks: Asks::default(),
            pinning: defaults::PINNING,
            debounce: default_debounce(),
            ignored_folders: default_ignored_folders(),
            packages: defaults::PACKAGES,
            guard: defaults::GUARD,
            keep: Vec::new(),
            expand: false,
            missing: None,
            advice: None,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            defaults: RunKeys::default(),
            framing: defaults::FRAMING,
            dialect: defaults::DIALECT,
            client_era: defaults::CLIENT_ERA,
            max_message_bytes: defaults::MAX_MESSAGE_BYTES,
            shutdown_grace: defaults::SHUTDOWN_GRACE,
            pool: PoolConfig::default(),
            linger: defaults::LINGER,
            share_ad_hoc: defaults::SHARE_AD_HOC,
            default_root: None,
            open_roots: defaults::OPEN_ROOTS,
            fallback: defaults::FALLBACK == Fallback::On,
            ignored_folders: default_ignored_folders(),
            names: defaults::NAMES,
            list_grace: defaults::LIST_GRACE,
            page_size: None,
            notifications: Vec::new(),
            profiles: Vec::new(),
            limits: IdentityLimits::default(),
            stdio_access: defaults::STDIO_ACCESS,
            serve: ServeConfig::default(),
            log: LogConfig::default(),
            audit: AuditConfig::default(),
        }
    }
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            max_backends: defaults::POOL_MAX_BACKENDS,
            memory_limit: defaults::POOL_MEMORY_LIMIT,
            idle_ttl: Some(defaults::IDLE_TTL),
        }
    }
}

pub(super) fn default_debounce() -> Vec<(String, Duration)> {
    defaults::DEBOUNCE.iter().map(|(method, time)| ((*method).to_owned(), *time)).collect()
}

pub(super) fn default_ignored_folders() -> Vec<String> {
    defaults::IGNORED_FOLDERS.iter().map(|name| (*name).to_owned()).collect()
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            level: defaults::LOG_LEVEL,
            format: defaults::LOG_FORMAT,
            file: None,
            bodies: defaults::LOG_BODIES,
        }
    }
}

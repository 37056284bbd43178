//! A config as the rest of the program sees it: complete, checked, defaults filled in. It knows nothing of
//! the file it came from.

use std::time::Duration;

use super::{
    Capabilities, Dialect, Fallback, Framing, Guard, InheritEnv, LogFormat, LogLevel, Missing, Names,
    OnTimeout, Packages, Preset, RetryAfterCrash, RunKeys, Scope, State, Variables, defaults,
};

/// All settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// In the order of the file, the disabled ones included.
    pub servers: Vec<ServerConfig>,
    /// Already in `servers`; for those of command lines.
    pub defaults: RunKeys,
    /// How the client's messages are framed.
    pub framing: Framing,
    pub dialect: Dialect,
    /// The largest message that either side may send.
    pub max_message_bytes: usize,
    /// How long a backend has to end by itself before it is killed; a server may have its own.
    pub shutdown_grace: Duration,
    pub pool: PoolConfig,
    /// How long a backend stays when its last client has gone.
    pub linger: Duration,
    /// Whether a server of the command line is the daemon's, too.
    pub share_ad_hoc: bool,
    /// As written; [`expand::default_root`](super::expand::default_root) makes a path of it.
    pub default_root: Option<String>,
    /// Whether a path argument outside of all known roots makes its project a root.
    pub open_roots: bool,
    /// Whether a request that belongs to no root still gets a backend.
    pub fallback: bool,
    /// Folders that servers should not look into; each server has them too.
    pub ignored_folders: Vec<String>,
    /// What tools and prompts of several servers are called.
    pub names: Names,
    /// How long a client of several servers waits for those whose lists are not known yet.
    pub list_grace: Duration,
    /// How many things are on one page of a list; `None` is all of them.
    pub page_size: Option<usize>,
    /// By method: the servers that a client's notification goes to. A method that is not here goes where it belongs by
    /// itself.
    pub notifications: Vec<(String, Vec<String>)>,
    /// Selections of servers, by name.
    pub profiles: Vec<(String, Vec<String>)>,
    pub serve: ServeConfig,
    pub log: LogConfig,
}

/// How clients over HTTP are served. Paths as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeConfig {
    pub listen: Vec<String>,
    pub tls_cert: Option<String>,
    pub tls_key: Option<String>,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    pub session_ttl: Duration,
    pub max_sessions: usize,
    pub event_bytes: usize,
    /// What a client calls a folder, and which it is.
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
            session_ttl: defaults::SESSION_TTL,
            max_sessions: defaults::MAX_SESSIONS,
            event_bytes: defaults::EVENT_BYTES,
            root_map: Vec::new(),
        }
    }
}

/// What all backends may use together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    pub max_backends: usize,
    pub memory_limit: PoolMemory,
    /// After how long without a request a backend is stopped, unless its server says otherwise; `None` is never.
    pub idle_ttl: Option<Duration>,
}

/// How much memory all processes may have together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolMemory {
    /// The default. The limit of our cgroup counts as the machine's memory where it is lower.
    HalfOfMachine,
    Unlimited,
    Bytes(u64),
}

/// What of a server's tools, prompts or resources clients see. Patterns are for the server's own names (of resources:
/// their URIs); `*` stands for any characters, `?` for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterConfig {
    /// Empty: all that are not denied.
    pub allow: Vec<String>,
    /// Over `allow`.
    pub deny: Vec<String>,
    /// From the server's own name to another. Resources have none.
    pub rename: Vec<(String, String)>,
}

/// A log file's name that stands for our stderr.
pub const STDERR: &str = "-";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    pub level: LogLevel,
    pub format: LogFormat,
    /// As written; [`expand::log_file`](super::expand::log_file) makes a path of it. `None`: the daily one.
    pub file: Option<String>,
    /// Whether the content of messages is logged.
    pub bodies: bool,
}

/// Where a server is that is no process of ours. `url` and the values of `headers` are as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteConfig {
    pub url: String,
    /// Sent with every request. The values may be secrets.
    pub headers: Variables,
    pub transport: Transport,
}

/// The protocol that a remote server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// To be found out.
    Auto,
    /// Streamable HTTP, since 2025-03-26.
    Http,
    /// HTTP with server-sent events, as of 2024-11-05.
    Sse,
}

/// A config entry's settings for a server that is known by name. Paths as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetConfig {
    pub preset: Preset,
    pub node: Option<String>,
    pub entry: Option<String>,
    pub mode: Option<String>,
    pub args_template: Option<String>,
}

/// How to reach one MCP server. `command`, `args`, `env` and `cwd` are as written, `${…}` included:
/// [`expand::launch_parts`](super::expand::launch_parts) fills that in, once per root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    pub name: String,
    /// Not started but spoken to; `command` is empty then.
    pub remote: Option<RemoteConfig>,
    /// Known by name: `command` and `args` are found out where it is used.
    pub preset: Option<PresetConfig>,
    pub command: String,
    pub args: Vec<String>,
    pub env: Variables,
    pub cwd: Option<String>,
    pub disabled: bool,
    /// Whether its start waits until one of its things is used, where it is known what it offers.
    pub lazy: bool,
    /// Nothing is ready without it.
    pub required: bool,
    pub tools: FilterConfig,
    pub prompts: FilterConfig,
    pub resources: FilterConfig,
    pub framing: Framing,
    pub inherit_env: InheritEnv,
    /// Name patterns of variables that are passed on in addition to `inherit_env`.
    pub pass_env: Vec<String>,
    /// From the start of the process to its first answer.
    pub start_timeout: Duration,
    /// From a call to its answer; what happens then is [`on_timeout`](Self::on_timeout)'s to say.
    pub timeout: Duration,
    /// When a call ends whatever the backend says; `None` is never.
    pub hard_timeout: Option<Duration>,
    pub on_timeout: OnTimeout,
    pub retry_after_crash: RetryAfterCrash,
    pub shutdown_grace: Duration,
    /// How many requests it works on at a time.
    pub max_in_flight: usize,
    /// How many more may wait.
    pub max_queue: usize,
    /// What its backends are kept apart by.
    pub scope: Scope,
    /// How many of its backends may run at a time.
    pub max_backends: usize,
    /// After how long without a request a backend is stopped; `None` is never.
    pub idle_ttl: Option<Duration>,
    /// In bytes, over the whole process tree of one backend; `None` is no limit.
    pub memory_limit: Option<u64>,
    /// Arguments of its tools that name a path in the workspace that a call belongs to.
    pub root_arguments: Vec<String>,
    /// How often a backend that is in use is asked for a sign of life; `None` is never.
    pub health: Option<Duration>,
    pub state: State,
    pub capabilities: Capabilities,
    /// By method: for how long equal notifications that follow the first of a burst are held back, to be merged into
    /// one. A method that is not here is passed on at once.
    pub debounce: Vec<(String, Duration)>,
    /// The config's; what `${ignoredFolders}` stands for.
    pub ignored_folders: Vec<String>,
    /// Where a package runner takes packages from.
    pub packages: Packages,
    pub guard: Guard,
    /// Names of processes that a stop leaves alone.
    pub keep: Vec<String>,
    /// Whether `${…}` and `~` are filled in.
    pub expand: bool,
    /// Why it cannot be started, where that is known beforehand.
    pub missing: Option<Missing>,
    /// What its owner can do if it ends before it works, where we know it by name.
    pub advice: Option<&'static str>,
}

impl Config {
    /// The settings of this file for a server of the command line. Its flags come after this.
    pub fn apply_to(&self, server: &mut ServerConfig) {
        server.shutdown_grace = self.shutdown_grace;
        server.idle_ttl = self.pool.idle_ttl;
        server.ignored_folders.clone_from(&self.ignored_folders);
        self.defaults.apply(server);
    }
}

impl ServerConfig {
    /// All in which something can be filled in.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &String> {
        let own = self.env.iter().map(|(_, value)| value);
        let elsewhere = self.remote.iter().flat_map(|remote| {
            std::iter::once(&remote.url).chain(remote.headers.iter().map(|(_, value)| value))
        });
        std::iter::once(&self.command).chain(&self.args).chain(own).chain(&self.cwd).chain(elsewhere)
    }

    /// Whether it differs from the other at most in what clients see of it.
    pub(crate) fn runs_like(&self, other: &Self) -> bool {
        let Self { tools, prompts, resources, required, .. } = other.clone();
        Self { tools, prompts, resources, required, ..self.clone() } == *other
    }

    /// A server that was given on the command line. Its words are taken as they are, since a shell has
    /// already expanded what the user wanted expanded.
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
            inherit_env: defaults::INHERIT_ENV,
            pass_env: Vec::new(),
            start_timeout: defaults::START_TIMEOUT,
            timeout: defaults::TIMEOUT,
            hard_timeout: Some(defaults::HARD_TIMEOUT),
            on_timeout: defaults::ON_TIMEOUT,
            retry_after_crash: defaults::RETRY_AFTER_CRASH,
            shutdown_grace: defaults::SHUTDOWN_GRACE,
            max_in_flight: defaults::MAX_IN_FLIGHT,
            max_queue: defaults::MAX_QUEUE,
            // It runs where its client started us.
            scope: Scope::Root,
            max_backends: defaults::MAX_BACKENDS,
            idle_ttl: Some(defaults::IDLE_TTL),
            memory_limit: None,
            root_arguments: Vec::new(),
            health: Some(defaults::HEALTH),
            state: defaults::STATE,
            capabilities: defaults::CAPABILITIES,
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
            serve: ServeConfig::default(),
            log: LogConfig::default(),
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

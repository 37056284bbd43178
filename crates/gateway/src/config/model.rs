//! A config as the rest of the program sees it: complete, checked, defaults filled in. It knows nothing of
//! the file it came from.

use std::time::Duration;

use super::{
    Dialect, Framing, Guard, InheritEnv, LogFormat, LogLevel, Missing, OnTimeout, RetryAfterCrash, Variables,
    defaults,
};

/// All settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// In the order of the file, the disabled ones included.
    pub servers: Vec<ServerConfig>,
    /// How the client's messages are framed.
    pub framing: Framing,
    pub dialect: Dialect,
    /// The largest message that either side may send.
    pub max_message_bytes: usize,
    /// How long a backend has to end by itself before it is killed; a server may have its own.
    pub shutdown_grace: Duration,
    pub log: LogConfig,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    pub level: LogLevel,
    pub format: LogFormat,
    /// As written; [`expand::log_file`](super::expand::log_file) makes a path of it. `None`: the daily one.
    pub file: Option<String>,
    /// Whether the content of messages is logged.
    pub bodies: bool,
}

/// How to reach one MCP server. `command`, `args`, `env` and `cwd` are as written, `${…}` included:
/// [`expand::launch_parts`](super::expand::launch_parts) fills that in, once per root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    pub name: String,
    pub command: String,
    pub args: Vec<String>,
    pub env: Variables,
    pub cwd: Option<String>,
    pub disabled: bool,
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

impl ServerConfig {
    /// A server that was given on the command line. Its words are taken as they are, since a shell has
    /// already expanded what the user wanted expanded.
    pub fn for_command(name: impl Into<String>, command: impl Into<String>, args: Vec<String>) -> Self {
        Self {
            name: name.into(),
            command: command.into(),
            args,
            env: Variables::default(),
            cwd: None,
            disabled: defaults::DISABLED,
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
            framing: defaults::FRAMING,
            dialect: defaults::DIALECT,
            max_message_bytes: defaults::MAX_MESSAGE_BYTES,
            shutdown_grace: defaults::SHUTDOWN_GRACE,
            log: LogConfig::default(),
        }
    }
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

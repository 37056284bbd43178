//! Every default value, once. The loader fills them in, the schema and `docs/config.md` state them, and a
//! test holds the three together.

use std::time::Duration;

use super::{Dialect, Framing, Guard, InheritEnv, LogFormat, LogLevel, OnTimeout, RetryAfterCrash};

pub const FRAMING: Framing = Framing::Auto;
pub const DIALECT: Dialect = Dialect::Auto;
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

pub const DISABLED: bool = false;
pub const INHERIT_ENV: InheritEnv = InheritEnv::Safe;
pub const START_TIMEOUT: Duration = Duration::from_secs(30);
pub const TIMEOUT: Duration = Duration::from_secs(10 * 60);
pub const HARD_TIMEOUT: Duration = Duration::from_secs(60 * 60);
pub const ON_TIMEOUT: OnTimeout = OnTimeout::Probe;
pub const RETRY_AFTER_CRASH: RetryAfterCrash = RetryAfterCrash::Safe;

pub const GUARD: Guard = Guard::Auto;
pub const MAX_IN_FLIGHT: usize = 64;
pub const MAX_QUEUE: usize = 256;

pub const LOG_LEVEL: LogLevel = LogLevel::Info;
pub const LOG_FORMAT: LogFormat = LogFormat::Human;
pub const LOG_BODIES: bool = false;

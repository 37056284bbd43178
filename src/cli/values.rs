//! Values of flags: their syntax, and their meaning in the config.

use clap::ValueEnum;
use std::time::Duration;
use switchboard_gateway::config::{CAN_KEEP, is_process_name, parse_time};
use switchboard_gateway::config::{Guard, InheritEnv, LogFormat, LogLevel, Packages};

/// A year: the longest time that a flag in seconds accepts.
pub(super) const MAX_SECONDS: u64 = 365 * 24 * 3600;

/// Same range as in the config file.
pub(super) fn count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=100_000).contains(count));
    count.ok_or_else(|| "write a whole number from 1 to 100000".to_owned())
}

/// Same syntax as in the config file.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let time = parse_time(text).filter(|time| !time.is_zero());
    time.ok_or_else(|| "write a time such as 500ms, 90s, 10m or 1h, or a number of seconds".to_owned())
}

/// Process name as `ps` shows it.
pub(super) fn process_name(name: &str) -> Result<String, String> {
    match is_process_name(name) {
        _ if !CAN_KEEP => Err("not possible on Windows, where a server's processes end together".to_owned()),
        true => Ok(name.to_owned()),
        false => Err("write a name as `ps` shows it, such as `adb`".to_owned()),
    }
}

/// Servers known by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum BackendArg {
    Auggie,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LevelArg {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl From<LevelArg> for LogLevel {
    fn from(level: LevelArg) -> Self {
        match level {
            LevelArg::Error => Self::Error,
            LevelArg::Warn => Self::Warn,
            LevelArg::Info => Self::Info,
            LevelArg::Debug => Self::Debug,
            LevelArg::Trace => Self::Trace,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum InheritArg {
    Safe,
    All,
    None,
}

impl From<InheritArg> for InheritEnv {
    fn from(which: InheritArg) -> Self {
        match which {
            InheritArg::Safe => Self::Safe,
            InheritArg::All => Self::All,
            InheritArg::None => Self::None,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PackagesArg {
    Isolated,
    Workspace,
}

impl From<PackagesArg> for Packages {
    fn from(packages: PackagesArg) -> Self {
        match packages {
            PackagesArg::Isolated => Self::Isolated,
            PackagesArg::Workspace => Self::Workspace,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum GuardArg {
    Auto,
    Strict,
    Off,
}

impl From<GuardArg> for Guard {
    fn from(guard: GuardArg) -> Self {
        match guard {
            GuardArg::Auto => Self::Auto,
            GuardArg::Strict => Self::Strict,
            GuardArg::Off => Self::Off,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FormatArg {
    Human,
    Json,
}

impl From<FormatArg> for LogFormat {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Human => Self::Human,
            FormatArg::Json => Self::Json,
        }
    }
}

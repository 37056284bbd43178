//! Log settings of the command line, which override those of the config file.

use super::{complain, vars};
use crate::cli::{FormatArg, LevelArg, LogArgs, StdioArgs};
use crate::exit::{Exit, fatal};
use clap::ValueEnum;
use std::path::{Path, PathBuf};
use switchboard_gateway::config::{Config, LogLevel, STDERR, expand};
use switchboard_gateway::telemetry::{self, AuditOptions, LogOptions};

/// Log flags of a command line.
pub(super) struct LogFlags {
    level: Option<LevelArg>,
    file: Option<PathBuf>,
    format: Option<FormatArg>,
    bodies: bool,
}

impl From<&LogArgs> for LogFlags {
    fn from(args: &LogArgs) -> Self {
        Self { level: args.log_level, file: args.log_file.clone(), format: args.log_format, bodies: false }
    }
}

impl From<&StdioArgs> for LogFlags {
    fn from(args: &StdioArgs) -> Self {
        let (file, format) = (args.log_file.clone(), args.log_format);
        Self { level: args.log_level, file, format, bodies: args.log_bodies }
    }
}

/// Log options of a process with several servers. Warns of a file that cannot be written.
pub(super) fn options(
    flags: LogFlags,
    config: &Config,
    config_file: Option<&Path>,
    state_folder: &Path,
) -> anyhow::Result<LogOptions> {
    let configured = config_file.map(|path| expand::log_file(&config.log, path, &vars)).transpose();
    let configured = configured.map_err(|error| fatal(Exit::Config, error.to_string()))?.flatten();
    let audit = AuditOptions::of(&config.audit, config_file, &vars)
        .map_err(|error| fatal(Exit::Config, error.to_string()))?;
    let file = flags.file.or(configured);
    warn_of_file(file.as_deref());
    Ok(LogOptions {
        level: level(flags.level).unwrap_or(config.log.level),
        format: flags.format.map_or(config.log.format, Into::into),
        file,
        folder: state_folder.join("logs"),
        bodies: flags.bodies || config.log.bodies,
        server: String::new(),
        root: None,
        audit,
    })
}

/// Warns of a log file that cannot be written: serving goes on, but its lines are lost.
pub(super) fn warn_of_file(file: Option<&Path>) {
    let Some(file) = file.filter(|file| *file != Path::new(STDERR)) else { return };
    if let Err(error) = telemetry::try_log_file(file) {
        complain(&format!(
            "switchboard: warning: cannot write the log file {}: {error}\n  hint: name another with `--log-file`, or with `log.file` in the config",
            file.display()
        ));
    }
}

/// Log level of the command line or of a variable.
pub(super) fn level(given: Option<LevelArg>) -> Option<LogLevel> {
    given.or_else(level_of_the_founding_document).map(Into::into)
}

/// Log level of the variable in the founding document. Other programs may use it too, so an
/// unknown value is not an error.
fn level_of_the_founding_document() -> Option<LevelArg> {
    let value = vars("MCP_PROXY_LOG").filter(|value| !value.is_empty())?;
    let level = value.to_str().and_then(|value| LevelArg::from_str(value, true).ok());
    if level.is_none() {
        complain("warning: MCP_PROXY_LOG is not error, warn, info, debug or trace; ignored");
    }
    level
}

//! The daemon that all windows share: in the foreground, or ended. `stdio` starts it by itself.

use super::{FoundConfig, complain};
use crate::cli::{DaemonArgs, DaemonCommand};
use crate::exit::{Exit, fatal};
use anyhow::Context;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use switchboard_gateway::config::environment::child_environment;
use switchboard_gateway::config::{Config, InheritEnv, ServerConfig, expand};
use switchboard_gateway::control::{self, Request};
use switchboard_gateway::daemon::{self, Daemon, Served};
use switchboard_gateway::telemetry::LogOptions;
use switchboard_gateway::{Address, DaemonCommand as Command, check_room};

/// What the daemon gets of its starter's environment, beside what every program needs.
#[cfg(not(debug_assertions))]
const PASSED: [&str; 4] = ["XDG_*", "SWITCHBOARD_LOG", "SWITCHBOARD_STATE_DIR", "MCP_PROXY_LOG"];
/// With the faults that tests ask for.
#[cfg(debug_assertions)]
const PASSED: [&str; 6] = [
    "XDG_*",
    "SWITCHBOARD_LOG",
    "SWITCHBOARD_STATE_DIR",
    "MCP_PROXY_LOG",
    "SWITCHBOARD_PANIC_IN",
    "SWITCHBOARD_PRETEND_VERSION",
];

/// What tells one daemon of a user from another.
pub(super) struct Identity<'a> {
    pub(super) config_file: &'a Path,
    pub(super) max_backends: Option<usize>,
    pub(super) idle_ttl_seconds: Option<u64>,
}

impl Identity<'_> {
    pub(super) fn address(&self) -> std::io::Result<Address> {
        let file = self.config_file.canonicalize().unwrap_or_else(|_| self.config_file.to_owned());
        let flags = format!("\0{:?}\0{:?}", self.max_backends, self.idle_ttl_seconds);
        Address::of(&[file.as_os_str().as_encoded_bytes(), flags.as_bytes()].concat())
    }

    /// How it is started by somebody who needs it. It gets what every program needs, and nothing that is one
    /// client's own.
    pub(super) fn command(&self) -> std::io::Result<Command> {
        let mut args: Vec<OsString> = vec!["daemon".into(), "--config".into()];
        args.push(self.config_file.canonicalize()?.into());
        if let Some(most) = self.max_backends {
            args.extend(["--max-backends".into(), most.to_string().into()]);
        }
        if let Some(seconds) = self.idle_ttl_seconds {
            args.extend(["--idle-ttl-seconds".into(), seconds.to_string().into()]);
        }
        let env = child_environment(std::env::vars_os(), InheritEnv::Safe, &PASSED.map(str::to_owned), &[]).vars;
        let log = super::state_folder().join("logs").join("daemon.stderr.log");
        let log = log.parent().and_then(|folder| std::fs::create_dir_all(folder).ok()).map(|()| log);
        Ok(Command { program: std::env::current_exe()?, args, env: env.into_iter().collect(), log })
    }
}

pub(crate) fn run(args: &DaemonArgs) -> anyhow::Result<Exit> {
    let (config, path) = match super::find_config(args.config.as_deref())? {
        FoundConfig::File(config, path) => (*config, path),
        FoundConfig::Nothing { .. } => {
            let hint = "a daemon serves what a config file names; see docs/config.md";
            return Err(fatal(Exit::Config, format!("there is no config file\n  hint: {hint}")));
        }
    };
    let (max_backends, idle_ttl_seconds) = (args.max_backends, args.idle_ttl_seconds);
    let identity = Identity { config_file: &path, max_backends, idle_ttl_seconds };
    let address = identity.address().context("there is no place for the daemon's socket")?;
    if let Some(DaemonCommand::Stop) = args.command {
        return stop(&address);
    }
    check_room().context("cannot open what is needed to serve (hint: raise the limit of open files, `ulimit -n`)")?;
    let state_folder = super::state_folder();
    let log = log_options(args, &config, &path, &state_folder)?;
    let servers = servers(&config, args);
    let linger = config.linger;
    let config_file = Some(path.clone());
    let daemon = Daemon { config, config_file, servers, address, state_folder, log, linger };
    match super::on_runtime(daemon::run(daemon))?.context("the daemon cannot serve")? {
        Served::ToTheEnd => Ok(Exit::Ok),
        Served::Taken => {
            complain("switchboard: a daemon for this config runs already; `switchboard status` shows it");
            Ok(Exit::Failure)
        }
    }
}

fn servers(config: &Config, args: &DaemonArgs) -> Vec<ServerConfig> {
    let mut servers: Vec<ServerConfig> = super::enabled(config).into_iter().cloned().collect();
    for server in &mut servers {
        override_pool(server, args.max_backends, args.idle_ttl_seconds);
    }
    servers
}

pub(super) fn override_pool(server: &mut ServerConfig, max_backends: Option<usize>, idle_ttl_seconds: Option<u64>) {
    server.max_backends = max_backends.unwrap_or(server.max_backends);
    if let Some(seconds) = idle_ttl_seconds {
        server.idle_ttl = Some(Duration::from_secs(seconds)).filter(|time| !time.is_zero());
    }
}

fn log_options(
    args: &DaemonArgs,
    config: &Config,
    path: &Path,
    state_folder: &Path,
) -> anyhow::Result<LogOptions> {
    let file: Option<PathBuf> = expand::log_file(&config.log, path, &super::vars)
        .map_err(|error| fatal(Exit::Config, error.to_string()))?;
    Ok(LogOptions {
        level: args.log_level.map_or(config.log.level, Into::into),
        format: config.log.format,
        file,
        folder: state_folder.join("logs"),
        bodies: config.log.bodies,
        server: String::new(),
        root: None,
    })
}

fn stop(address: &Address) -> anyhow::Result<Exit> {
    let answer = super::on_runtime(control::ask(address, Request::Stop))?.context("the daemon does not answer")?;
    match answer {
        Some(answer) => super::print(&format!("the daemon (pid {}) ends\n", answer.pid))?,
        None => super::print("no daemon runs for this config\n")?,
    }
    Ok(Exit::Ok)
}

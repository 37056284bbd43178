//! `switchboard daemon`: runs the daemon that all windows share in the foreground, or stops it.
//! `stdio` starts it on demand.

use super::{FoundConfig, complain, logging};
use crate::cli::{BackendArg, DaemonArgs, DaemonCommand, owner};
use crate::exit::{Exit, fatal};
use anyhow::Context;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use switchboard_gateway::config::discover::{ConfigOrigin, DiscoverError, Discovery, discover, reread};
use switchboard_gateway::config::environment::Inherited;
use switchboard_gateway::config::owners::Owners;
use switchboard_gateway::config::{Config, InheritEnv, Preset, ServerConfig, expand, real, spell_time};
use switchboard_gateway::control::{self, Request};
use switchboard_gateway::presets::{auggie, table::AUGGIE};
use switchboard_gateway::runtime::daemon::{self, Daemon, Served};
use switchboard_gateway::telemetry;
use switchboard_gateway::{Address, DaemonCommand as Command, Overrides, Source, allow_many_files};

/// Variables of its parent that the daemon gets, beside the safe list.
#[cfg(not(debug_assertions))]
const PASSED: [&str; 5] =
    ["XDG_*", "SWITCHBOARD_LOG", "SWITCHBOARD_STATE_DIR", "MCP_PROXY_LOG", AUGGIE.template_variable];
/// Includes the faults that tests inject.
#[cfg(debug_assertions)]
const PASSED: [&str; 7] = [
    "XDG_*",
    "SWITCHBOARD_LOG",
    "SWITCHBOARD_STATE_DIR",
    "MCP_PROXY_LOG",
    AUGGIE.template_variable,
    "SWITCHBOARD_PANIC_IN",
    "SWITCHBOARD_PRETEND_*",
];

/// Properties that distinguish a user's daemons.
pub(super) struct Identity {
    pub(super) what: What,
    pub(super) overrides: Overrides,
}

/// Servers of a daemon.
pub(super) enum What {
    /// Servers of a config file; of a project's file only while it is trusted.
    Config { path: PathBuf, is_project: bool, owners: Owners },
    /// A preset, as it was located, with the global settings of a file.
    Auggie { options: auggie::Options, config: Option<PathBuf>, owners: Owners },
}

impl What {
    pub(super) fn of(source: &Source) -> Self {
        Self::Config {
            path: source.path.clone(),
            is_project: source.origin == ConfigOrigin::Project,
            owners: source.owners,
        }
    }

    /// The flags as words of a command line.
    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut put = |flag: &str, value: Option<OsString>| {
            words.extend(value.map(|value| [flag.into(), value]).into_iter().flatten());
        };
        match self {
            Self::Config { path, is_project, owners } => {
                put("--config", Some(canonical(path)));
                if *is_project {
                    words.push("--project".into());
                }
                words.append(&mut owner::words(*owners));
            }
            Self::Auggie { options: auggie::Options { node, entry, mode, .. }, config, owners } => {
                put("--backend", Some(AUGGIE.name.into()));
                put("--node", node.clone().map(Into::into));
                put("--auggie-entry", entry.clone().map(Into::into));
                put("--mode", mode.clone().map(Into::into));
                put("--config", config.as_deref().map(canonical));
                words.append(&mut owner::words(*owners));
            }
        }
        words
    }
}

/// Canonical path of a config file. A link is not followed: a project's file is trusted in its folder.
fn canonical(path: &Path) -> OsString {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let whole = real(folder).ok().zip(path.file_name()).map(|(folder, name)| folder.join(name));
    whole.unwrap_or_else(|| path.to_owned()).into()
}

impl Identity {
    /// The daemon's address, for commands that cannot do without it.
    pub(super) fn socket(&self) -> anyhow::Result<Address> {
        self.address().context("cannot create the folder for the daemon's socket")
    }

    pub(super) fn address(&self) -> std::io::Result<Address> {
        let Overrides { max_backends, idle_ttl_seconds, start_timeout, timeout } = self.overrides;
        let mut words: Vec<Vec<u8>> =
            self.what.words().iter().map(|word| word.as_encoded_bytes().to_vec()).collect();
        if let What::Auggie { .. } = self.what {
            // The template changes the server's command line, so each one needs a daemon of its own.
            words.push(super::vars(AUGGIE.template_variable).unwrap_or_default().into_encoded_bytes());
        }
        words.push(format!("{max_backends:?} {idle_ttl_seconds:?}").into());
        // Without these, the address is the one that earlier versions use.
        if start_timeout.is_some() || timeout.is_some() {
            words.push(format!("{start_timeout:?} {timeout:?}").into());
        }
        // No word contains a NUL, so different lists never join alike.
        Address::of(&words.join(&0))
    }

    /// Command that starts the daemon on demand. It gets the environment that every program needs,
    /// and nothing of a single client.
    pub(super) fn command(&self) -> std::io::Result<Command> {
        let mut args: Vec<OsString> = vec!["daemon".into(), "--detached".into()];
        args.append(&mut self.what.words());
        if let Some(most) = self.overrides.max_backends {
            args.extend(["--max-backends".into(), most.to_string().into()]);
        }
        if let Some(seconds) = self.overrides.idle_ttl_seconds {
            args.extend(["--idle-ttl-seconds".into(), seconds.to_string().into()]);
        }
        let Overrides { start_timeout, timeout, .. } = self.overrides;
        for (flag, time) in [("--start-timeout", start_timeout), ("--timeout", timeout)] {
            args.extend(time.into_iter().flat_map(|time| [flag.into(), spell_time(time).into()]));
        }
        let env =
            Inherited::new(std::env::vars_os(), InheritEnv::Safe, &PASSED.map(str::to_owned)).with(&[]).vars;
        let log = telemetry::stderr_for_daemon(&super::state_folder().join("logs"));
        Ok(Command { program: std::env::current_exe()?, args, env: env.into_iter().collect(), log })
    }
}

pub(crate) fn run(args: &DaemonArgs) -> anyhow::Result<Exit> {
    let overrides = args.overrides.overrides();
    // Before the plan: a broken config must not keep a daemon from being stopped.
    if let Some(DaemonCommand::Stop) = args.command {
        return stop(to_stop(args, overrides)?, overrides);
    }
    let Plan { what, config, servers, source } = plan(args, overrides)?;
    let address = Identity { what, overrides }.socket()?;
    super::check_can_serve()?;
    allow_many_files();
    let state_folder = super::state_folder();
    let path = source.as_ref().map(|source| &*source.path);
    let log = logging::options((&args.log).into(), &config, path, &state_folder)?;
    let http = None;
    let default_root = path.and_then(|path| expand::default_root(&config, path, &super::vars).ok().flatten());
    let on_listening = |_: &[_]| {};
    let daemon = Daemon {
        config,
        source,
        servers,
        overrides,
        address,
        state_folder,
        log,
        http,
        on_listening,
        default_root,
        stays_without_clients: !args.detached,
    };
    match super::on_runtime(daemon::run(daemon))?.context("the daemon failed")? {
        Served::ToTheEnd => Ok(Exit::Ok),
        Served::Taken => {
            complain(
                "switchboard: a daemon is already running for this config; `switchboard status` shows it",
            );
            Ok(Exit::Failure)
        }
    }
}

pub(super) struct Plan {
    pub(super) what: What,
    pub(super) config: Config,
    pub(super) servers: Vec<ServerConfig>,
    /// File that the servers come from.
    pub(super) source: Option<Source>,
}

pub(super) fn plan(args: &DaemonArgs, overrides: Overrides) -> anyhow::Result<Plan> {
    if let Some(BackendArg::Auggie) = args.backend {
        return plan_auggie(args, overrides);
    }
    let owners = args.owner.owners();
    let (config, source) = match (&args.config, args.project) {
        (Some(path), true) => {
            let file = reread(path, ConfigOrigin::Project, owners, &super::vars)
                .map_err(|why| fatal(Exit::Config, why))?;
            super::read_config(file, owners)?
        }
        (path, _) => match super::find_config(path.as_deref(), owners)? {
            FoundConfig::File(config, source) => (*config, source),
            FoundConfig::Nothing { .. } => {
                let hint = "the daemon serves the servers of a config file; `switchboard help config` has an example";
                return Err(fatal(Exit::Config, format!("there is no config file\n  hint: {hint}")));
            }
        },
    };
    let source = Source { path: canonical(&source.path).into(), ..source };
    Ok(Plan { what: What::of(&source), servers: overrides.servers(&config), config, source: Some(source) })
}

/// Plan of a daemon for auggie. A config file provides global settings only, and is read once.
fn plan_auggie(args: &DaemonArgs, overrides: Overrides) -> anyhow::Result<Plan> {
    let owners = args.owner.owners();
    let config = match &args.config {
        None => Config::default(),
        Some(path) => match super::find_config(Some(path), owners)? {
            FoundConfig::File(config, _) => *config,
            FoundConfig::Nothing { .. } => Config::default(),
        },
    };
    let options = auggie::Options {
        node: args.node.clone(),
        entry: args.auggie_entry.clone(),
        mode: args.mode.clone(),
        ..auggie::Options::default()
    };
    let mut server = Preset::Auggie.server(&options, &super::vars);
    config.apply_to(&mut server);
    // Again, since the config may have replaced what the preset needs.
    Preset::Auggie.complete(&mut server);
    overrides.apply(&mut server);
    let options = auggie::resolve(&options, &super::vars).unwrap_or(options);
    Ok(Plan {
        what: What::Auggie { options, config: args.config.clone(), owners },
        config,
        servers: vec![server],
        source: None,
    })
}

/// Daemons that may be meant by `stop`; several if the config file is gone. The file is located but not read:
/// a daemon can be stopped whatever happened to its config.
fn to_stop(args: &DaemonArgs, overrides: Overrides) -> anyhow::Result<Vec<What>> {
    if args.backend.is_some() {
        return Ok(vec![plan(args, overrides)?.what]);
    }
    let owners = args.owner.owners();
    let what = |path: PathBuf, is_project: bool| What::Config { path, is_project, owners };
    if let (Some(path), true) = (&args.config, args.project) {
        return Ok(vec![what(path.clone(), true)]);
    }
    let project = std::env::current_dir().ok();
    Ok(match discover(args.config.as_deref(), project.as_deref(), owners, &super::vars) {
        Ok(Discovery { file: Some(file), .. }) => vec![what(file.path, file.origin == ConfigOrigin::Project)],
        Ok(Discovery { file: None, searched, .. }) => {
            let is_projects = |path: &Path| path.parent() == project.as_deref();
            searched
                .into_iter()
                .map(|path| (is_projects(&path), path))
                .map(|(is, path)| what(path, is))
                .collect()
        }
        Err(DiscoverError { path, origin, .. }) => vec![what(path, origin == ConfigOrigin::Project)],
    })
}

fn stop(candidates: Vec<What>, overrides: Overrides) -> anyhow::Result<Exit> {
    for what in candidates {
        let address = Identity { what, overrides }.socket()?;
        let answer = super::on_runtime(control::ask(&address, Request::Stop))?
            .context("the daemon does not answer")?;
        if let Some(answer) = answer {
            super::print(&format!("the daemon (pid {}) is stopping\n", answer.pid))?;
            return Ok(Exit::Ok);
        }
    }
    super::print("no daemon is running for this config\n")?;
    Ok(Exit::Ok)
}

//! From a server's entry to the arguments of exec, with hints for launches that fail.

use crate::backends::packages::{self, PackagesFolder};
use crate::config::environment::{Inherited, withheld_hint};
use crate::config::expand::ExpandError;
use crate::config::{self, Missing, Packages, ServerConfig, expand, folders};
use crate::environments::Vars;
use crate::secrets;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use switchboard_process::child::{Launch, SpawnError};
use switchboard_process::warden::{GuardMode, GuardOptions, Options, Warden};

/// The memory that the system refuses to a server's processes, as a multiple of `memoryLimit`.
const HARD_MEMORY_FACTOR: u64 = 2;

/// A server's entry with everything that its variables expand from.
pub(crate) struct LaunchPlan {
    pub(crate) server: ServerConfig,
    pub(crate) root: Option<PathBuf>,
    /// The server belongs to no workspace and runs in the user's home folder.
    pub(crate) in_home: bool,
    pub(crate) vars: Arc<Vars>,
    /// Folder that isolated package runners use.
    pub(crate) packages: PackagesFolder,
}

/// Launch that is ready to start.
pub(crate) struct Prepared {
    pub(crate) launch: Launch,
    /// The launch before isolation, if isolation changed it.
    unisolated: Option<Launch>,
    withheld: Vec<String>,
}

/// Reason why a launch could not even be attempted.
pub struct Unready {
    pub reason: String,
    pub hint: Option<String>,
}

impl From<ExpandError> for Unready {
    fn from(error: ExpandError) -> Self {
        let hint = Some(error.cause.remedy());
        Self { reason: format!("`{}`: {}", error.key, error.cause), hint }
    }
}

pub(crate) fn warden_options(state_folder: &Path, wants_strict: bool) -> Options {
    Options { runs: Some(runs_folder(state_folder)), wants_strict }
}

/// Folder of run files.
pub(crate) fn runs_folder(state_folder: &Path) -> PathBuf {
    state_folder.join("runs")
}

/// Warden for the processes of one server.
pub(crate) fn warden(server: &ServerConfig, state_folder: &Path) -> Warden {
    warden_for(std::slice::from_ref(server), state_folder)
}

/// Warden for the processes of all these servers.
pub(crate) fn warden_for(servers: &[ServerConfig], state_folder: &Path) -> Warden {
    let wants_strict = servers.iter().any(|server| server.guard == config::Guard::Strict);
    Warden::start(warden_options(state_folder, wants_strict))
}

impl LaunchPlan {
    pub(crate) fn expand(&self) -> Result<Prepared, Unready> {
        let server = &self.server;
        // A preset whose program was not found has no command to expand.
        if let Some(Missing { reason, hint }) = server.missing.clone() {
            return Err(Unready { reason, hint: Some(hint) });
        }
        if server.remote.is_some() {
            let reason = "it is a remote server: there is nothing to start".to_owned();
            return Err(Unready { reason, hint: Some("leave out `--raw`".to_owned()) });
        }
        let parts = expand::launch_parts(server, self.root.as_deref(), &|name| self.vars.get(name))?;
        let environment = Inherited::of_server(self.vars.all(), server).with(&parts.env);
        let mut launch = Launch {
            program: parts.command.into(),
            args: parts.args.into_iter().map(OsString::from).collect(),
            env: environment.vars.into_iter().collect(),
            cwd: self.working_folder(parts.cwd),
        };
        // Kept for hints, which must see the command as the user wrote it.
        let unisolated = launch.clone();
        let is_isolated = server.packages == Packages::Isolated && self.packages.isolate(&mut launch);
        let unisolated = is_isolated.then_some(unisolated);
        Ok(Prepared { launch, unisolated, withheld: environment.withheld })
    }

    /// Secrets that the process will know, and may print.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let mut found = secrets::of_server(&self.server, self.root.as_deref(), &|name| self.vars.get(name));
        if let Ok(prepared) = self.expand() {
            let env = prepared.launch.env.iter();
            found.extend(secrets::of_environment(
                env.map(|(name, value)| (name.to_string_lossy(), value.to_string_lossy())),
            ));
        }
        secrets::keep_names(&mut found, &self.server, self.root.as_deref());
        found
    }

    fn working_folder(&self, own: Option<PathBuf>) -> Option<PathBuf> {
        if !self.in_home {
            return own.or_else(|| self.root.clone());
        }
        // Without a home folder, any folder outside a workspace will do.
        let home = folders::home(&|name| self.vars.get(name)).unwrap_or_else(std::env::temp_dir);
        // `join` leaves an absolute path unchanged.
        Some(own.map_or_else(|| home.clone(), |own| home.join(own)))
    }

    /// Expands the launch and creates the files that it refers to.
    pub(crate) fn prepare(&self) -> Result<Prepared, Unready> {
        let prepared = self.expand()?;
        // Only isolated runners refer to files of ours.
        if prepared.unisolated.is_some() {
            self.packages.prepare().map_err(|error| Unready {
                reason: format!("cannot create the folder for package runners: {error}"),
                hint: Some("check the owner and the mode of Switchboard's state folder".to_owned()),
            })?;
        }
        Ok(prepared)
    }

    /// Options of the guard that keeps the server's processes from outliving us.
    pub(crate) fn guard_options(&self) -> GuardOptions {
        let mode = match self.server.guard {
            config::Guard::Auto => GuardMode::Auto,
            config::Guard::Strict => GuardMode::Strict,
            config::Guard::Off => GuardMode::Off,
        };
        // A process that exceeds its limit is restarted, with a message; this only keeps it from much more until then.
        let memory = self.server.memory_limit.map(|bytes| bytes.saturating_mul(HARD_MEMORY_FACTOR));
        GuardOptions { mode, keep: self.server.keep.clone(), memory, grace: self.server.shutdown_grace }
    }

    /// Hint for a server that ends during startup: known advice, a package of the workspace, or the
    /// variables that were withheld from it.
    pub(crate) fn hint(&self) -> Option<String> {
        if let Some(advice) = self.server.advice {
            return Some(advice.to_owned());
        }
        let prepared = self.expand().ok()?;
        let local = prepared.unisolated.as_ref().and_then(packages::hint);
        local.or_else(|| withheld_hint(&prepared.withheld))
    }
}

impl Prepared {
    pub(crate) fn explain(&self, error: &SpawnError) -> String {
        match withheld_hint(&self.withheld) {
            Some(withheld) => format!("{}; {withheld}", error.hint()),
            None => error.hint(),
        }
    }
}

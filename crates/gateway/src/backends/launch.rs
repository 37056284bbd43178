//! From a server's entry to exactly what exec gets, and what to say when that does not work.

use crate::backends::packages::{self, PackagesFolder};
use crate::config::environment::{Inherited, withheld_hint};
use crate::config::expand::ExpandError;
use crate::config::{self, Missing, Packages, ServerConfig, expand, folders};
use crate::environments::Vars;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use switchboard_process::child::{Launch, SpawnError};
use switchboard_process::warden::{GuardMode, GuardOptions, Options, Warden};

/// A server's entry with the surroundings that it is filled in from.
pub(crate) struct LaunchPlan {
    pub(crate) server: ServerConfig,
    pub(crate) root: Option<PathBuf>,
    /// It belongs to no workspace, and runs in the user's home folder.
    pub(crate) in_home: bool,
    pub(crate) vars: Arc<Vars>,
    /// Where package runners are pointed at.
    pub(crate) packages: PackagesFolder,
}

/// Ready to be started.
pub(crate) struct Prepared {
    pub(crate) launch: Launch,
    /// As the entry has it, if it was changed.
    unisolated: Option<Launch>,
    withheld: Vec<String>,
}

/// Why a server could not even be tried.
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

/// Where runs are recorded.
pub(crate) fn runs_folder(state_folder: &Path) -> PathBuf {
    state_folder.join("runs")
}

/// The one who starts a server's processes.
pub(crate) fn warden(server: &ServerConfig, state_folder: &Path) -> Warden {
    warden_for(std::slice::from_ref(server), state_folder)
}

/// The one who starts the processes of all of them.
pub(crate) fn warden_for(servers: &[ServerConfig], state_folder: &Path) -> Warden {
    let wants_strict = servers.iter().any(|server| server.guard == config::Guard::Strict);
    Warden::start(warden_options(state_folder, wants_strict))
}

impl LaunchPlan {
    pub(crate) fn expand(&self) -> Result<Prepared, Unready> {
        let server = &self.server;
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
        let unisolated = launch.clone();
        let is_isolated = server.packages == Packages::Isolated && self.packages.isolate(&mut launch);
        let unisolated = is_isolated.then_some(unisolated);
        Ok(Prepared { launch, unisolated, withheld: environment.withheld })
    }

    fn working_folder(&self, own: Option<PathBuf>) -> Option<PathBuf> {
        if !self.in_home {
            return own.or_else(|| self.root.clone());
        }
        // Without a home folder, anywhere but in a window's workspace.
        let home = folders::home(&|name| self.vars.get(name)).unwrap_or_else(std::env::temp_dir);
        // Joining leaves an absolute path as it is.
        Some(own.map_or_else(|| home.clone(), |own| home.join(own)))
    }

    /// The same, with what it points at made ready.
    pub(crate) fn prepare(&self) -> Result<Prepared, Unready> {
        let prepared = self.expand()?;
        if prepared.unisolated.is_some() {
            self.packages.prepare().map_err(|error| Unready {
                reason: format!("the folder for package runners cannot be made: {error}"),
                hint: Some("check the owner and the mode of Switchboard's state folder".to_owned()),
            })?;
        }
        Ok(prepared)
    }

    /// How its processes are kept from outliving us.
    pub(crate) fn guard_options(&self) -> GuardOptions {
        let mode = match self.server.guard {
            config::Guard::Auto => GuardMode::Auto,
            config::Guard::Strict => GuardMode::Strict,
            config::Guard::Off => GuardMode::Off,
        };
        GuardOptions { mode, keep: self.server.keep.clone(), grace: self.server.shutdown_grace }
    }

    /// What to say about a server that ends before it works: what we know of it, or else that it may miss what it
    /// was not given.
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

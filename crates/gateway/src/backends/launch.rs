//! From a server's entry to exactly what exec gets, and what to say when that does not work.

use crate::backends::remote::Target;
use crate::config::environment::{Inherited, withheld_hint};
use crate::config::{self, Missing, ServerConfig, expand};
use crate::environments::Vars;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use switchboard_process::child::{Launch, SpawnError};
use switchboard_process::warden::{Care, Guard, Options, Warden};

/// A server's entry with the surroundings that it is filled in from.
pub(crate) struct LaunchPlan {
    pub(crate) server: ServerConfig,
    pub(crate) root: Option<PathBuf>,
    pub(crate) vars: Arc<Vars>,
}

/// Ready to be started.
pub(crate) struct Prepared {
    pub(crate) launch: Launch,
    withheld: Vec<String>,
}

/// It could not even be tried.
pub(crate) struct Unready {
    pub(crate) reason: String,
    pub(crate) hint: Option<String>,
}

/// What would be run for a server.
pub struct Examined {
    pub command_line: String,
    /// Why that would not work here and now. It may elsewhere: an IDE often has another PATH than a terminal.
    pub doubt: Option<String>,
}

/// Looks at what would be run for a server, without running it; an error says what is missing.
pub fn examine(server: &ServerConfig, root: Option<PathBuf>) -> Result<Examined, String> {
    let plan = LaunchPlan { server: server.clone(), root, vars: Arc::new(Vars::own()) };
    if server.remote.is_some() {
        let target =
            Target::prepare(server, plan.root.as_deref(), &plan.vars).map_err(|unready| unready.reason)?;
        return Ok(Examined { command_line: target.described(), doubt: None });
    }
    let launch = plan.expand().map_err(|unready| unready.reason)?.launch;
    let doubt = launch.resolve().err().map(|error| format!("{error}\n    help: {}", error.hint()));
    let words = [launch.program].into_iter().chain(launch.args);
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    Ok(Examined { command_line: words.join(" "), doubt })
}

pub(crate) fn warden_options(state_folder: &Path, wants_strict: bool) -> Options {
    Options { runs: Some(state_folder.join("runs")), wants_strict }
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
        let parts = expand::launch_parts(server, self.root.as_deref(), &|name| self.vars.get(name))
            .map_err(|error| Unready { reason: error.to_string(), hint: None })?;
        let environment =
            Inherited::new(self.vars.all(), server.inherit_env, &server.pass_env).with(&parts.env);
        let launch = Launch {
            program: parts.command.into(),
            args: parts.args.into_iter().map(OsString::from).collect(),
            env: environment.vars.into_iter().collect(),
            cwd: parts.cwd.or_else(|| self.root.clone()),
        };
        Ok(Prepared { launch, withheld: environment.withheld })
    }

    /// How its processes are kept from outliving us.
    pub(crate) fn care(&self) -> Care {
        let guard = match self.server.guard {
            config::Guard::Auto => Guard::Auto,
            config::Guard::Strict => Guard::Strict,
            config::Guard::Off => Guard::Off,
        };
        Care { guard, keep: self.server.keep.clone(), grace: self.server.shutdown_grace }
    }

    /// What to say about a server that ends before it works: what we know of it, or else that it may miss what it
    /// was not given.
    pub(crate) fn hint(&self) -> Option<String> {
        if let Some(advice) = self.server.advice {
            return Some(advice.to_owned());
        }
        self.expand().ok().and_then(|prepared| withheld_hint(&prepared.withheld))
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

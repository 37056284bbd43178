//! Preview of a server's launch, for commands that must not start anything.

use super::launch::{LaunchPlan, Unready};
use super::packages::PackagesFolder;
use super::remote::Target;
use crate::config::ServerConfig;
use crate::environments::Vars;
use crate::scope;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Result of a preview.
pub struct Examined {
    pub command_line: String,
    /// Reason why the launch would fail here and now. It may work elsewhere: an
    /// IDE often has a different PATH.
    pub doubt: Option<Unready>,
}

/// Expands a server's launch without running it.
pub fn examine(
    server: &ServerConfig,
    root: Option<PathBuf>,
    state_folder: &Path,
) -> Result<Examined, Unready> {
    let packages = PackagesFolder::new(state_folder);
    let vars = Arc::new(Vars::own());
    let (scope, _) = scope::choose(server, scope::splits(server, &|name| vars.get(name)));
    let in_home = scope == switchboard_core::Scope::Global;
    let plan = LaunchPlan { server: server.clone(), root, in_home, vars, packages };
    if server.remote.is_some() {
        let target = Target::prepare(server, plan.root.as_deref(), &plan.vars)?;
        return Ok(Examined { command_line: target.described(), doubt: None });
    }
    let launch = plan.expand()?.launch;
    let doubt = launch.resolve().err();
    let doubt = doubt.map(|error| Unready { reason: error.to_string(), hint: Some(error.hint().to_owned()) });
    let words = [launch.program].into_iter().chain(launch.args);
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    Ok(Examined { command_line: words.join(" "), doubt })
}

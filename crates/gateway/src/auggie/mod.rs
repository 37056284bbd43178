//! auggie, the context engine that Switchboard was first built for: found and started without a config file.
//!
//! # Layout
//! - [`server`]: the entry that a user would otherwise write.
//! - `find`: node, and auggie's JS file; `homes`: where npm and the version managers put packages; `shim`: what
//!   the small scripts lead to that they put into PATH.
//! - `template`: the arguments.
//! - `disk`: the file system, as far as it is looked at. Nothing else here touches it, and nothing starts a
//!   process: neither `npm` nor a shell is asked.

mod disk;
mod find;
mod homes;
mod shim;
mod template;

#[cfg(test)]
mod tests;

use crate::config::{Capabilities, Lookup, ServerConfig};
use disk::{Disk, OurDisk};
use find::Found;
use std::path::PathBuf;

pub use template::TEMPLATE;

/// The package, as npm knows it.
const PACKAGE: &str = "@augmentcode/auggie";

/// Its variables: where its service is, and who its user is.
const ITS_VARIABLES: &str = "AUGMENT_*";

/// What is set for it. An instance that replaces itself is no longer the one that was started.
const SET: (&str, &str) = ("AUGMENT_DISABLE_AUTO_UPDATE", "1");

/// The argument of its tool in which some clients name the workspace.
const ROOT_ARGUMENT: &str = "directory_path";

/// How many instances may run. Each indexes its workspace, and holds several hundred MiB.
const MAX_BACKENDS: usize = 3;

/// For one that ends before it works. Its own words stand before this.
const ADVICE: &str = "if it is not logged in, run `auggie login` in a terminal, or set AUGMENT_SESSION_AUTH where \
                      switchboard is started; then try again";

/// What the command line says about it; what it does not say is looked for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub node: Option<PathBuf>,
    pub entry: Option<PathBuf>,
    pub mode: Option<String>,
}

/// Where it is looked for.
struct Surroundings<'a> {
    vars: Lookup<'a>,
    /// The folders of PATH, in their order.
    path: Vec<PathBuf>,
    /// What a relative path of the user's counts from.
    here: PathBuf,
    /// How the name of a program ends: `.exe`, or not at all.
    exe: &'a str,
    disk: &'a dyn Disk,
}

/// The same with what was looked for filled in; nothing if something is missing.
pub fn resolve(options: &Options, vars: Lookup<'_>) -> Option<Options> {
    let Found { node, script } = look(vars, |surroundings| find::find(options, surroundings)).ok()?;
    Some(Options { node: Some(node.into()), entry: Some(script.into()), mode: options.mode.clone() })
}

/// The server `auggie`. If something is missing, the entry says so: whoever wants the server is told.
pub fn server(options: &Options, vars: Lookup<'_>) -> ServerConfig {
    look(vars, |surroundings| entry(options, surroundings))
}

/// Looks around on this machine.
fn look<T>(vars: Lookup<'_>, at: impl FnOnce(&Surroundings<'_>) -> T) -> T {
    let path = vars("PATH").unwrap_or_default();
    let surroundings = Surroundings {
        vars,
        path: std::env::split_paths(&path).collect(),
        here: std::env::current_dir().unwrap_or_default(),
        exe: std::env::consts::EXE_SUFFIX,
        disk: &OurDisk,
    };
    at(&surroundings)
}

fn entry(options: &Options, surroundings: &Surroundings<'_>) -> ServerConfig {
    let args = template::arguments(options.mode.as_deref(), surroundings.vars);
    let found = find::find(options, surroundings);
    let (node, script, missing) = match found {
        Ok(Found { node, script }) => (node, script, None),
        Err(missing) => ("node".to_owned(), "auggie".to_owned(), Some(missing)),
    };
    let words = [template::literally(&script)].into_iter().chain(args).collect();
    let mut server = ServerConfig::for_command("auggie", template::literally(&node), words);
    server.expand = true;
    server.env.push((SET.0.to_owned(), SET.1.to_owned()));
    server.pass_env.push(ITS_VARIABLES.to_owned());
    // What it offers depends on nothing that a client says of itself.
    server.capabilities = Capabilities::Shared;
    server.max_backends = MAX_BACKENDS;
    server.root_arguments.push(ROOT_ARGUMENT.to_owned());
    server.missing = missing;
    server.advice = Some(ADVICE);
    server
}

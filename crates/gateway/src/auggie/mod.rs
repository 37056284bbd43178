//! auggie, the context engine that Switchboard was first built for: found and started without a config file.
//!
//! # Layout
//! - [`server`]: the entry that a user would otherwise write; [`load`]: a config file whose entries name it as their preset.
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

use crate::config::discover::ConfigFile;
use crate::config::expand::{self, ExpandError};
use crate::config::{Loaded, Lookup, Missing, Preset, PresetConfig, ServerConfig};
use disk::{Disk, OurDisk};
use find::Found;
use std::path::{Path, PathBuf};

pub use template::TEMPLATE;

/// The package, as npm knows it.
const PACKAGE: &str = "@augmentcode/auggie";

/// What the command line or a config entry says about it; what it does not say is looked for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub node: Option<PathBuf>,
    pub entry: Option<PathBuf>,
    pub mode: Option<String>,
    /// Arguments; otherwise those of [`TEMPLATE`].
    pub args_template: Option<String>,
    /// For messages: whether the paths were named in a config entry.
    pub is_configured: bool,
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
    Some(Options { node: Some(node.into()), entry: Some(script.into()), ..options.clone() })
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
    let Command { command, args, missing } = command(options, surroundings);
    let mut server = ServerConfig::for_command("auggie", command, args);
    Preset::Auggie.prepare(&mut server);
    Preset::Auggie.complete(&mut server);
    server.missing = missing;
    server
}

/// What is started, in the spelling of a config file.
struct Command {
    command: String,
    args: Vec<String>,
    missing: Option<Missing>,
}

fn command(options: &Options, surroundings: &Surroundings<'_>) -> Command {
    let args = template::arguments(options, surroundings.vars);
    let (node, script, missing) = match find::find(options, surroundings) {
        Ok(Found { node, script }) => (node, script, None),
        Err(missing) => ("node".to_owned(), "auggie".to_owned(), Some(missing)),
    };
    let args = [template::literally(&script)].into_iter().chain(args).collect();
    Command { command: template::literally(&node), args, missing }
}

/// Reads a config file. Presets are looked for on this machine: what each of them starts is known then.
pub fn load(file: &ConfigFile, vars: Lookup<'_>) -> Loaded {
    let mut loaded = file.load();
    let servers = loaded.config.iter_mut().flat_map(|config| &mut config.servers);
    for server in servers.filter(|server| !server.disabled) {
        let Some(preset) = &server.preset else { continue };
        let found = match configured(preset, &file.path, vars) {
            Ok(options) => look(vars, |surroundings| command(&options, surroundings)),
            Err(error) => Command {
                command: "node".to_owned(),
                args: Vec::new(),
                missing: Some(Missing {
                    reason: error.to_string(),
                    hint: "correct the entry; `switchboard check` shows it".to_owned(),
                }),
            },
        };
        (server.command, server.args, server.missing) = (found.command, found.args, found.missing);
    }
    loaded
}

/// Relative paths start at the folder of the config file.
fn configured(preset: &PresetConfig, config_file: &Path, vars: Lookup<'_>) -> Result<Options, ExpandError> {
    let PresetConfig { preset: Preset::Auggie, node, entry, mode, args_template } = preset;
    let path = |key: &str, path: &Option<String>| expand::beside(config_file, path.as_deref(), key, vars);
    // A bare name is looked up in PATH.
    let is_bare = |name: &&String| !name.contains(['/', '\\', '$', '~']);
    Ok(Options {
        node: match node.as_ref().filter(is_bare) {
            Some(name) => Some(PathBuf::from(name)),
            None => path("node", node)?,
        },
        entry: path("entry", entry)?,
        mode: mode.clone(),
        args_template: args_template.clone(),
        is_configured: true,
    })
}

//! Entry point of auggie: node and auggie's JS file, located on this machine. Starts no
//! process, neither `npm` nor a shell.
//!
//! # Layout
//! - `find`: search for node and the JS file; `homes`: folders of npm and version managers; `shim`:
//!   targets of small scripts in PATH.
//! - `template`: the arguments.
//! - `disk`: the file system behind a trait; the other modules must not access it directly.

mod disk;
mod find;
mod homes;
mod shim;
mod template;

#[cfg(test)]
mod tests;

use super::table::AUGGIE;
use super::{EnvLookup, PresetCommand};
use disk::{Disk, OurDisk};
use find::EntryPoint;
use std::path::PathBuf;

/// Settings from the command line or a config entry; missing ones are searched for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub node: Option<PathBuf>,
    pub entry: Option<PathBuf>,
    pub mode: Option<String>,
    /// Arguments instead of those in the environment or the table.
    pub args_template: Option<String>,
    /// Whether the paths come from a config entry, for messages.
    pub is_configured: bool,
}

/// Machine as the search sees it.
struct Surroundings<'a> {
    vars: EnvLookup<'a>,
    /// Folders of PATH, in order.
    path: Vec<PathBuf>,
    /// Base of relative paths.
    here: PathBuf,
    /// Suffix of programs: `.exe`, or empty.
    exe: &'a str,
    disk: &'a dyn Disk,
}

/// Options with node and the JS file located; `None` if one of them is missing.
pub fn resolve(options: &Options, vars: EnvLookup<'_>) -> Option<Options> {
    let EntryPoint { node, script } = look(vars, |surroundings| find::find(options, surroundings)).ok()?;
    Some(Options { node: Some(node.into()), entry: Some(script.into()), ..options.clone() })
}

/// Command line. If something is missing, the result says so, and clients of the server are told.
pub fn command(options: &Options, vars: EnvLookup<'_>) -> PresetCommand {
    look(vars, |surroundings| command_on(options, surroundings))
}

/// Runs a search on this machine.
fn look<T>(vars: EnvLookup<'_>, at: impl FnOnce(&Surroundings<'_>) -> T) -> T {
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

fn command_on(options: &Options, surroundings: &Surroundings<'_>) -> PresetCommand {
    let args = template::arguments(options, surroundings.vars);
    let (node, script, missing) = match find::find(options, surroundings) {
        Ok(EntryPoint { node, script }) => (node, script, None),
        // Never started, since `missing` refuses the launch first; the words are for messages.
        Err(missing) => ("node".to_owned(), AUGGIE.name.to_owned(), Some(missing)),
    };
    // A path may contain `${`, which would be expanded.
    let args = [template::literally(&script)].into_iter().chain(args).collect();
    PresetCommand { command: template::literally(&node), args, missing }
}

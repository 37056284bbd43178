//! Servers known by name. A table holds what is the same on every machine; a folder per server holds the code that finds its
//! program on this one. Must not know the config file: `config` reads presets, not the other way round.
//!
//! # Layout
//! - [`table`]: settings of each server.
//! - [`auggie`]: the entry point of auggie, looked for on disk.
//! - `missing`: the error for a program that is not there.

pub mod auggie;
mod missing;
pub mod table;

#[cfg(test)]
pub(crate) mod tests;

pub use missing::Missing;

use std::ffi::OsString;

/// A look-up in an environment.
type EnvLookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The command line of a preset, in the spelling of a config file: `${root}` is filled in once per root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetCommand {
    pub command: String,
    pub args: Vec<String>,
    /// Set if the command cannot work.
    pub missing: Option<Missing>,
}

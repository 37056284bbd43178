//! Servers known by name. A table holds the settings that are the same on every machine; a folder per
//! server holds the code that locates its program. Must not know the config file: `config` reads
//! presets, not the other way round.
//!
//! # Layout
//! - [`table`]: settings of each server.
//! - [`auggie`]: the entry point of auggie, located on disk.
//! - `missing`: the error for a missing program.

pub mod auggie;
mod missing;
pub mod table;

#[cfg(test)]
pub(crate) mod tests;

pub use missing::Missing;

use std::ffi::OsString;

/// Lookup in an environment.
type EnvLookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Command line of a preset, as a config file would spell it: `${root}` is expanded for each root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetCommand {
    pub command: String,
    pub args: Vec<String>,
    /// Set if the command cannot work.
    pub missing: Option<Missing>,
}

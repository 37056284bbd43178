//! The config file: the servers, and how to run them. Text and environment become plain, checked values.
//! Starts nothing and logs nothing: problems of a file are returned as a list of [`Problem`]s.
//!
//! # Layout, from the bottom
//! - `os`: private files, and other differences between systems. `variables`: environment variables as values.
//! - `quantity`: times and sizes as text. `choices`: settings that are one word of a fixed set.
//! - [`defaults`]: default values. `model`: the checked config. `run_keys`: settings of a server that
//!   `defaults` in the file can have too.
//! - [`folders`]: our own files. [`expand`]: expansion of `${VAR}`.
//! - `safe_list`, `runner_list`: variables that servers inherit. [`environment`]: the environment of a child. `separating`:
//!   variables that never separate clients.
//! - `excerpt`, `problem`, `report`: problems, each with its line of the file.
//! - `syntax`: JSON with comments. `read`: single values. `lists`: lists and tables.
//!   `object`: objects and their keys.
//! - `access_keys`, `server_keys`, `default_keys`, `profiles`, `keys`: every key, stated once; `offers`: filters and
//!   names. `schema`: the JSON Schema made from the keys.
//! - `access`, `sharing`, `remote`, `serve`, `preset_keys`: checked parts of a config. `assemble`: the whole.
//! - [`owners`]: users whose files are accepted. [`trust`]: approved project files.
//!   [`discover`]: search for the file.
//! - [`preset`]: presets as servers, with their programs located on this machine.

pub(crate) mod os;
mod variables;
mod quantity;
mod choices;
pub mod defaults;
mod model;
mod run_keys;
pub mod folders;
pub mod expand;
mod safe_list;
mod runner_list;
pub mod environment;
pub(crate) mod separating;
mod excerpt;
mod problem;
mod report;
mod syntax;
mod read;
mod lists;
mod object;
mod access_keys;
mod server_keys;
mod default_keys;
mod offers;
mod profiles;
mod keys;
mod schema;
mod access;
mod sharing;
mod remote;
mod serve;
mod preset_keys;
mod assemble;
pub mod owners;
pub mod trust;
pub mod discover;
pub mod preset;

#[cfg(test)]
pub(crate) mod tests;

pub use crate::presets::Missing;
pub use assemble::{LoadedConfig, load};
pub use choices::{
    Ask, AuditClients, Capabilities, ClientEra, Dialect, Fallback, Framing, Guard, InheritEnv, LogFormat,
    LogLevel, Names, OnTimeout, Packages, Pinning, Preset, RetryAfterCrash, Scope, ServerEra, State,
    StdioAccess,
};
pub use model::{
    AuditConfig, Config, FilterConfig, LogConfig, PoolConfig, PoolMemory, PresetConfig, RemoteConfig, STDERR,
    ServeConfig, ServerConfig, Transport,
};
pub use os::CAN_KEEP;
pub use problem::{Problem, Severity};
pub use quantity::{parse_any_time as parse_time, spell_time};
pub(crate) use remote::is_loopback;
pub use run_keys::{RunKeys, is_process_name};
pub use schema::schema;
pub use switchboard_process::real_path::real;
pub use variables::{Lookup, Variables};

//! What the user wrote down: which servers there are, and how they are to be run.
//!
//! Everything here turns text and environment into plain values. It starts nothing and logs nothing: what
//! is wrong with a file comes back as a list of [`Problem`]s, and what a child would get as a value.
//!
//! # Layout
//! - [`load`] reads a file's text: `syntax` (JSON with comments), `keys` (every key, once), `read` (one
//!   value), `lists` (many), `assemble` (entries to [`Config`]), `sharing` (that part of it which is about pools and
//!   workspaces), `offers` (that which is about what clients see), `remote` (that which is about servers elsewhere), `preset` (servers known by name), `run_keys` and `default_keys` (how servers
//!   are run, one of them or all). What it dislikes becomes a [`Problem`], which knows how to
//!   show itself.
//! - [`schema`] is the JSON Schema, made from `keys`.
//! - [`expand`] fills in `${VAR}`; [`environment`] decides which variables a child gets, `separating` which of them keep
//!   clients apart.
//! - [`discover`] finds the file, [`owners`] says whose may be used, [`trust`] remembers which project files may be used, [`folders`] says
//!   where our own files are.

mod assemble;
mod choices;
mod default_keys;
pub mod defaults;
pub mod discover;
pub mod environment;
mod excerpt;
pub mod expand;
pub mod folders;
mod keys;
mod lists;
mod model;
mod offers;
pub(crate) mod os;
pub mod owners;
pub mod preset;
mod problem;
mod quantity;
mod read;
mod remote;
mod report;
mod safe_list;
mod run_keys;
mod runner_list;
mod schema;
pub(crate) mod separating;
mod serve;
mod sharing;
mod syntax;
pub mod trust;
mod variables;

#[cfg(test)]
pub(crate) mod tests;

pub use crate::presets::Missing;
pub use assemble::{LoadedConfig, load};
pub use choices::{
    Capabilities, Dialect, Fallback, Framing, Guard, InheritEnv, LogFormat, LogLevel, Names, OnTimeout,
    Packages, Preset, RetryAfterCrash, Scope, State,
};
pub use model::{
    Config, FilterConfig, LogConfig, PoolConfig, PoolMemory, RemoteConfig, STDERR, ServeConfig, ServerConfig,
};
pub use preset::PresetConfig;
pub use problem::{Problem, Severity};
pub use quantity::{parse_any_time as parse_time, spell_time};
pub use remote::Transport;
pub(crate) use remote::is_loopback;
pub use run_keys::{RunKeys, is_process_name};
pub use schema::schema;
pub use variables::{Lookup, Variables};

//! Aggregate: all servers of a config file, seen as one.
//!
//! - `servers`: several fake servers in one config, and clients of them.
//! - the rest: one group of promises per file.

pub(crate) mod servers;

mod names;
mod doubtful;
mod lists;
mod resources;
mod talk;
mod asks;
mod lazy;
mod troubles;
mod failed;
mod changes;
mod shared;
pub(crate) mod slow;

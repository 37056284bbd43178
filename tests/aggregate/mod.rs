//! All servers of a config file, seen as one.
//!
//! - `servers`: several fake servers in one config, and windows onto them.
//! - the rest: a promise, or a few that belong together, each.

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
mod slow;

//! Reads the command line of a server: which package runner it starts, and which package. Pure, and it knows no config.
//!
//! - `runner`: which commands are package runners, and where their arguments begin.
//! - `package`: the package, image or program that a command line runs.
//! - `flags`: the flags of each runner, and which of them take a value.

mod flags;
mod package;
mod runner;

pub(crate) use package::{Package, pypi_name, started};
pub(crate) use runner::{FoundRunner, Runner, find};

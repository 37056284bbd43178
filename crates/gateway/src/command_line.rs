//! Analysis of a server's command line: its package runner, and the package it runs.
//! Pure; must not know the config.
//!
//! # Layout
//! - `runner`: known package runners, and the start of their arguments.
//! - `package`: the package, image or program that a command line runs.
//! - `flags`: the flags of each runner, and which of them take a value.

mod flags;
mod package;
mod runner;

pub(crate) use package::{Package, pypi_name, started};
pub(crate) use runner::{FoundRunner, Runner, find};

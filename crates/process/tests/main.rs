//! The promises of this crate, tested with real children: `sh`, `cat`, `sleep`.
#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests, all of it")]

mod children;
mod errors;
mod fixture;
mod local;
mod pipes;
mod stdio;
mod stopping;
mod support;

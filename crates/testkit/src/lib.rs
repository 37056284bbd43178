//! Test tools for the other crates, the whole program, and the benchmark.
//!
//! # Layout
//! - [`simulator`]: the core among seeded random clients and servers, with its invariants.
//! - [`client`]: the client over stdio. Scripted for tests, without threads for measurements.
//! - [`terminal`]: the program in a terminal, as a person sees it.
//! - [`http`]: the client over HTTP.
//! - [`web`]: the fake HTTP server, with a script for every answer.
//! - [`fake`]: the fake stdio server (the binary `fake-backend`), with a tool for every fault.
//! - [`record`]: everything that a fake server was sent, byte for byte.
//! - [`zoo`]: the kinds of process that a server may leave behind (`src/fake/zoo.rs`), seen from outside.
//! - [`scratch`]: a folder that goes with its test. `daemons`: those that were started in it. [`pids`]: processes by their
//!   numbers. [`tree`]: parents and children.
//! - `src/ide`, the binary `fake-ide`: a client that can be killed.
//! - [`message`]: JSON-RPC messages of these clients; [`wire`]: the same as bytes, without parsing.
//! - [`patience`]: waiting for a fact, with a limit that only fails; [`monitor`]: a shared value, and waiting for its change.
//!
//! Modules that signal processes are for Unix. On Windows only the fake backend is built; the program is tested there from
//! the outside, under Wine (`tests/windows`).

#![forbid(unsafe_code)]

pub mod simulator;

#[cfg(unix)]
pub mod client;
#[cfg(target_os = "linux")]
pub mod terminal;
pub mod http;
#[cfg(unix)]
pub mod record;
#[cfg(target_os = "linux")]
pub mod zoo;
pub mod web;
pub mod fake;
pub mod scratch;
#[cfg(unix)]
pub mod daemons;
#[cfg(unix)]
pub mod pids;
#[cfg(target_os = "linux")]
pub mod tree;
pub mod message;
pub mod wire;
pub mod patience;
pub mod monitor;

//! Test tools for the other crates, the whole program, and the benchmark.
//!
//! # Layout
//! Lowest layer first: a module uses only modules listed before it.
//! - [`patience`]: waiting for a fact, with a limit that only fails. [`monitor`]: a shared value, and waiting for its change.
//! - [`message`]: JSON-RPC messages of the clients. [`wire`]: the same as bytes, without parsing.
//! - [`wine`]: programs for Windows, as processes of Linux.
//! - [`pids`]: processes by number. [`tree`]: parents and children.
//! - [`daemons`]: daemons of a folder. [`scratch`]: a folder that is deleted with its test.
//! - [`record`]: the input of a fake server, byte for byte.
//! - [`terminal`]: the program in a terminal.
//! - [`client`]: the client over stdio, scripted for tests, without threads for measurements. [`http`]: the client over HTTP.
//! - [`web`]: the fake HTTP server, with a script for every answer.
//! - [`fake`]: the fake stdio server (the binary `fake-backend`), with a tool for every fault.
//! - [`zoo`]: the kinds of process that a server may leave behind (`src/fake/zoo.rs`), seen from outside.
//! - [`simulator`]: the core among seeded random clients and servers, with its invariants.
//!
//! `src/ide` is the binary `fake-ide`: a client that can be killed.
//!
//! Modules that signal processes are for Unix. On Windows only the fake backend is built; the program is tested there from
//! the outside, under Wine (`tests/windows`, and the end-to-end tests by [`wine`]).

#![forbid(unsafe_code)]

pub mod patience;
pub mod monitor;
pub mod message;
pub mod wire;
#[cfg(unix)]
pub mod wine;
#[cfg(unix)]
pub mod pids;
#[cfg(target_os = "linux")]
pub mod tree;
#[cfg(unix)]
pub mod daemons;
pub mod scratch;
#[cfg(unix)]
pub mod record;
#[cfg(target_os = "linux")]
pub mod terminal;
#[cfg(unix)]
pub mod client;
pub mod http;
pub mod web;
pub mod fake;
#[cfg(target_os = "linux")]
pub mod zoo;
pub mod simulator;

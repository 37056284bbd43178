//! What the tests of the other crates, and those of the whole program, stand on.
//!
//! # Layout
//! - [`simulator`]: the core among seeded random clients and servers, with its invariants.
//! - [`client`]: a scripted client that starts the real program and speaks to it over pipes.
//! - [`terminal`]: the program in a terminal, as a person sees it.
//! - [`http`]: a small client over HTTP.
//! - [`web`]: a scripted HTTP server, for what is remote.
//! - [`record`]: what the fake backend (`src/fake`, the binary `fake-backend`) was told, byte for byte.
//! - [`zoo`]: the kinds of process that a server may leave behind (`src/fake/zoo.rs`), seen from outside.
//! - [`scratch`]: a folder that goes with its test. `daemons`: those that were started in it. [`pids`]: processes by their numbers. [`tree`]: whose
//!   child is whose.
//! - `src/ide`, the binary `fake-ide`: a client that can be killed.
//! - [`patience`]: waiting for a fact, with a limit that only fails.
//!
//! What signals processes by their numbers is for Unix. On Windows only the fake backend is built; the program
//! is tested there from the outside, under Wine (`tests/windows`).

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
pub mod scratch;
#[cfg(unix)]
pub mod daemons;
#[cfg(unix)]
pub mod pids;
#[cfg(target_os = "linux")]
pub mod tree;
pub mod patience;

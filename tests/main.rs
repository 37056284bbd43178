//! End-to-end tests: the real program between a scripted client and a fake or real server, over pipes. One
//! file per promise. Every wait is for a fact; time limits only end a test whose fact does not come.

#![forbid(unsafe_code)]
#![expect(
    clippy::duplicate_mod,
    reason = "the same promises are tried in two ways: `modes`, `daemon::relayed`"
)]
#![expect(clippy::unwrap_used, reason = "what is not there fails the test, here as well as in a `#[test]`")]

mod support;

mod modes;
mod dialect;
mod oversize;
mod environment;
mod auggie;
mod daemon_reload;
mod handshake;
mod pressure;
mod turns;
mod roots;
mod pool;
#[cfg(target_os = "linux")]
mod daemon;
#[cfg(target_os = "linux")]
mod aggregate;
#[cfg(target_os = "linux")]
mod http;
#[cfg(target_os = "linux")]
mod isolation;
#[cfg(target_os = "linux")]
mod access;
mod remote;
mod modern;
mod logs;
mod raw;
mod config;
mod defaults;
mod config_error;
#[cfg(target_os = "linux")]
mod packages;
#[cfg(target_os = "linux")]
mod registries;
#[cfg(target_os = "linux")]
mod sandbox;
mod leftovers;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod nothing_left;

mod cli;
mod command_line;
mod messages;
#[cfg(target_os = "linux")]
mod screens;
mod examples;
mod embed;
mod explain;
mod demo;
mod docs;
mod structure;
#[cfg(target_os = "linux")]
mod readme;

mod real;

//! Real servers and real clients: each conversation is held twice, directly and through us, and must be the
//! same. `scripts/setup` installs the programs.
//!
//! - `peers`: the programs and their command lines.
//! - `elsewhere`: servers that we do not start, reached over HTTP.
//! - `talk`: a recorded conversation with a server.
//! - `window`: a server several processes deep, and the check that all of them end.
//! - `aggregate`: several servers as one, compared with each of them; `aggregate_clients`, `codex`: its clients.
//! - `matrix`: every front with every kind of server and every feature.
//! - `modern`: clients and servers of the modern era.
//! - the rest: one server, or one kind of client, per file.

pub(crate) mod peers;
pub(crate) mod elsewhere;
mod talk;

mod everything;
mod everything_asks;
mod from_the_command_line;
mod filesystem;
#[cfg(target_os = "linux")]
mod filesystem_pool;
mod time;
mod auggie;
mod openings;
mod endings;
#[cfg(target_os = "linux")]
mod window;
#[cfg(target_os = "linux")]
mod chains;
mod remote;
mod sdk_clients;
mod rmcp_client;
mod aggregate;
mod aggregate_clients;
mod codex;
#[cfg(target_os = "linux")]
mod conformance;
#[cfg(target_os = "linux")]
mod http_clients;
#[cfg(target_os = "linux")]
mod browser;
#[cfg(target_os = "linux")]
mod matrix;
#[cfg(target_os = "linux")]
mod modern;

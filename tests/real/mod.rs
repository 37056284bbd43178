//! Real servers and real clients: each conversation is held twice, directly and through us, and what is heard
//! must be the same. `scripts/setup` installs the programs.
//!
//! - `peers`: the programs and how they are started.
//! - `elsewhere`: servers that we do not start, and reach by HTTP.
//! - `talk`: a conversation with a server, written down and compared.
//! - `window`: us with a server behind that is several processes deep, and whether all of them are gone.
//! - `aggregate`: several servers as one, compared with each of them; `aggregate_clients`, `codex`: its clients.
//! - `matrix`: every front to every kind of server, with every feature.
//! - the rest: a server, or a kind of client, each.

pub(crate) mod peers;
mod elsewhere;
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

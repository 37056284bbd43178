//! Real servers and real clients: each conversation is held twice, directly and through us, and what is heard
//! must be the same. `scripts/setup` installs the programs.
//!
//! - `peers`: the programs and how they are started.
//! - `talk`: a conversation with a server, written down and compared.
//! - the rest: a server, or a kind of client, each.

mod peers;
mod talk;

mod everything;
mod everything_asks;
mod filesystem;
mod time;
mod openings;
mod endings;
mod sdk_clients;
mod rmcp_client;

//! The official SDKs in the modern era: each client with each server holds one conversation, directly and through us.
//!
//! - `peers`: the programs, and the record of a conversation.
//! - `differences`: the comparison, and the list of differences that are expected.
//! - `routes`: the ways from a client to a server.
//! - `pairs`: clients with servers of their own era.
//! - `translated`: legacy clients with modern servers. `known_tasks`: such clients that know tasks. `legacy_servers`: modern clients with legacy servers.
//! - `everything`: modern clients with a server that has never heard of their era.
//! - `conformance`: the official suite, for servers and for clients.

mod peers;
mod differences;
mod routes;
mod pairs;
mod translated;
mod known_tasks;
mod legacy_servers;
mod everything;
mod conformance;

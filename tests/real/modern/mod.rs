//! The official SDKs in the modern era: each client with each server holds one conversation, directly and through us.
//!
//! - `peers`: the programs, and the record of a conversation.
//! - `pairs`: the comparison.
//! - `translated`: clients with servers of the other era.
//! - `conformance`: the official suite, for servers and for clients.

mod peers;
mod pairs;
mod translated;
mod conformance;

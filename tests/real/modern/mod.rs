//! The official SDKs in the modern era: each client with each server holds one conversation, directly and through us.
//!
//! - `peers`: the programs, and the record of a conversation.
//! - `pairs`: the comparison.
//! - `conformance`: the official suite, for servers and for clients.

mod peers;
mod pairs;
mod conformance;

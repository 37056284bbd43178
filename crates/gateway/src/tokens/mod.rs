//! Tokens of clients: made, stored as hashes, recognised and revoked. Must not know how a token arrives.
//!
//! # Layout
//! - `secret`: random texts, their digests, and comparisons that leak no timing.
//! - `owner`: the first token, which is the owner's own.
//! - `spelling`: names, lifetimes, rates and patterns as people write them.
//! - `entry`: one stored token, with its rights and limits.
//! - `file`: the file of all tokens but the first.
//! - `store`: the tokens of a running process, by which clients are recognised.
//! - `watch`: changes of the files while a process runs.

pub(crate) mod secret;
pub mod owner;
pub mod spelling;
mod entry;
mod file;
mod store;
mod watch;

/// Variable with the token of a client over stdio.
pub const TOKEN_VARIABLE: &str = "SWITCHBOARD_TOKEN";

pub use entry::{NewToken, RightsEntry, TokenEntry};
pub use file::{TokenFile, TokensError};
pub use secret::Secret;
pub(crate) use store::TokenStore;
pub(crate) use watch::watch;

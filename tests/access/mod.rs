//! Access control: who may connect, what they may use and how often, and what servers may ask.
//!
//! - `token`: tokens of a home, and clients that have one.
//! - the rest: one group of promises per file.

pub(crate) mod token;

mod tokens;
mod principals;
mod servers;
mod refusals;
mod body_tokens;
mod stdio_tokens;
mod revoked;
mod expired;
mod canary;
mod core_files;
mod probes;
mod policy;
mod limits;
mod asks;

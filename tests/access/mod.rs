//! Access control: who may connect, what they may use and how often, and what servers may ask.
//!
//! - `token`: tokens of a home, and clients that have one.
//! - `rights`: each kind of right on every route, in lists and in calls.
//! - `profiles`: profiles of the config, by name, and their changes.
//! - `admin`: what no client can do.
//! - `pins`: changed tools are reported or held back. `definitions`: the changes.
//! - `audit`: the record of calls; `audit_routes`: on every route. `secrets`: values that no output shows.
//! - the rest: one group of promises per file.

pub(crate) mod token;

mod tokens;
mod principals;
mod servers;
mod refusals;
mod body_tokens;
mod stdio_tokens;
mod other_releases;
mod revoked;
mod expired;
mod canary;
mod core_files;
mod probes;
mod policy;
pub(crate) mod rights;
mod profiles;
mod admin;
pub(crate) mod limits;
pub(crate) mod token_limits;
mod asks;
mod hostile;
pub(crate) mod audit;
pub(crate) mod audit_routes;
mod audit_access;
mod secrets;
pub(crate) mod pins;
mod definitions;

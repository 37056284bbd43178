//! The promise: a rule of the config holds on every route to a server, and no client gets what is another's.
//!
//! - `routes`: a client on every route to the servers of one config, at the first and at the second start.
//! - the rest: a rule each.

pub(crate) mod routes;

mod filters;
mod logs;
mod questions;
mod roots;
mod state;
mod tasks;
mod uris;

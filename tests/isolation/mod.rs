//! Isolation: a rule of the config holds on every route to a server, and no client gets another's messages.
//!
//! - `routes`: every route to the servers of one config, at the first and the second start; `guest`: a legacy client there.
//! - the rest: one rule per file.

mod guest;
pub(crate) mod routes;

pub(crate) mod filters;
mod logs;
mod questions;
mod roots;
mod state;
mod tasks;
mod uris;
pub(crate) mod apps;

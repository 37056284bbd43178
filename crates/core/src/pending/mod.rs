//! Requests that have been accepted and not yet answered, in both directions, and the tokens and notifications that
//! belong to them.
//!
//! # Layout
//! - `table`: ids that we minted, with their entries.
//! - `request`: requests from clients, or from us, to a backend.
//! - `unrouted`: requests that wait to be routed.
//! - `asked`: requests to a client.
//! - `tokens`: progress tokens of requests that are closed, and of questions.
//! - `merge`: notifications that are merged with equal ones.

mod table;
mod request;
mod asked;
mod unrouted;
mod tokens;
mod merge;

pub(crate) use asked::*;
pub(crate) use merge::*;
pub(crate) use request::*;
pub(crate) use table::*;
pub(crate) use tokens::*;
pub(crate) use unrouted::Unrouted;

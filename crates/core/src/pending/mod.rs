//! Requests that have been accepted and not yet answered, in both directions, and the tokens and notifications that
//! belong to them. Must not know clients and backends but by their numbers.
//!
//! # Layout
//! - `table`: ids that we minted, with their entries.
//! - `request`: a request from a client, or from us, to a backend.
//! - `unrouted`: a request that waits to be routed.
//! - `tokens`: progress tokens of requests that are closed, and of questions.
//! - `requests`: all requests to backends.
//! - `question`: requests to clients.
//! - `merge`: notifications that are merged with equal ones.

mod table;
mod request;
mod unrouted;
mod tokens;
mod requests;
mod question;
mod merge;

pub(crate) use merge::{MergeSource, MergeVerdict, Merging};
pub(crate) use question::{AskedBy, Question, Questions};
pub(crate) use request::{Asker, NOWHERE, Pending, RequestState, name_of};
pub(crate) use requests::PendingRequests;
pub(crate) use tokens::MAX_TOKEN_BYTES;
pub(crate) use unrouted::Unrouted;

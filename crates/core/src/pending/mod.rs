//! Accepted requests without an answer, in both directions, and their tokens and notifications. Must not know
//! clients and backends except by number.
//!
//! # Layout
//! - `table`: minted ids with their entries.
//! - `request`: a request to a backend, from a client or from us.
//! - `unrouted`: a request not yet routed.
//! - `listens`: a choice of subscriptions. `agreements`: those that are not acknowledged yet.
//! - `entrance`: requests that wait for the eras of servers.
//! - `tokens`: progress tokens of closed requests, and of questions.
//! - `requests`: all requests to backends.
//! - `question`: requests to clients.
//! - `seal`: the state with which a client continues a call. `paused`: calls that wait for that.
//! - `ended`: calls that have ended before their server has answered.
//! - `merge`: repeated notifications, merged into one.

mod table;
mod request;
mod unrouted;
mod listens;
mod agreements;
mod entrance;
mod tokens;
mod requests;
mod question;
mod seal;
mod paused;
mod ended;
mod merge;

pub(crate) use agreements::{AwaitedResource, ListenWait, ListenWaits};
pub(crate) use ended::EndedCalls;
pub(crate) use entrance::{EraWait, EraWaits};
pub(crate) use listens::Listens;
pub(crate) use merge::{MergeSource, MergeVerdict, Merging};
pub(crate) use paused::{PausedCall, PausedCalls, PausedEnd};
pub(crate) use question::{AskedBy, Question, Questions};
pub(crate) use request::{Asker, NOWHERE, Pending, Recorded, RequestState, name_of};
pub(crate) use requests::PendingRequests;
pub(crate) use seal::CallState;
pub(crate) use tokens::MAX_TOKEN_BYTES;
pub(crate) use unrouted::Unrouted;

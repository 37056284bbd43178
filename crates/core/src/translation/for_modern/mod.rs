//! Translation for modern clients of a legacy server, one message at a time. To the core such a client is a legacy client
//! with a greeting of our own, so it shares processes with legacy clients. Must not know clients, backends or open
//! requests.
//!
//! # Layout
//! - `requests`: requests without the members of the modern era.
//! - `digest`: what a call and its continuation have in common.
//! - `results`: results and errors with the members of the modern era.
//! - `discovery`: the answer to `server/discover`, made from the answer to `initialize`.
//! - `needs`: what a client must have declared to be asked.
//! - `questions`: requests of servers, as parts of an `input_required` answer.
//! - `notices`: notifications on a subscription.

mod requests;
mod digest;
mod results;
mod discovery;
mod needs;
mod questions;
mod notices;

pub(crate) use digest::digest;
pub(crate) use discovery::{discovered, is_hidden, logs};
pub(crate) use needs::Need;
pub(crate) use notices::on_subscription;
pub(crate) use questions::{Answers, InputRequest, input_required, may_be_continued, url_requests};
pub(crate) use requests::as_legacy;
pub(crate) use results::{
    complete, may_have_execution, put_error_code, tool_without_execution, wants_url, without_execution,
};

#[cfg(test)]
mod tests;

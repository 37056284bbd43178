//! Translation for modern clients of a legacy server, one message at a time. To the core such a client is a legacy client
//! with a greeting of our own, so it shares processes with legacy clients. Must not know clients, backends or open
//! requests.
//!
//! # Layout
//! - `requests`: removes the members of the modern era from requests.
//! - `results`: adds the members of the modern era to results and errors.
//! - `discovery`: the answer to `server/discover`, made from the answer to `initialize`.
//! - `questions`: questions of servers as parts of an `input_required` answer.
//! - `notices`: notifications as parts of a subscription.

mod requests;
mod results;
mod discovery;
mod questions;
mod notices;

pub(crate) use discovery::{discovered, is_hidden, logs};
pub(crate) use notices::on_subscription;
pub(crate) use questions::{
    Answers, InputRequest, capability_for, declares, input_required, may_be_continued, url_requests,
};
pub(crate) use requests::{as_legacy, digest};
pub(crate) use results::{
    complete, may_have_execution, put_error_code, tool_without_execution, wants_url, without_execution,
};

#[cfg(test)]
mod tests;

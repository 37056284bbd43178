//! Transitions: aggregate.

mod budget;
mod delegates;
mod fetch;
mod lists;
mod opening;
mod prefetch;
mod requests;
mod unavailable;
mod words;

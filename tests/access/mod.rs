//! Access control: who may use what.
//!
//! # Layout
//! - `rights`: each kind of right on every route, in lists and in calls.
//! - `profiles`: profiles of the config, by name, and their changes.
//! - `admin`: what no client can do.

mod rights;
mod profiles;
mod admin;

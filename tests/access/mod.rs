//! Access control: who may use what.
//!
//! # Layout
//! - `rights`: each kind of right on every route, in lists and in calls.
//! - `profiles`: profiles of the config, by name, and their changes.
//! - `admin`: what no client can do.
//! - `pins`: changed tools are reported or held back. `definitions`: the changes.

mod rights;
mod profiles;
mod admin;
mod pins;
mod definitions;

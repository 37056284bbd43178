//! Workspaces: the one that a request belongs to. Pure values. Must not look at the disk: the gateway does that first.
//!
//! # Layout
//! - [`path`]: paths from URIs, normalised and compared, in each system's notation.
//! - [`paths`]: the paths and roots named in messages.
//! - [`decide`](decide()): the decision and its reason.

mod decide;
pub mod path;
pub mod paths;

pub use decide::{Decision, Known, NamedBy, NamedPath, Policy, Why, decide};

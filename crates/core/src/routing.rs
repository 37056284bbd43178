//! Workspaces: the one that a request belongs to. Pure values; the gateway looks at the disk before.
//!
//! # Layout
//! - [`path`]: paths out of URIs, cleaned and compared, as each system writes them.
//! - [`paths`]: the paths and roots that messages name.
//! - [`decide`](decide()): the decision and its reason.

mod decide;
pub mod path;
pub mod paths;

pub use decide::{Decision, Known, NamedBy, NamedPath, Policy, Why, decide};

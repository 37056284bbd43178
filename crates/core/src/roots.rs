//! Workspaces: which one a request belongs to. Pure; the file system is asked by others, before.
//!
//! - [`path`]: paths out of URIs, cleaned and compared, as each system writes them.
//! - [`decide`](decide()): the decision, and why.

mod decide;
pub mod path;

pub use decide::{Decision, Known, NamedBy, Place, Policy, Why, decide};

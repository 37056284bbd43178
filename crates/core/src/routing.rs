//! Workspaces: which one a request belongs to. Pure; the file system is asked by others, before.
//!
//! - [`path`]: paths out of URIs, cleaned and compared, as each system writes them.
//! - [`paths`]: the paths and roots that messages name.
//! - [`decide`](decide()): the decision, and why.

mod decide;
pub mod path;
pub mod paths;

pub use decide::{Decision, Known, NamedBy, NamedPath, Policy, Why, decide};

//! Access control: the identity of a client, its rights and its limits. Must not know what a
//! token looks like, transports, or where an identity comes from.
//!
//! # Layout
//! - `rights`: servers, items and methods that an identity may use.
//! - `rate`: limits on calls.
//! - `identity`: the party on whose behalf a client acts.
//! - `proof`: how a client proves its identity.

mod rights;
mod rate;
mod identity;
mod proof;

pub use identity::{Authenticator, Identity, NoTokens};
pub use proof::Proof;
pub(crate) use proof::{Standing, Unproven};
pub use rate::{CallLimits, Rate};
pub use rights::{Patterns, Rights};

//! Access control: the identity of a client, its rights and its limits. Must not know tokens, transports or
//! where an identity comes from.
//!
//! # Layout
//! - `rights`: servers, items and methods that an identity may use.
//! - `rate`: limits on calls.
//! - `identity`: the party on whose behalf a client acts.

mod rights;
mod rate;
mod identity;

pub use identity::{Authenticator, Identity, NoTokens};
pub use rate::{CallLimits, Rate};
pub use rights::{Patterns, Rights};

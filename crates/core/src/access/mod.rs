//! Access control: the identity of a client, its rights, its limits, and the record of its calls. Must not know
//! tokens, transports or where an identity comes from.
//!
//! # Layout
//! - `rights`: servers, items and methods that an identity may use.
//! - `rate`: limits on calls.
//! - `identity`: the party on whose behalf a client acts.
//! - `audit`: clients whose calls are recorded, and the record of a call.

mod rights;
mod rate;
mod identity;
mod audit;

pub use audit::{AuditPolicy, AuditedClients, Call, CallParams, ClientInfo, Front, Outcome};
pub use identity::{Authenticator, Identity, NoTokens};
pub use rate::{CallLimits, Rate};
pub use rights::{Patterns, Rights};

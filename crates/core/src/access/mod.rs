//! Access control: the identity of a client, its rights, its limits, the record of its calls, and what servers may
//! ask. Must not know what a token looks like, transports, or where an identity comes from.
//!
//! # Layout
//! - `rights`: servers, items and methods that an identity may use.
//! - `rate`: limits on calls.
//! - `identity`: the party on whose behalf a client acts.
//! - `limiter`: the question whether a call may be made now.
//! - `bucket`: the meter of a rate.
//! - `share`: a limit that several identities share.
//! - `fair`: the default limiter.
//! - `choice`: the choice of a limiter, as a setting.
//! - `refusals`: refused calls, counted.
//! - `asks`: requests that a server may send to its clients. `input_roots`: folders in the answers of modern clients.
//! - `proof`: how a client proves its identity.
//! - `audit`: clients whose calls are recorded, and the record of a call.

mod rights;
mod rate;
mod identity;
mod limiter;
mod bucket;
mod share;
mod fair;
mod choice;
mod refusals;
mod asks;
mod input_roots;
mod proof;
mod audit;

pub use asks::Asks;
pub use audit::{AuditPolicy, AuditedClients, Call, CallParams, ClientInfo, Front, Outcome};
pub use choice::NewLimiter;
pub use fair::FairLimiter;
pub use identity::{Authenticator, Identity, NoTokens};
pub(crate) use input_roots::replace_roots;
pub use limiter::{CallAttempt, CallLimiter, CallRefusal, ExceededLimit, LimitScope, Permit};
pub use proof::Proof;
pub(crate) use proof::{Standing, Unproven};
pub use rate::{CallLimits, IdentityLimits, Rate, ServerLimits};
pub(crate) use refusals::Refusals;
pub use rights::{Patterns, Rights};

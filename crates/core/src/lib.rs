//! Who gets which message. Pure: no clock, no files, no threads, no async; time is an argument.
//!
//! The gateway tells [`Core`] what happened ([`Event`]) and when ([`Moment`]), and does what it answers
//! ([`Action`]). A call cannot block and cannot fail. Because of that the whole gateway can be run in a
//! simulator (`crates/testkit`).
//!
//! # Layout
//! From the bottom; a module uses only those above it in this list.
//! - [`moment`]: time as a value. [`redact`]: removal of secrets from texts. [`text`]: nearest names, and percent-encoding.
//!   `ids`: numbers of clients, backends, servers.
//! - `messages`: messages that we originate ourselves, and comparisons of their parts.
//! - [`environment`]: variables that clients of one backend have in common.
//! - [`routing`]: the workspace that a request belongs to.
//! - [`catalogue`]: the tools, prompts and resources that servers offer, and several servers' as one.
//! - `record`: facts learnt about a launch. [`settings`]: policies and limits.
//! - `pending`: requests without an answer. `clients`, `aggregate`, `backends`, `servers`: the state of each.
//! - [`fact`]: facts for logs and metrics. [`event`]: events that come in and actions that follow.
//! - `core`: the core's state as a whole.
//! - `answers`: error answers. [`status`]: a snapshot for `switchboard status`.
//! - `transitions`: changes of the state, by cause.

#![forbid(unsafe_code)]

pub mod moment;
pub mod redact;
pub mod text;
mod ids;
mod messages;
pub mod environment;
pub mod routing;
pub mod catalogue;
mod record;
pub mod settings;
mod pending;
mod aggregate;
mod clients;
mod backends;
mod servers;
pub mod fact;
pub mod event;
mod core;
mod answers;
pub mod status;
mod transitions;

pub use self::core::Core;
pub use answers::NO_ROOT_HINT;
pub use environment::Environment;
pub use event::{About, Action, Event, MemberPath, StopHow, Surroundings};
pub use fact::{Fact, Outcome};
pub use ids::{BackendId, ClientId, Launch, Peer, Principal, ServerId};
pub use moment::Moment;
pub use record::{FramingChoice, Record, SeenOffers, Slow};
pub use servers::{Crowding, LastError, LastStart, Limit, StateHint, state_hint};
pub use settings::{
    Aggregates, Capabilities, Limits, OnTimeout, Pool, RetryAfterCrash, Roots, Scope, ScopeReason,
    ServerSettings, Settings, StatePolicy,
};
pub use transitions::{Change, Done, MEMORY_CHECK_INTERVAL, Order, StandbyState};

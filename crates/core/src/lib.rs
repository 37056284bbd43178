//! Message routing decisions. Pure: no clock, no files, no threads, no async; time is an argument. Must not
//! know how bytes travel or what a process is.
//!
//! The gateway tells [`Core`] what happened ([`Event`]) and when ([`Moment`]), and carries out the answer
//! ([`Action`]s). A call cannot block and cannot fail. So the whole gateway can run in a simulator
//! (`crates/testkit`).
//!
//! # Layout
//! Lowest layer first: a module uses only modules listed before it.
//! - [`moment`]: time as a value. [`text`]: dates, nearest names and percent-encoding. [`redact`]: removal of
//!   secrets from texts. `ids`: numbers of clients, backends, servers.
//! - `messages`: messages of our own, and comparison of message parts.
//! - `translation`: the other era of MCP, for one process.
//! - [`access`]: identities of clients, their rights and limits, and what servers may ask.
//! - [`environment`]: environment variables, compared between clients of one backend.
//! - [`routing`]: the workspace of a request.
//! - [`catalogue`]: tools, prompts and resources of servers, singly and merged.
//! - [`pins`]: approved definitions of tools.
//! - `record`: facts learnt about a launch. [`settings`]: policies and limits.
//! - `pending`: unanswered requests. `clients`, `aggregate`, `backends`, `servers`: the state of each.
//! - [`fact`]: facts for logs and metrics. [`event`]: incoming events and resulting actions.
//! - `core`: the whole state.
//! - `answers`: error answers. [`status`]: a snapshot for `switchboard status`.
//! - `transitions`: state changes, by cause.

#![forbid(unsafe_code)]

pub mod moment;
pub mod text;
pub mod redact;
mod ids;
mod messages;
mod translation;
pub mod access;
pub mod environment;
pub mod routing;
pub mod catalogue;
pub mod pins;
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
pub use access::Outcome;
pub use answers::NO_ROOT_HINT;
pub use backends::ProcessUsage;
pub use environment::Environment;
pub use event::{About, Action, Event, MemberPath, StopHow, Surroundings};
pub use fact::Fact;
pub use ids::{BackendId, ClientId, Launch, Peer, Principal, ServerId};
pub use moment::Moment;
pub use record::{FramingChoice, Record, SeenEra, SeenOffers, Slow};
pub use servers::{Crowding, LastError, LastStart, Limit, StateHint, state_hint};
pub use settings::{
    Aggregates, Capabilities, ClientEra, EraChoice, Limits, OnTimeout, Pool, RetryAfterCrash, Roots, Scope,
    ScopeReason, ServerSettings, Settings, StateKey, StatePolicy,
};
pub use transitions::{Change, Done, MEMORY_CHECK_INTERVAL, Order, StandbyState};

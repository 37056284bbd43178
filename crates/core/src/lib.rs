//! Who gets which message. Pure: no clock, no files, no threads, no async; time is an argument.
//!
//! The gateway tells [`Core`] what happened ([`Event`]) and when ([`Moment`]), and does what it answers
//! ([`Action`]). A call cannot block and cannot fail. Because of that the whole gateway can be run in a
//! simulator (`crates/testkit`).
//!
//! # Layout
//! - [`event`]: what comes in and what is to be done.
//! - [`fact`]: what happened that is worth seeing; logs and metrics are listeners of it.
//! - [`settings`]: policies and limits.
//! - [`moment`]: time as a value.
//! - [`redact`]: what must not be written down. [`text`]: nearest names, and percent-encoding.
//! - [`record`]: what is learnt about a launch, and when a server that was not ready is tried again.
//! - [`roots`]: which workspace a request belongs to. [`environment`]: which variables clients that share have in common.
//! - `client`, `backend`, `pending`, `batch`: the state, one file each. `key`: what makes two backends one.
//! - `progress`: progress notifications, and whose a token is.
//! - `from_client`, `notices`, `from_backend`, `life`, `deadlines`, `drain`: the transitions, by what causes them;
//!   `unfit`: processes whose handshake fails.
//! - `route`: which backend a message goes to; `joining`: which one a client shares; `workspace`: the clients' roots; `shared_roots`: clients that share a process
//!   have equal ones.
//! - [`catalogue`]: what servers offer, and how several look like one. `aggregate`: clients of many servers; `stored`: clients of
//!   one, answered while it starts; `filters`: what they may name and see.
//! - `pool`: how many backends run; `crowding`: backends that stop each other. `sharing`: who shares one, and whom its messages concern; `users`: the clients that have
//!   used one; `stateful`: servers that keep a client's state; `isolation`: clients that may no longer share; `tasks`:
//!   whose task it is.
//! - `restore`: what a new process must be told; `health`: signs of life, and memory.
//! - `leases`: clients come and go, and we with them; [`status`]: what there is; `orders`: what the owner says; `standby`: servers
//!   that run without a client;
//!   `change`: a new config.
//! - `debounce`: notifications in quick succession.
//! - `turns`: how many requests a backend works on at a time; `turned_away`: those that a daemon takes no more.
//! - `broken`: answers that are no valid messages, and the requests that they end; `allowance`: limits on a client's state.
//! - `answers`: the one place that turns causes into error answers.
//! - `last_words`: the output of a process that ended; `failure`: why a server failed last.
//! - `outgoing`: the one place through which messages leave, with the byte credits of the outboxes.

pub mod catalogue;
pub mod event;
pub mod fact;
pub mod settings;
pub mod moment;
pub mod redact;
pub mod text;
pub mod record;
pub mod environment;
pub mod roots;

mod aggregate;
mod stored;
mod filters;
mod key;
mod client;
mod backend;
mod pending;
mod progress;
mod batch;

mod greeting;
mod exchange;
mod from_client;
mod notices;
mod from_backend;
mod broken;
mod life;
mod unfit;
mod deadlines;
mod drain;
mod answers;
mod last_words;
mod failure;
mod route;
mod joining;
mod workspace;
mod shared_roots;
mod crowding;
mod pool;
mod users;
mod stateful;
mod sharing;
mod isolation;
mod tasks;
mod restore;
mod allowance;
mod health;
mod debounce;
mod leases;
pub mod status;
mod orders;
mod standby;
mod change;
mod turned_away;
mod turns;
mod outgoing;

pub use change::Change;
pub use crowding::{Crowding, Limit};
pub use environment::Environment;
pub use event::{
    About, Action, BackendId, ClientId, Event, Launch, Named, Peer, Principal, ServerId, StopHow,
    Surroundings,
};
pub use exchange::Core;
pub use fact::{Fact, Outcome};
pub use failure::{Failure, LastError};
pub use health::MEASURE_OFTEN;
pub use moment::Moment;
pub use orders::{Done, Order};
pub use record::{Record, SeenOffers, Slow};
pub use settings::{
    Aggregates, Capabilities, FramingChoice, Limits, OnTimeout, Pool, RetryAfterCrash, Roots, Scope,
    ScopeReason, ServerSettings, Settings, State,
};
pub use standby::StandbyState;
pub use stateful::{StateHint, state_hint};

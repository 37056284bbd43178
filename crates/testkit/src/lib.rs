//! What the tests of the other crates, and those of the whole program, stand on.
//!
//! # Layout
//! - [`simulator`]: the core among seeded random clients and backends, with its invariants.
//! - [`client`]: a scripted client that starts the real program and speaks to it over pipes.
//! - [`record`]: what the fake backend (`src/fake`, the binary `fake-backend`) was told, byte for byte.
//! - [`scratch`]: a folder that goes with its test. [`pids`]: processes by their numbers.
//! - [`patience`]: waiting for a fact, with a limit that only fails.

pub mod simulator;

pub mod client;
pub mod record;
pub mod scratch;
pub mod pids;
pub mod patience;

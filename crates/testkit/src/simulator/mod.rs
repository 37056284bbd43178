//! Simulations of the real core, in virtual time: one engine, four scenarios. Runs are seeded; a failing one is shrunk
//! and told as a story.
//!
//! # Layout
//! - `engine`: the world, its clock, the ledger, shrinking.
//! - [`connection`]: clients with one backend each; messages compared to the byte.
//! - [`pool`]: workspaces, sharing and budgets; many clients, few backends.
//! - [`aggregate`]: many servers as one; lists, names, and routes.
//! - [`eras`]: clients and servers of the modern era beside legacy ones.

mod engine;
pub mod connection;
pub mod pool;
pub mod aggregate;
pub mod eras;

pub use engine::{Failure, Flaw, Stats};

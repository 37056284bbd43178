//! Access control, end to end.
//!
//! - `audit`: the record of calls.
//! - `secrets`: values that no output shows.

mod audit;
mod secrets;

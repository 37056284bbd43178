//! Transitions: backends.

mod broken;
mod failure;
mod from_backend;
mod health;
mod life;
mod progress;
mod record;
mod restore;
mod turned_away;
mod turns;
mod unfit;

pub use health::MEASURE_OFTEN;

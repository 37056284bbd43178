//! Pool: number and lifetime of instances (cap, idle time, memory, health).
//!
//! - `census`: repeated counts of a server's processes.
//! - `cap`: the limit of instances. `crowding`: instances that stop each other. `memory`, `health`, `idle`,
//!   `state`: when an instance is stopped, and when not.
//! - `rounds`: many roots for a minute. `debounce`, `ignored`: notifications, and folders to leave out.

#[cfg(target_os = "linux")]
pub(crate) mod census;

#[cfg(target_os = "linux")]
mod cap;
#[cfg(target_os = "linux")]
mod crowding;
#[cfg(target_os = "linux")]
mod rounds;
#[cfg(target_os = "linux")]
mod memory;
mod idle;
mod state;
mod health;
mod debounce;
mod ignored;

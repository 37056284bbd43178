//! How many instances run, and for how long: the cap, the idle time, the memory, the health.
//!
//! - `census`: a count of a server's processes, taken again and again.
//! - `cap`: never more than may be. `crowding`: instances that stop each other. `memory`, `health`, `idle`, `state`: when an instance is stopped, and when not.
//! - `rounds`: many roots, for a minute. `debounce`, `ignored`: notifications, and folders to leave out.

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

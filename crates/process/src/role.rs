//! The helper processes that outlive the main process: one **warden** for all backends, and one **guard** for
//! each. Both are single-threaded and do not use tokio; only this folder may fork, or wait for arbitrary
//! children. The identifier `us` means the main process.
//!
//! # Layout
//! - `fork`: forks, and settings of a forked process.
//! - `watch`: the events that wake a guard or a warden.
//! - `kill`: the killing of all children of a process, including those that appear meanwhile.
//! - `phase`: the steps of ending a tree, as a pure state machine.
//! - `start`: the start of a program as the guard's child; `namespace`: the same in a PID namespace (`guard: strict`).
//! - `started`: a started tree and its record.
//! - `guard`: the main loop of a guard.
//! - `warden`: the main loop of the warden, which forks guards and kills what a dead guard leaves behind.

mod fork;
mod watch;
mod kill;
mod phase;
mod start;
#[cfg(target_os = "linux")]
mod namespace;
mod started;
mod guard;
mod warden;

use crate::core_dumps;
#[cfg(target_os = "linux")]
use crate::wire::PROBE_ROLE;
use crate::wire::{VERSION, WARDEN_ROLE};
use std::ffi::OsString;
use std::path::PathBuf;

/// Turns this process into a warden if it was started as one. Must be called first, while there is only one thread.
pub(crate) fn take_role() {
    let mut words = std::env::args_os();
    let role = words.next();
    if role.as_deref() == Some(WARDEN_ROLE.as_ref()) {
        // A guard's memory contains the environment of its server.
        core_dumps::disable();
        let us =
            words.next().and_then(|pid| pid.to_str()?.parse().ok()).and_then(rustix::process::Pid::from_raw);
        let run_file = words.next().filter(|path: &OsString| !path.is_empty()).map(PathBuf::from);
        // If the program was started from a path, another release may lie there by now, with another wire format.
        let is_of_one_piece = words.next().as_deref() == Some(VERSION.as_ref());
        std::process::exit(match us {
            Some(us) if is_of_one_piece => warden::run(us, run_file),
            _ => 2,
        });
    }
    #[cfg(target_os = "linux")]
    if role.as_deref() == Some(PROBE_ROLE.as_ref()) {
        std::process::exit(namespace::probe());
    }
}

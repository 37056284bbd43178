//! The processes that run beside us and are still there when we are not: one **warden** for all backends, and one
//! **guard** for each. Both are single-threaded and know nothing of tokio: only here may code fork, or wait for any child
//! whatsoever.
//!
//! # Layout
//! - `fork`: forks, and settings of a forked process.
//! - `watch`: the events that wake a guard or a warden.
//! - `kill`: every child of a process killed, also those that come meanwhile.
//! - `phase`: the steps to a tree's end, as a pure state machine.
//! - `start`: a program started as the guard's own child; `namespace`: the same in a PID namespace (`guard: strict`).
//! - `started`: a tree that was started, and its record.
//! - `guard`: the life of a guard.
//! - `warden`: the life of the warden, which forks guards and kills what one of them leaves when it dies.

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

#[cfg(target_os = "linux")]
use crate::wire::PROBE_ROLE;
use crate::wire::{VERSION, WARDEN_ROLE};
use std::ffi::OsString;
use std::path::PathBuf;

/// Becomes a warden, if that is what this process was started as. To be called before anything else, while
/// there is one thread.
pub(crate) fn take_role() {
    let mut words = std::env::args_os();
    let role = words.next();
    if role.as_deref() == Some(WARDEN_ROLE.as_ref()) {
        let us =
            words.next().and_then(|pid| pid.to_str()?.parse().ok()).and_then(rustix::process::Pid::from_raw);
        let run_file = words.next().filter(|path: &OsString| !path.is_empty()).map(PathBuf::from);
        // Where we are started from a path, another release may lie there by now, and speak otherwise.
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

//! What runs beside us in processes of its own, so that it is still there when we are not: one **warden** for
//! all backends, and one **guard** for each. Both are single-threaded and know nothing of tokio: here alone may
//! anyone fork, or wait for whichever child comes.
//!
//! # Layout
//! - [`wire`]: what we and a guard say to each other; [`phase`]: how a tree is brought to its end.
//! - `warden`: forks guards on request, and kills whatever is left when one of them dies.
//! - `tree`: the guard itself; `start`: how it starts its program; `namespace`: `guard: strict`.
//! - `cgroup`: a group that the kernel kills as a whole. `watch_*`: what wakes both. `fork`, `post`: fork, and
//!   descriptors through sockets.

#[cfg(target_os = "linux")]
pub(crate) mod cgroup;
mod fork;
#[cfg(target_os = "linux")]
pub(crate) mod namespace;
pub(crate) mod phase;
pub(crate) mod post;
mod start;
mod tree;
mod warden;
#[cfg_attr(target_os = "linux", path = "guard/watch_linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "guard/watch_macos.rs")]
mod watch;
pub(crate) mod wire;

pub(crate) use tree::OURS;

use std::ffi::{CStr, OsString};
use std::path::PathBuf;

/// Names by which the processes are known, and not as `switchboard`: who kills all of that name leaves those
/// that clean up.
pub(crate) const WARDEN: &str = "sb-warden";
#[cfg(target_os = "linux")]
pub(crate) const PROBE: &str = "sb-probe";
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
const WARDEN_NAME: &CStr = c"sb-warden";
const GUARD_NAME: &CStr = c"sb-guard";

/// What wakes a guard or a warden, besides the passing of time.
pub(crate) struct Woken {
    pub(crate) us_gone: bool,
    /// Which of the two descriptors have something, be it the end.
    pub(crate) readable: [bool; 2],
    /// Someone sent us SIGTERM or the like.
    pub(crate) asked_to_end: bool,
}

/// Becomes a warden, if that is what this process was started as. To be called before anything else, while
/// there is one thread.
pub(crate) fn take_role() {
    let mut words = std::env::args_os();
    let role = words.next();
    if role.as_deref() == Some(WARDEN.as_ref()) {
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
    if role.as_deref() == Some(PROBE.as_ref()) {
        std::process::exit(namespace::probe());
    }
}

fn call_ourselves(name: &CStr) {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(name);
    #[cfg(not(target_os = "linux"))]
    let _ = name;
}

/// Orphans below us become our children, and not those of the first process of all.
fn take_in_orphans() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

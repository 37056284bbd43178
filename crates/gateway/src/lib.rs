//! The I/O around the core: config, fronts, backends, daemon, telemetry.
//!
//! # Layout
//! Layers, from the bottom; a module uses only those above its own line.
//! - `hex`: bytes as text. `command_line`: the runner and the package of a server's command line.
//! - [`presets`]: servers known by name: a table, and code that locates their programs.
//! - [`config`]: the config file, from text to checked values.
//! - [`secrets`]: values that no text may show.
//! - [`telemetry`]: the log and the audit.
//! - [`paths`]: paths that messages and the environment name, looked up on disk.
//! - `known`: packages with known state and scope; `scope`: the scope of a server
//!   whose config leaves it open.
//! - `stored_file`: files that are replaced atomically; [`tokens`]: tokens of clients; `launches`: stored records
//!   of launches; `catalogue`: stored lists of servers; [`pins`]: approved definitions of tools; `stores`: all of
//!   these; `doubtful`: servers whose lists hint at client state.
//! - `profiles`: names of profiles; `environments`: variables of clients; `settings`: settings of the core, from
//!   the config; `collisions`:
//!   colliding names in stored lists; [`explain`]: the routing decision for one request.
//! - `io`: reading and writing of messages, tasks; `keeping`: background writes of stored files.
//! - `hub`: the core behind its lock.
//! - `backends`: processes and remote servers.
//! - [`fronts`]: clients over stdio, HTTP and the local socket.
//! - `daemon`: the user's one daemon: its clients, servers and config.
//! - `attach`: a client's connection to the daemon.
//! - [`runtime`]: modes of operation, each with its tasks.
//!
//! Must not decide anything about messages: the core does.

#![forbid(unsafe_code)]

mod hex;
mod command_line;
pub mod presets;
pub mod config;
pub mod secrets;
pub mod telemetry;
pub mod paths;
mod known;
mod scope;
mod stored_file;
pub mod tokens;
mod launches;
mod catalogue;
pub mod pins;
mod stores;
mod doubtful;
mod profiles;
mod environments;
mod settings;
mod collisions;
pub mod explain;
mod io;
mod keeping;
mod hub;
mod backends;
pub mod fronts;
mod daemon;
mod attach;
pub mod runtime;

use std::io::Write as _;

pub use attach::link::DaemonCommand;
pub use backends::examine::{Examined, examine};
pub use backends::launch::Unready;
pub use collisions::known_collisions;
pub use daemon::control;
pub use daemon::reload::{Overrides, Source};
pub use doubtful::doubtful_servers;
pub use fronts::local::hello::AdHoc;
pub use io::task;
pub use profiles::unknown_profile;
pub use settings::RootOptions;
pub use switchboard_core::access;
pub use switchboard_core::catalogue::{decode_resource, decode_template};
pub use switchboard_core::text::nearest::nearest_name;
pub use switchboard_core::{Moment, Principal};
pub use switchboard_process::alive::is_alive;
pub use switchboard_process::child::Ended;
pub use switchboard_process::local::Address;
pub use switchboard_process::private::new_folder as make_private_folder;
pub use switchboard_process::room::{for_many as allow_many_files, for_ourselves as check_room};
pub use switchboard_process::signals::Signals;
pub use switchboard_process::stdio::{OwnStdio, take as take_stdio};
pub use switchboard_process::warden::{Layer, LayerState, Layers};

/// To be called first in `main`, before any thread exists. Does not return in guard processes.
pub fn prepare_process() {
    switchboard_process::take_role();
    switchboard_process::core_dumps::disable();
    switchboard_process::parent::Parent::remember();
    switchboard_process::memory::allocator_gives_back();
    end_on_panic();
}

/// State folder for users without a home: a private folder in the shared temporary folder. If its name is
/// taken by someone else, a random name, which the next run will not find.
pub fn temporary_state_folder() -> std::path::PathBuf {
    switchboard_process::private::temporary("switchboard").unwrap_or_else(|_| {
        let chance = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), std::process::id());
        std::env::temp_dir().join(format!("switchboard-{chance:016x}"))
    })
}

/// Removes all stored facts about a server: its lists, the approved definitions of its tools, and the record of its launch.
pub fn forget(server: &config::ServerConfig, state_folder: &std::path::Path) -> std::io::Result<()> {
    stores::Stores::new(state_folder).forget(server)
}

/// Layers that keep processes from outliving us on this machine.
pub fn layers(state_folder: &std::path::Path) -> Layers {
    Layers::probe(backends::launch::warden_options(state_folder, true))
}

/// Ends the process on a panic: a panic is a bug, and continuing would mean continuing with inconsistent
/// state. Guards end the servers' processes, and clients start us again.
fn end_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        let backtrace = std::backtrace::Backtrace::capture();
        let stack = match backtrace.status() {
            std::backtrace::BacktraceStatus::Captured => format!("{backtrace}"),
            _ => String::new(),
        };
        // The message first, since nothing runs after the abort. A failed write cannot be reported.
        let _ = std::io::stderr().write_all((secrets::panic_text(panic) + &stack).as_bytes());
        std::process::abort();
    }));
}

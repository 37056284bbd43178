//! The I/O around core: fronts, backends, config, telemetry.
//!
//! # Layout
//! Layers, from the bottom; a module uses only those above its own line.
//! - `hex`: bytes as text. `command_line`: the runner and the package that a server's command line starts.
//! - [`presets`]: servers known by name: a table, and code that finds their entry points.
//! - [`config`]: the config file, from text to checked values.
//! - [`telemetry`]: listeners of facts: the log.
//! - [`paths`]: paths that messages and the environment name, looked up on disk.
//! - `known`: packages whose state and scope are known; `scope`: the scope of a server whose config leaves it open.
//! - `stored_file`: files that are replaced whole; `launches`: what was learnt about each launch; `catalogue`: lists of
//!   servers, stored on disk; `doubtful`: servers whose lists hint at client state.
//! - `environments`: variables that clients bring along; `settings`: settings of the core, from the config;
//!   `collisions`: names in stored lists that collide; [`explain`]: the routing decision of one request.
//! - `io`: reading and writing of messages, tasks; `keeping`: writes what is stored, aside.
//! - `hub`: the core behind its lock.
//! - `backends`: processes and remote servers.
//! - [`fronts`]: clients over stdio, HTTP and the local socket.
//! - `daemon`: the user's one daemon: its clients, its servers, its config.
//! - `attach`: a client's way to the daemon.
//! - [`runtime`]: ways to run all of this, each with its tasks.
//!
//! This crate decides nothing about messages: that is `core`'s.

#![forbid(unsafe_code)]

mod hex;
mod command_line;
pub mod presets;
pub mod config;
pub mod telemetry;
pub mod paths;
mod known;
mod scope;
mod stored_file;
mod launches;
mod catalogue;
mod doubtful;
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

pub use attach::link::DaemonCommand;
pub use backends::examine::{Examined, examine};
pub use backends::launch::Unready;
pub use collisions::known_collisions;
pub use daemon::control;
pub use daemon::reload::{Overrides, Source};
pub use doubtful::doubtful_servers;
pub use fronts::local::hello::AdHoc;
pub use io::task;
pub use settings::RootOptions;
pub use switchboard_core::catalogue::{decode_resource, decode_template};
pub use switchboard_core::text::nearest::nearest_name;
pub use switchboard_process::alive::is_alive;
pub use switchboard_process::child::Ended;
pub use switchboard_process::local::Address;
pub use switchboard_process::private::new_folder as make_private_folder;
pub use switchboard_process::room::{for_many as allow_many_files, for_ourselves as check_room};
pub use switchboard_process::signals::Signals;
pub use switchboard_process::stdio::{OwnStdio, take as take_stdio};
pub use switchboard_process::warden::{Layer, LayerState, Layers};

/// To be called first in `main`, before there is a thread. Does not return in the processes that guard others.
pub fn prepare_process() {
    switchboard_process::take_role();
    switchboard_process::parent::Parent::remember();
    switchboard_process::memory::allocator_gives_back();
    end_on_panic();
}

/// Where state goes that has no home: a folder among all users' temporary files that is this user's alone. If
/// somebody else has taken its name, one that nobody can have guessed, and that nobody will find again.
pub fn temporary_state_folder() -> std::path::PathBuf {
    switchboard_process::private::temporary("switchboard").unwrap_or_else(|_| {
        let chance = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), std::process::id());
        std::env::temp_dir().join(format!("switchboard-{chance:016x}"))
    })
}

/// Removes what is stored about a server: its lists, and what was learnt about its launch.
pub fn forget(server: &config::ServerConfig, state_folder: &std::path::Path) -> std::io::Result<()> {
    catalogue::Shelf::new(state_folder).forget(server);
    launches::Launches::new(state_folder).forget(server)
}

/// What keeps processes from outliving us on this machine.
pub fn layers(state_folder: &std::path::Path) -> Layers {
    Layers::probe(backends::launch::warden_options(state_folder, true))
}

/// A panic is a fault of ours, and whoever went on after it would go on with half of the truth. Everybody's
/// processes are cleared away by their guards; a client starts us anew.
fn end_on_panic() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::abort();
    }));
}

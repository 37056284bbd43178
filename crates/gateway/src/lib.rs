//! The I/O around core: fronts, backends, config, telemetry.
//!
//! # Layout, from the outside in
//! - `command_line`: the runner and the package that a server's command line starts.
//! - [`presets`]: servers known by name: a table, and code that finds their entry points.
//! - [`config`]: the config file, from text to checked values.
//! - [`solo`]: one client and its backend in one process; wires everything below together.
//! - [`refusing`]: one client, and nothing to serve: each request is answered with the reason.
//! - [`raw`]: no message is read: the launcher, which only governs the process.
//! - [`peer`]: the other way round: a client of a program that we start, for the demo.
//! - [`daemon`]: all windows' clients, and one set of backends; [`attach`]: a client's way to it, by `link`; `sweeps`: what it
//!   does for one that was killed; `hello`: their
//!   first words; [`control`]: questions and orders; `register`: the servers that there are; `reload`: a changed config;
//!   `environments`: what clients bring along; `place`: whether there is room for one more client.
//! - `handed`: a client whose own streams are handed to whoever serves it.
//! - [`paths`]: paths that messages and the environment name, looked up on disk.
//! - [`explain`]: the workspace that a request would be routed to, and why.
//! - `fronts`: the code that talks to clients.
//! - `backends`: the code that talks to servers.
//! - `stored_file`: files that are replaced whole; `hex`: bytes as text.
//! - `launches`: records of launches, stored between runs; `catalogue`: catalogues of servers, stored between runs; `keeping`:
//!   background writes of both.
//! - `collisions`: equal names in the stored catalogues; `doubtful`: servers in them that may keep client state.
//! - `known`: packages whose state and use of the folder we know; `scope`: the scope of a server whose config leaves it open.
//! - `intake`: reading, for both.
//! - `outbox`: writing, for both; `mailbox`: the same where there is no stream to write to.
//! - `spare`: a large buffer, kept for the next large message; `prepared`: long lists, sent without a copy.
//! - [`task`]: starts what runs side by side.
//! - `hub`: the core under its lock, and the hands that do what it says.
//! - [`telemetry`]: the log, made of facts.
//!
//! This crate decides nothing about messages: that is `core`'s.

mod command_line;
pub mod presets;
pub mod config;
pub mod solo;
pub mod refusing;
pub mod raw;
pub mod peer;
pub mod paths;
pub mod explain;
pub mod fronts;
mod backends;
mod intake;
mod catalogue;
mod collisions;
mod doubtful;
mod hex;
mod keeping;
mod launches;
mod stored_file;
mod known;
mod scope;
mod hello;
mod sweeps;
mod link;
mod handed;
pub mod attach;
pub mod daemon;
pub mod control;
mod place;
mod environments;
mod register;
mod reload;
pub mod wiring;
mod outbox;
mod mailbox;
mod prepared;
mod spare;
pub mod task;
mod hub;
pub mod telemetry;

pub use backends::launch::{Examined, Unready, examine};
pub use collisions::known_collisions;
pub use doubtful::doubtful_servers;
pub use hello::AdHoc;
pub use link::DaemonCommand;
pub use reload::{Overrides, Source};
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
    switchboard_process::parent::Parent::note();
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

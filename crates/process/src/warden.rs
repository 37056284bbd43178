//! Starts processes, and makes sure that none of them outlives us, whatever kills whom. Must not know what they are for.
//!
//! On Unix most of that work is done by processes of its own (see `role`); on Windows by job objects, which the system
//! closes for us. A layer of protection that a machine does not offer is reported, and the others stay in use.

#[cfg(unix)]
#[path = "warden/unix.rs"]
mod os;
#[cfg(windows)]
#[path = "warden/windows.rs"]
mod os;

use crate::child::{Launch, SpawnError, Spawned};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use crate::runs::Swept;

/// How strongly a tree is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GuardMode {
    /// With everything that does not change how a program sees the world.
    #[default]
    Auto,
    /// In a PID namespace too, where the system allows it.
    Strict,
    /// A process group, and nothing that lives on when we are killed.
    Off,
}

/// How a guard treats one tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GuardOptions {
    pub mode: GuardMode,
    /// Names of processes that are left alone when the tree is ended.
    pub keep: Vec<String>,
    /// How long those have that a program leaves behind when it ends by itself.
    pub grace: Duration,
}

/// What a warden needs to know of its surroundings.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where the runs of this user are recorded; nowhere, if it is not given.
    pub runs: Option<PathBuf>,
    /// Whether a server is to be guarded strictly, so that it is worth to find out whether that is possible.
    pub wants_strict: bool,
}

/// Starts processes. There is one per process of ours.
pub struct Warden(os::OsWarden);

impl Warden {
    /// Never fails: what is not possible is told by [`layers`](Self::layers). Must be called in the context of a
    /// tokio runtime.
    pub fn start(options: Options) -> Self {
        Self(os::OsWarden::start(options))
    }

    /// What protects the processes started here, and what does not, and why.
    pub fn layers(&self) -> Layers {
        self.0.layers()
    }

    /// Whether it turned out, after the start, that guards do not work on this machine.
    pub fn has_failed(&self) -> bool {
        self.0.has_failed()
    }

    /// Starts a program with pipes. Returns once it runs, or could not be started.
    pub async fn spawn(&self, launch: &Launch, guard: &GuardOptions) -> Result<Spawned, SpawnError> {
        self.0.spawn(launch, guard).await
    }

    /// Waits until all is over that watches over processes, which takes as long as the last of them lives. To be
    /// called at the end, so that nothing of ours is left to be taken off the system's table by others.
    pub async fn close(&self) {
        self.0.close().await;
    }

    /// Ends what earlier runs left that were killed as a whole, they and all that watched over them.
    pub async fn sweep(&self) -> Vec<Swept> {
        self.0.sweep().await
    }
}

/// Another process of ours that starts processes, seen by one that it serves. Should it be killed with all that watches
/// over those, nobody else is left to end them.
pub struct Witness(os::OsWitness);

impl Witness {
    /// Of this process, which must be there; `runs` as in [`Options`]. Must be called in the context of a tokio runtime.
    pub fn of(process: u32, runs: PathBuf) -> Self {
        Self(os::OsWitness::of(process, runs))
    }

    /// Waits for its end.
    pub async fn ended(&mut self) {
        self.0.ended().await;
    }

    /// Ends what it has left, unless others do: its guards, or another witness.
    pub async fn sweep(self) -> Vec<Swept> {
        self.0.sweep().await
    }
}

/// The layers that keep processes from outliving us.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layers(pub Vec<Layer>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub name: &'static str,
    pub state: LayerState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerState {
    Active,
    /// There if a server asks for it.
    OnRequest,
    /// Why it is not there, as on many machines.
    Absent(String),
    /// Why it is not there, though it should be.
    Missing(String),
}

impl Layers {
    /// What would protect processes here, without starting any that stay.
    pub fn probe(options: Options) -> Self {
        os::OsWarden::probe(options)
    }

    /// Whether something is not as it should be.
    pub fn are_wanting(&self) -> bool {
        self.0.iter().any(|layer| matches!(layer.state, LayerState::Missing(_)))
    }
}

/// On one line.
impl fmt::Display for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for Layer { name, state } in &self.0 {
            write!(f, "{separator}{name}: ")?;
            match state {
                LayerState::Active => write!(f, "active")?,
                LayerState::OnRequest => write!(f, "on request")?,
                LayerState::Absent(why) | LayerState::Missing(why) => write!(f, "not active ({why})")?,
            }
            separator = "; ";
        }
        Ok(())
    }
}

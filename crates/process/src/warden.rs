//! The start of processes that cannot outlive us, whatever is killed. Must not know what the processes are for.
//!
//! On Unix, separate helper processes do most of the work (see `role`); on Windows, job objects that the
//! system closes for us. A layer of protection that the machine lacks is reported, and the others stay in use.

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

/// Strength of the protection of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GuardMode {
    /// Everything that does not change how a program sees the system.
    #[default]
    Auto,
    /// Also in a PID namespace, where the system allows it.
    Strict,
    /// A process group only; no protection if we are killed.
    Off,
}

/// How a guard treats one tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GuardOptions {
    pub mode: GuardMode,
    /// Names of processes that survive the end of the tree.
    pub keep: Vec<String>,
    /// Bytes that the tree may use at all, so that it cannot exhaust the machine before it is measured again. Only
    /// where the system enforces it for a whole tree: on Windows.
    pub memory: Option<u64>,
    /// Grace period for processes left behind by a program that ended by itself.
    pub grace: Duration,
}

/// Settings of a warden.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Folder for the records of this user's runs; `None` disables the records.
    pub runs: Option<PathBuf>,
    /// Whether some server wants strict guarding, so that its availability is worth a probe.
    pub wants_strict: bool,
}

/// Starts processes. One instance per process of ours.
pub struct Warden(os::OsWarden);

impl Warden {
    /// Never fails: [`layers`](Self::layers) reports what is not available. Must be called in the context of
    /// a tokio runtime.
    pub fn start(options: Options) -> Self {
        Self(os::OsWarden::start(options))
    }

    /// The layers of protection, and the reasons for missing ones.
    pub fn layers(&self) -> Layers {
        self.0.layers()
    }

    /// Whether guards turned out, after the start, not to work on this machine.
    pub fn has_failed(&self) -> bool {
        self.0.has_failed()
    }

    /// Starts a program with pipes. Returns once it runs or has failed to start.
    pub async fn spawn(&self, launch: &Launch, guard: &GuardOptions) -> Result<Spawned, SpawnError> {
        self.0.spawn(launch, guard).await
    }

    /// Waits for the end of all helper processes, which takes as long as the last guarded process lives.
    /// Called at the end, so that no zombie of ours is left for others to reap.
    pub async fn close(&self) {
        self.0.close().await;
    }

    /// Kills what is left of earlier runs whose processes, including their guards, were all killed.
    pub async fn sweep(&self) -> Vec<Swept> {
        self.0.sweep().await
    }
}

/// Watches another process of ours that starts processes, on behalf of a client of it. If that process is
/// killed together with its guards, only a witness is left to clean up.
pub struct Witness(os::OsWitness);

impl Witness {
    /// Watches this process, which must exist; `runs` as in [`Options`]. Must be called in the context of a
    /// tokio runtime.
    pub fn of(process: u32, runs: PathBuf) -> Self {
        Self(os::OsWitness::of(process, runs))
    }

    /// Waits for its end.
    pub async fn ended(&mut self) {
        self.0.ended().await;
    }

    /// Kills what it has left behind, unless its guards or another witness do.
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
    /// Available if a server asks for it.
    OnRequest,
    /// Not available, as on many machines; with the reason.
    Absent(String),
    /// Not available although it should be; with the reason.
    Missing(String),
}

impl Layers {
    /// The layers that would be available here, without starting a process that stays.
    pub fn probe(options: Options) -> Self {
        os::OsWarden::probe(options)
    }

    /// Whether a layer is missing that should be there.
    pub fn are_wanting(&self) -> bool {
        self.0.iter().any(|layer| matches!(layer.state, LayerState::Missing(_)))
    }
}

/// All layers on one line.
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

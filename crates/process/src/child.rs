//! A child process with its three pipes: started, waited for, stopped together with all it started. Must not
//! know what it is for.
//!
//! Started without more ado, a child has a process group and no guard: [`Warden`](crate::warden::Warden) is who
//! starts those that must not outlive us.

mod error;
mod resolve;

#[cfg(unix)]
#[path = "child/unix.rs"]
pub(crate) mod os;
#[cfg(windows)]
#[path = "child/windows.rs"]
pub(crate) mod os;

use crate::pipe::{ByteReader, ByteWriter};
use crate::tree::Tree;
use std::{
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
    time::Duration,
};

pub use error::SpawnError;
pub use resolve::resolve;

/// What is to be started. Nothing else of ours reaches the child: neither environment nor descriptors.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Launch {
    pub program: OsString,
    pub args: Vec<OsString>,
    /// The whole environment; of two values for one name the later one counts.
    pub env: Vec<(OsString, OsString)>,
    /// Ours, if there is none.
    pub cwd: Option<PathBuf>,
}

impl Launch {
    /// Which file would be run.
    pub fn resolve(&self) -> Result<PathBuf, SpawnError> {
        resolve(&self.program, self.path_var(), self.cwd.as_deref())
    }

    /// The PATH that the program is looked for in: the child's, not ours.
    fn path_var(&self) -> Option<&OsStr> {
        self.env.iter().rev().find(|(name, _)| os::is_path_var(name)).map(|(_, value)| value.as_os_str())
    }
}

/// Without the environment's values: they are where secrets are kept.
impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("Launch")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &names)
            .field("cwd", &self.cwd)
            .finish()
    }
}

/// A child that runs, and our ends of its pipes. A pattern that leaves out `child` drops and so kills it.
pub struct Spawned {
    pub child: Child,
    pub stdin: ByteWriter,
    pub stdout: ByteReader,
    pub stderr: ByteReader,
}

/// Starts a process in a group of its own, without a guard. Returns once the program runs, or could not be started: about a
/// millisecond. Must be called in the context of a tokio runtime.
pub fn spawn(launch: &Launch) -> Result<Spawned, SpawnError> {
    os::spawn(launch)
}

/// A started process and all that belongs to it: below a guard the whole tree, else the group it leads. Dropping
/// it kills them and leaves no zombie.
pub struct Child(os::OsChild);

impl Child {
    /// The process id. Without a guard it is not reused by the system before this value is dropped or has been
    /// stopped.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// What belongs to it, for others to look at.
    pub fn tree(&self) -> Tree {
        Tree(self.0.tree())
    }

    /// Waits until the process itself has ended, and may be asked again. Others may live on: a guard tells them to
    /// end, [`stop`](Self::stop) or a drop ends them too. Cancel-safe.
    pub async fn wait(&mut self) -> Ended {
        self.0.wait().await
    }

    /// Ends them all, politely at first. The caller has closed the child's stdin by dropping the writer, which is
    /// the request to end; after `grace` follows SIGTERM, after `grace` again SIGKILL. Whatever is left when the
    /// process itself has ended gets SIGTERM and then SIGKILL from a guard, and SIGKILL without one.
    ///
    /// A future that is dropped half way leaves a child that can be stopped again.
    pub async fn stop(&mut self, grace: Duration) -> Stopped {
        self.0.stop(grace).await
    }

    /// The same without the first wait: SIGTERM at once, after `grace` SIGKILL. For a child that was asked to
    /// end before, when there is no more time.
    pub async fn terminate(&mut self, grace: Duration) -> Stopped {
        self.0.terminate(grace).await
    }

    /// SIGKILL to all, at once. The child is still to be waited for.
    pub fn kill_now(&mut self) {
        self.0.kill_now();
    }

    /// Waits until nothing is left of a child that has ended, or is about to. Cancel-safe.
    pub async fn gone(&mut self) -> Remains {
        self.0.gone().await
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Exited(i32),
    Signalled(i32),
    /// It is gone, or cannot be brought to an end, and the system does not tell how.
    Unknown,
}

impl Ended {
    /// Whether the process says that all went well.
    pub fn success(self) -> bool {
        self == Self::Exited(0)
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signalled(signal) => match os::signal_name(*signal) {
                Some(name) => write!(f, "signal {signal} ({name})"),
                None => write!(f, "signal {signal}"),
            },
            Self::Unknown => write!(f, "an unknown end"),
        }
    }
}

/// What outlived a process that we had started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remains {
    /// The names of those that had to be ended.
    pub ended: Vec<String>,
    /// How many could not be ended: they are another user's, or hang in the kernel.
    pub left: u32,
}

/// The outcome of [`Child::stop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    pub ended: Ended,
    pub how: StoppedBy,
}

/// What it took to end a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppedBy {
    /// It went by itself when its stdin was closed, or had gone before.
    Eof,
    Term,
    Kill,
}

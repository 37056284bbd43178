//! A child process with its three pipes: start, wait, and stop together with all its descendants. Must not
//! know what the child is for.
//!
//! A child started here directly has a process group and no guard; [`Warden`](crate::warden::Warden) starts
//! those that must not outlive us.

mod error;
#[cfg(any(windows, test))]
mod invocation;
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

/// Description of a process to start. The child gets nothing else from us: neither environment nor descriptors.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Launch {
    pub program: OsString,
    pub args: Vec<OsString>,
    /// The whole environment; the last value of a name counts.
    pub env: Vec<(OsString, OsString)>,
    /// Our own folder if `None`.
    pub cwd: Option<PathBuf>,
}

impl Launch {
    /// The file that would be run.
    pub fn resolve(&self) -> Result<PathBuf, SpawnError> {
        resolve(&self.program, self.path_var(), self.cwd.as_deref())
    }

    /// The PATH in which the program is searched: the child's, not ours.
    fn path_var(&self) -> Option<&OsStr> {
        self.env.iter().rev().find(|(name, _)| os::is_path_var(name)).map(|(_, value)| value.as_os_str())
    }
}

/// Omits the values of the environment, which may be secrets.
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

/// A running child with our ends of its pipes. A pattern that leaves out `child` drops it, and so kills the process.
pub struct Spawned {
    pub child: Child,
    pub stdin: ByteWriter,
    pub stdout: ByteReader,
    pub stderr: ByteReader,
}

/// Starts a process in its own group, without a guard. Returns once the program runs or has failed to start:
/// about a millisecond. Must be called in the context of a tokio runtime.
pub fn spawn(launch: &Launch) -> Result<Spawned, SpawnError> {
    os::spawn(launch)
}

/// A started process and everything that belongs to it: under a guard the whole tree, otherwise its process
/// group. Dropping it kills them all and leaves no zombie.
pub struct Child(os::OsChild);

impl Child {
    /// The process id. Without a guard, the system cannot reuse it until this value is dropped or stopped.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// A read-only view of the processes of this child.
    pub fn tree(&self) -> Tree {
        Tree(self.0.tree())
    }

    /// Waits for the end of the process itself; may be called again. Descendants may live on until a guard
    /// tells them to end, or until [`stop`](Self::stop) or a drop. Cancel-safe.
    pub async fn wait(&mut self) -> Ended {
        self.0.wait().await
    }

    /// Stops the whole tree, politely at first. The caller has closed the child's stdin by dropping the
    /// writer, which asks the child to end; SIGTERM follows after `grace`, SIGKILL after `grace` again.
    /// Descendants that outlive the process get SIGTERM and then SIGKILL from a guard, or SIGKILL at once without one.
    ///
    /// If this future is dropped half way, the child can be stopped again.
    pub async fn stop(&mut self, grace: Duration) -> Stopped {
        self.0.stop(grace).await
    }

    /// Like [`stop`](Self::stop) without the first wait: SIGTERM at once, SIGKILL after `grace`. For a child
    /// that has been asked to end before, when no time is left.
    pub async fn terminate(&mut self, grace: Duration) -> Stopped {
        self.0.terminate(grace).await
    }

    /// Sends SIGKILL to all at once. The child must still be waited for.
    pub fn kill_now(&mut self) {
        self.0.kill_now();
    }

    /// Waits until an ended child, or one about to end, has no process left. Cancel-safe.
    pub async fn gone(&mut self) -> Remains {
        self.0.gone().await
    }
}

/// Exit status of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Exited(i32),
    Signalled(i32),
    /// Gone, or impossible to kill, and the system does not report how it ended.
    Unknown,
}

impl Ended {
    /// Whether the process reports success.
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
            Self::Unknown => write!(f, "unknown exit status"),
        }
    }
}

/// Processes that outlived a child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remains {
    /// Names of the processes that had to be killed.
    pub ended: Vec<String>,
    /// Number of processes that could not be killed: owned by another user, or stuck in the kernel.
    pub left: u32,
}

/// The outcome of [`Child::stop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    pub ended: Ended,
    pub how: StoppedBy,
}

/// The means that ended a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppedBy {
    /// Exit without a signal: after its stdin was closed, or earlier.
    Eof,
    Term,
    Kill,
}

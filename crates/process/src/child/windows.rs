//! Children on Windows: a process in its own job object, together with everything it starts.
//!
//! The process is created suspended and resumed once it is in its job, so that none of its descendants can be
//! outside. If we are killed in between, the job around ourselves (`warden`) still ends it.
//!
//! Windows has no SIGTERM. The nearest equivalent, a console's Ctrl-Break, reaches only processes on the
//! sender's console: an IDE starts us without one, and a child without a window has its own. So the request
//! to end is the closed stdin, and a process that ignores it is killed.

#[path = "windows/invoke.rs"]
mod invoke;
#[path = "windows/name.rs"]
mod name;

use super::{Ended, Launch, Remains, SpawnError, Spawned, Stopped, StoppedBy};
use crate::awaited::Awaited;
use crate::family;
use crate::job::Job;
use crate::pipe::{ByteReader, ByteWriter};
use crate::suspended::{self, Suspended};
use crate::tree::{Hold, LiveChild, OsTree};
use std::{ffi::OsStr, io, path::Path, sync::Arc, time::Duration};
use tokio::time::{sleep, timeout};
use windows_sys::Win32::Foundation::{ERROR_BAD_EXE_FORMAT, ERROR_ELEVATION_REQUIRED};
use windows_sys::Win32::System::Threading::CREATE_NO_WINDOW;

pub(super) use invoke::spellings;

/// Time limit for a kill to take effect. Only a process stuck in a driver takes longer.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Started by the system for every console program, inside the job; not a leftover of the server.
const CONSOLE_HOST: &str = "conhost.exe";
/// Interval between two counts of the members of a killed job. A few of these suffice, so a completion port
/// with a thread of its own is not worth it.
const MEMBERS_INTERVAL: Duration = Duration::from_millis(2);

/// What ends the descendants of a process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guarding {
    /// A job of its own, with this limit on its memory; where the system refuses, we look for the descendants.
    Job { memory: Option<u64> },
    /// Nothing, before our own end.
    Off,
    /// A job that the system refuses, for tests.
    #[cfg(debug_assertions)]
    RefusedJob,
}

pub(super) fn spawn(launch: &Launch) -> Result<Spawned, SpawnError> {
    spawn_guarded(launch, Guarding::Job { memory: None }).map(|(spawned, _)| spawned)
}

/// Starts the process; also returns the error if it should be in a job and is not.
pub(crate) fn spawn_guarded(
    launch: &Launch,
    guarding: Guarding,
) -> Result<(Spawned, Option<io::Error>), SpawnError> {
    let cwd = launch.cwd.as_deref();
    if let Some(cwd) = cwd.filter(|cwd| !cwd.is_dir()) {
        return Err(SpawnError::NoFolder { cwd: cwd.to_owned() });
    }
    let invocation = invoke::of(launch)?;
    let path = &invocation.program;
    let failed = |error| cause(path, error);
    let (stdin, their_stdin) = ByteWriter::to_child().map_err(failed)?;
    let (stdout, their_stdout) = ByteReader::from_child().map_err(failed)?;
    let (stderr, their_stderr) = ByteReader::from_child().map_err(failed)?;
    let streams = [their_stdin, their_stdout, their_stderr];
    // Without this flag a console program opens a window if we have no console.
    let flags = CREATE_NO_WINDOW;
    let started =
        suspended::create(path, invocation.line, &invocation.env, cwd, streams, flags).map_err(failed)?;
    let (child, refusal) = OsChild::adopt(started, guarding).map_err(failed)?;
    Ok((Spawned { child: super::Child(child), stdin, stdout, stderr }, refusal))
}

fn cause(path: &Path, source: io::Error) -> SpawnError {
    let path = path.to_owned();
    let code = source.raw_os_error().map(i32::cast_unsigned);
    match source.kind() {
        io::ErrorKind::PermissionDenied => SpawnError::NotExecutable { path },
        _ if matches!(code, Some(ERROR_BAD_EXE_FORMAT | ERROR_ELEVATION_REQUIRED)) => {
            SpawnError::NotExecutable { path }
        }
        io::ErrorKind::OutOfMemory => SpawnError::Limits { source },
        _ => SpawnError::Other { path, source },
    }
}

/// Dropping this kills the process and its descendants.
pub(crate) struct OsChild {
    process: Awaited,
    /// The process and its job. Other holders keep the `Arc` only for a moment.
    held: Arc<LiveChild>,
    /// Names of the processes, other than the child itself, that were left when the tree was killed; `None` before that.
    outlived: Option<Vec<String>>,
}

impl OsChild {
    /// Takes over a suspended process, puts it into its job, and resumes it.
    fn adopt(started: Suspended, guarding: Guarding) -> io::Result<(Self, Option<io::Error>)> {
        let in_job = |memory| {
            let job = Job::limited(memory)?;
            job.assign(started.handle())?;
            Ok(job)
        };
        let (hold, refusal) = match guarding {
            Guarding::Off => (Hold::Alone, None),
            #[cfg(debug_assertions)]
            Guarding::RefusedJob => (Hold::Tree, Some(io::Error::other("refused"))),
            // An outer job may forbid nesting. A server without a job of its own is still useful.
            Guarding::Job { memory } => match in_job(memory) {
                Ok(job) => (Hold::Job(job), None),
                Err(error) => (Hold::Tree, Some(error)),
            },
        };
        let pid = started.pid;
        let created = family::created(started.handle());
        let process = Awaited::new(started.handle().try_clone_to_owned()?)?;
        // Last: the process is in its job from its first instruction on, and a failure above has ended it.
        started.resume()?;
        let held = Arc::new(LiveChild { pid, created, hold });
        Ok((Self { process, held, outlived: None }, refusal))
    }

    pub(super) fn pid(&self) -> u32 {
        self.held.pid
    }

    pub(super) fn tree(&self) -> OsTree {
        OsTree::of(&self.held)
    }

    pub(super) async fn wait(&mut self) -> Ended {
        self.process.ended().await;
        self.process.exit_code().map_or(Ended::Unknown, Ended::Exited)
    }

    pub(super) async fn stop(&mut self, grace: Duration) -> Stopped {
        let how = match timeout(grace, self.wait()).await {
            Ok(_) => StoppedBy::Eof,
            Err(_) => StoppedBy::Kill,
        };
        // Also after a voluntary exit: descendants must end with the process.
        self.end_all();
        let ended = timeout(KILL_TIMEOUT, self.emptied()).await.unwrap_or(Ended::Unknown);
        Stopped { ended, how }
    }

    /// Same as [`stop`](Self::stop): Windows has only one way to ask, see the module header.
    pub(super) async fn terminate(&mut self, grace: Duration) -> Stopped {
        self.stop(grace).await
    }

    /// Leftover processes are killed, since Windows has no way to ask them to end.
    pub(super) async fn gone(&mut self) -> Remains {
        self.wait().await;
        self.end_all();
        let _ = timeout(KILL_TIMEOUT, self.emptied()).await;
        let left = u32::try_from(self.members().len()).unwrap_or(u32::MAX);
        Remains { ended: self.outlived.clone().unwrap_or_default(), left }
    }

    /// Kills all members and records the names of those that outlived the child.
    fn end_all(&mut self) {
        // While the process itself still runs, its descendants do not count as leftovers.
        let (pid, members) = (self.pid(), self.members());
        let members = if members.contains(&pid) { Vec::new() } else { members };
        let others = members.into_iter().filter(|member| *member != pid).filter_map(name::name_of);
        // Only the first call can see leftovers: afterwards they are killed.
        self.outlived
            .get_or_insert_with(|| others.filter(|name| !name.eq_ignore_ascii_case(CONSOLE_HOST)).collect());
        self.kill_now();
    }

    async fn emptied(&mut self) -> Ended {
        let ended = self.wait().await;
        while !self.members().is_empty() {
            sleep(MEMBERS_INTERVAL).await;
        }
        ended
    }

    fn members(&self) -> Vec<u32> {
        match &self.held.hold {
            Hold::Job(job) => job.members().unwrap_or_default(),
            Hold::Tree => family::of(self.held.pid, self.held.created),
            // Its descendants may live on.
            Hold::Alone => Vec::new(),
        }
    }

    pub(super) fn kill_now(&self) {
        match &self.held.hold {
            Hold::Job(job) => job.kill(),
            Hold::Tree => family::kill(self.held.pid, self.held.created),
            Hold::Alone => {}
        }
        family::terminate(self.process.handle());
    }
}

impl Drop for OsChild {
    fn drop(&mut self) {
        self.kill_now();
    }
}

pub(super) fn signal_name(_: i32) -> Option<&'static str> {
    None
}

pub(super) fn is_path_var(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case("PATH")
}

pub(super) fn is_separator(byte: u8) -> bool {
    matches!(byte, b'/' | b'\\')
}

pub(super) fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
#[path = "windows/tests.rs"]
mod tests;

//! Children on Windows: a process in its own job object, together with everything it starts.
//!
//! The process is created suspended and resumed once it is in its job, so that none of its descendants can be
//! outside. If we are killed in between, the job around ourselves (`warden`) still ends it.
//!
//! Windows has no SIGTERM. The nearest equivalent, a console's Ctrl-Break, reaches only processes on the
//! sender's console: an IDE starts us without one, and a child without a window has its own. So the request
//! to end is the closed stdin, and a process that ignores it is killed.

#[path = "windows/name.rs"]
mod name;
#[path = "windows/suspended.rs"]
mod suspended;

use super::{Ended, Launch, Remains, SpawnError, Spawned, Stopped, StoppedBy, resolve};
use crate::job::Job;
use crate::lock::Lock;
use crate::pipe::{ByteReader, ByteWriter};
use crate::tree::{LiveChild, OsTree};
use std::{
    borrow::Cow, ffi::OsStr, io, os::windows::io::BorrowedHandle, path::Path, process::Stdio, sync::Arc,
    time::Duration,
};
use tokio::{
    process::Command,
    time::{sleep, timeout},
};
use windows_sys::Win32::System::Threading::{CREATE_NO_WINDOW, CREATE_SUSPENDED};

/// Time limit for a kill to take effect. Only a process stuck in a driver takes longer.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Started by the system for every console program, inside the job; not a leftover of the server.
const CONSOLE_HOST: &str = "conhost.exe";
/// Interval between two counts of the members of a killed job. A few of these suffice, so a completion port
/// with a thread of its own is not worth it.
const MEMBERS_INTERVAL: Duration = Duration::from_millis(2);

pub(super) fn spawn(launch: &Launch) -> Result<Spawned, SpawnError> {
    // A server without a job is still useful: the job around us ends it with us.
    spawn_in(launch, Job::new().ok())
}

/// Starts the process in this job. Without one, a stop ends only the process itself, not its descendants.
pub(crate) fn spawn_in(launch: &Launch, job: Option<Job>) -> Result<Spawned, SpawnError> {
    let cwd = launch.cwd.as_deref();
    if let Some(cwd) = cwd.filter(|cwd| !cwd.is_dir()) {
        return Err(SpawnError::NoFolder { cwd: cwd.to_owned() });
    }
    let path = resolve(&launch.program, launch.path_var(), cwd)?;
    let mut command = Command::new(&path);
    command.args(&launch.args).env_clear().envs(launch.env.iter().map(|(name, value)| (name, value)));
    if let Some(cwd) = cwd {
        command.current_dir(cwd);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A console program started by a process without a console would open a window.
    command.kill_on_drop(true).creation_flags(CREATE_NO_WINDOW | CREATE_SUSPENDED);
    #[expect(clippy::disallowed_methods, reason = "this is the one room that starts processes")]
    let mut started = command.spawn().map_err(|error| cause(&path, error))?;

    let other = |source| SpawnError::Other { path: path.clone(), source };
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (started.stdin.take(), started.stdout.take(), started.stderr.take())
    else {
        unreachable!("all three were asked to be pipes");
    };
    // From here on an early return drops the child, which kills it.
    let child = OsChild::adopt(started, job).map_err(other)?;
    Ok(Spawned {
        child: super::Child(child),
        stdin: stdin.into_owned_handle().and_then(ByteWriter::from_handle).map_err(other)?,
        stdout: stdout.into_owned_handle().and_then(ByteReader::from_handle).map_err(other)?,
        stderr: stderr.into_owned_handle().and_then(ByteReader::from_handle).map_err(other)?,
    })
}

fn cause(path: &Path, source: io::Error) -> SpawnError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied => SpawnError::NotExecutable { path },
        io::ErrorKind::OutOfMemory => SpawnError::Limits { source },
        _ => SpawnError::Other { path, source },
    }
}

/// Dropping this kills the process directly, and its descendants through the job's last handle.
pub(crate) struct OsChild {
    /// Locked only by `kill_now`, which has no `&mut`.
    process: Lock<tokio::process::Child>,
    /// The process and its job. Other holders keep the `Arc` only for a moment.
    held: Arc<LiveChild>,
    /// Names of the processes, other than the child itself, that were left when the job was killed; `None` before that.
    outlived: Option<Vec<String>>,
}

impl OsChild {
    /// Takes over a suspended process, puts it into its job, and resumes it.
    fn adopt(process: tokio::process::Child, job: Option<Job>) -> io::Result<Self> {
        let (Some(pid), Some(handle)) = (process.id(), process.raw_handle()) else {
            return Err(io::Error::other("it ended before it could be put into a job"));
        };
        // SAFETY: the handle belongs to `process`, which lives longer than this borrow and was not waited for.
        let handle = unsafe { BorrowedHandle::borrow_raw(handle) };
        // An outer job may forbid nesting; the server then runs without a job of its own.
        let job = job.filter(|job| job.assign(handle).is_ok());
        // Only now: the process is in its job from its first instruction on.
        suspended::resume(handle)?;
        Ok(Self { process: Lock::new(process), held: Arc::new(LiveChild { pid, job }), outlived: None })
    }

    pub(super) fn pid(&self) -> u32 {
        self.held.pid
    }

    pub(super) fn tree(&self) -> OsTree {
        OsTree::of(&self.held)
    }

    pub(super) async fn wait(&mut self) -> Ended {
        let process = self.process.get_mut();
        match process.wait().await {
            Ok(status) => status.code().map_or(Ended::Unknown, Ended::Exited),
            Err(_) => Ended::Unknown,
        }
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
        self.held.job.as_ref().and_then(|job| job.members().ok()).unwrap_or_default()
    }

    pub(super) fn kill_now(&self) {
        match &self.held.job {
            Some(job) => job.kill(),
            // An error means that the process has ended already.
            None => drop(self.process.lock().start_kill()),
        }
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

/// The name as given, if it has an extension, and the name with each executable extension.
pub(super) fn spellings(path: &Path) -> Vec<Cow<'_, Path>> {
    let with = ["com", "exe", "bat", "cmd"].map(|extension| {
        let mut name = path.as_os_str().to_owned();
        name.push(".");
        name.push(extension);
        Cow::Owned(name.into())
    });
    path.extension().map(|_| Cow::Borrowed(path)).into_iter().chain(with).collect()
}

pub(super) fn is_executable(path: &Path) -> bool {
    path.is_file()
}

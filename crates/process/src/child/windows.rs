//! Children on Windows, for now without job objects: only the process itself is killed, not what it started.
//! A job per backend, assigned before the child runs, belongs into `spawn`.

use super::{Ended, Launch, SpawnError, Spawned, Stopped, StoppedBy, resolve};
use crate::pipe::{ByteReader, ByteWriter};
use std::{
    borrow::Cow,
    ffi::OsStr,
    io,
    path::Path,
    process::Stdio,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::{process::Command, time::timeout};

/// A console program started by one without a console would open a window.
const CREATE_NO_WINDOW: u32 = 0x0800_0000;
/// How long a kill may take.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn spawn(launch: &Launch) -> Result<Spawned, SpawnError> {
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
    command.kill_on_drop(true).creation_flags(CREATE_NO_WINDOW);
    #[expect(clippy::disallowed_methods, reason = "this is the one room that starts processes")]
    let mut started = command.spawn().map_err(|error| cause(&path, error))?;

    let other = |source| SpawnError::Other { path: path.clone(), source };
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (started.stdin.take(), started.stdout.take(), started.stderr.take())
    else {
        unreachable!("all three were asked to be pipes");
    };
    let pid = started.id().unwrap_or_default();
    Ok(Spawned {
        child: super::Child(Child { pid, process: Mutex::new(started) }),
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

pub(super) struct Child {
    pid: u32,
    /// Locked only by `kill_now`, which has no `&mut`.
    process: Mutex<tokio::process::Child>,
}

impl Child {
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) async fn wait(&mut self) -> Ended {
        let process = self.process.get_mut().unwrap_or_else(PoisonError::into_inner);
        match process.wait().await {
            Ok(status) => status.code().map_or(Ended::Unknown, Ended::Exited),
            Err(_) => Ended::Unknown,
        }
    }

    /// There is no SIGTERM: a console event would need a console of the child's own.
    pub(super) async fn stop(&mut self, grace: Duration) -> Stopped {
        if let Ok(ended) = timeout(grace, self.wait()).await {
            return Stopped { ended, how: StoppedBy::Eof };
        }
        self.kill_now();
        let ended = timeout(KILL_PATIENCE, self.wait()).await.unwrap_or(Ended::Unknown);
        Stopped { ended, how: StoppedBy::Kill }
    }

    pub(super) async fn terminate(&mut self, grace: Duration) -> Stopped {
        self.stop(grace).await
    }

    pub(super) fn kill_now(&self) {
        // An error says that it has ended already.
        let _ = self.process.lock().unwrap_or_else(PoisonError::into_inner).start_kill();
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

/// The name as given, if it has an extension, and with those that make a file a program.
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

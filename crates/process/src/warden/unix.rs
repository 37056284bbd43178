//! The main process's side of the warden: starts the warden process when the first guard is needed, restarts
//! a killed one, and requests one guard per backend.

use super::{GuardMode, GuardOptions, Layer, LayerState, Layers, Options, Swept};
use crate::child::os::{self, ExitWatch, guarded, reap};
use crate::child::{Ended, Launch, SpawnError, Spawned};
use crate::wire::{self, Assignment, GuardRequest, socket};
use crate::{aside, core_dumps, inherit, mark, parent, room, runs, table};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::{
    self,
    ErrorKind::{BrokenPipe, ConnectionReset, NotConnected},
};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as Socket;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Time within which a warden that cannot run at all has exited.
const FAILED_START_TIMEOUT: Duration = Duration::from_millis(200);
/// Time limit for the warden to provide a guard. Beyond it the warden may be suspended, and is continued.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// Time limit after that. Beyond it the warden is replaced.
const WAKE_TIMEOUT: Duration = Duration::from_secs(4);
/// Time limit for the replacement: by then the machine is busy rather than the warden suspended.
const REPLACEMENT_TIMEOUT: Duration = Duration::from_secs(20);
/// Time limit for a warden to end, once the last guard has.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) struct OsWarden {
    options: Options,
    /// Path of this program, or the reason why it cannot be started again.
    program: Result<PathBuf, String>,
    run: u64,
    run_file: Result<PathBuf, String>,
    cgroup: Result<PathBuf, String>,
    namespace: Result<(), String>,
    hired: AtomicU16,
    /// Whether a guard has ever started a program.
    has_worked: AtomicBool,
    /// Reason why guards turned out not to work.
    failure: OnceLock<String>,
    /// The socket to the warden process, once started.
    link: Mutex<Option<WardenLink>>,
}

/// A running warden process.
struct WardenLink {
    socket: UnixStream,
    pid: Pid,
    /// Completes when the process has been reaped.
    burial: JoinHandle<Option<Ended>>,
}

impl WardenLink {
    fn tell(&self, signal: Signal) {
        // Until it is reaped, the number cannot be reused.
        if !self.burial.is_finished() {
            let _ = kill_process(self.pid, signal);
        }
    }
}

impl OsWarden {
    pub(super) fn start(options: Options) -> Self {
        inherit::keep_children_as_zombies();
        let run = mark::new_run();
        let program = own_program();
        let run_file = match &options.runs {
            None => Err("there is no state folder".to_owned()),
            Some(folder) => {
                runs::begin(folder, run).map_err(|error| format!("{}: {error}", folder.display()))
            }
        };
        let namespace = match (&program, options.wants_strict) {
            (Ok(program), true) => probe_namespace(program),
            (Err(_), true) => Err("no guard process can create it".to_owned()),
            (_, false) => Err("no server asks for it with `guard: strict`".to_owned()),
        };
        Self {
            options,
            program,
            run,
            run_file,
            cgroup: cgroup(),
            namespace,
            hired: AtomicU16::new(0),
            has_worked: AtomicBool::new(false),
            failure: OnceLock::new(),
            link: Mutex::new(None),
        }
    }

    pub(super) fn probe(options: Options) -> Layers {
        let mut layers = Self::start(Options { wants_strict: true, ..options }).layers();
        for layer in &mut layers.0 {
            if layer.name == NAMESPACE_LAYER {
                layer.state = match std::mem::replace(&mut layer.state, LayerState::OnRequest) {
                    LayerState::Missing(why) => LayerState::Absent(why),
                    _ => LayerState::OnRequest,
                };
            }
        }
        layers
    }

    pub(super) fn layers(&self) -> Layers {
        /// `Missing` if the layer should be there, otherwise only `Absent`.
        fn state<T>(result: &Result<T, String>, is_due: bool) -> LayerState {
            match result {
                Ok(_) => LayerState::Active,
                Err(why) if is_due => LayerState::Missing(why.clone()),
                Err(why) => LayerState::Absent(why.clone()),
            }
        }
        let failed = |why: &String| LayerState::Missing(why.clone());
        let layer = |name, state| Layer { name, state };
        Layers(vec![
            layer("guard", self.failure.get().map_or_else(|| state(&self.program, true), failed)),
            layer("cgroup", state(&self.cgroup, false)),
            layer(NAMESPACE_LAYER, state(&self.namespace, self.options.wants_strict)),
            layer("run file", state(&self.run_file, true)),
            layer("parent watch", state(&parent::can_be_watched(), false)),
        ])
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure.get().is_some()
    }

    pub(super) async fn close(&self) {
        // Closing the socket tells the warden that there are no more requests.
        let Some(mut link) = self.link.lock().await.take() else { return };
        let _ = link.socket.shutdown().await;
        // The warden may have been suspended.
        link.tell(Signal::CONT);
        if timeout(CLOSE_TIMEOUT, &mut link.burial).await.is_err() {
            link.tell(Signal::KILL);
            let _ = timeout(CLOSE_TIMEOUT, link.burial).await;
        }
    }

    pub(super) async fn sweep(&self) -> Vec<Swept> {
        let Some(folder) = self.options.runs.clone() else { return Vec::new() };
        aside::run(move || runs::sweep(&folder)).await
    }

    pub(super) async fn spawn(&self, launch: &Launch, guard: &GuardOptions) -> Result<Spawned, SpawnError> {
        let wants_guard = guard.mode != GuardMode::Off && !self.has_failed();
        let Some(program) = self.program.as_ref().ok().filter(|_| wants_guard) else {
            return os::spawn(launch);
        };
        match self.spawn_guarded(program, launch, guard).await {
            // Unguarded only if guards cannot work here at all; other failures are reported.
            Err(SpawnError::NoGuard { .. }) if self.is_hopeless().await => {
                let _ = self.failure.set("Switchboard cannot start a copy of itself here".to_owned());
                os::spawn(launch)
            }
            result => {
                // A later failure must not undo an earlier success.
                self.has_worked.fetch_or(result.is_ok(), Ordering::Relaxed);
                result
            }
        }
    }

    /// Whether no guard has ever worked and the warden exited without a signal: then the program started from
    /// our own file is something else (a loader, an emulator).
    async fn is_hopeless(&self) -> bool {
        if self.has_worked.load(Ordering::Relaxed) {
            return false;
        }
        let mut link = self.link.lock().await;
        // Keep the socket open while waiting, so that the warden cannot end because of us.
        let Some(WardenLink { burial, .. }) = &mut *link else { return false };
        let Ok(ended) = timeout(FAILED_START_TIMEOUT, burial).await else { return false };
        // A dead warden is of no use to the next start.
        *link = None;
        matches!(ended, Ok(Some(Ended::Exited(_))))
    }

    async fn spawn_guarded(
        &self,
        program: &Path,
        launch: &Launch,
        guard: &GuardOptions,
    ) -> Result<Spawned, SpawnError> {
        // Before a guard is requested: a missing program should not cost a process.
        let path = os::find(launch)?;
        let keep: Vec<OsString> = guard.keep.iter().map(OsString::from).collect();
        let hire = GuardRequest {
            mark: mark::mark_of(self.run, self.hired.fetch_add(1, Ordering::Relaxed)),
            keep: keep.clone(),
            cgroup: self.cgroup.clone().ok(),
        };
        let control = self.guard(program, &hire).await.map_err(cannot_guard)?;
        let assignment = Assignment {
            path,
            arg0: launch.program.clone(),
            args: launch.args.clone(),
            env: launch.env.clone(),
            cwd: folder_of(launch),
            strict: guard.mode == GuardMode::Strict && self.namespace.is_ok(),
            mark: hire.mark,
            grace: guard.grace,
            keep,
            cgroup: hire.cgroup,
        };
        guarded::start(assignment, control).await
    }

    /// The socket to a guard that has answered, or that ended at once. A warden that does not answer has been
    /// suspended: it is continued, and replaced if that does not help.
    async fn guard(&self, program: &Path, hire: &GuardRequest) -> io::Result<UnixStream> {
        let (guard, warden) = self.hire(program, hire).await?;
        if speaks_within(ANSWER_TIMEOUT, &guard).await? {
            return Ok(guard);
        }
        if let Some(link) = self.link.lock().await.as_ref().filter(|link| link.pid == warden) {
            link.tell(Signal::CONT);
        }
        if speaks_within(WAKE_TIMEOUT, &guard).await? {
            return Ok(guard);
        }
        // Closed first: a guard that the old warden may still fork then ends at once.
        drop(guard);
        // Concurrent callers that waited for the same warden may have replaced it already.
        if let Some(link) = self.link.lock().await.take_if(|link| link.pid == warden) {
            link.tell(Signal::KILL);
        }
        let (guard, _) = self.hire(program, hire).await?;
        match speaks_within(REPLACEMENT_TIMEOUT, &guard).await? {
            true => Ok(guard),
            false => Err(no_answer()),
        }
    }

    /// Requests a guard. Returns our end of the socket to it, and the warden that was asked.
    async fn hire(&self, program: &Path, hire: &GuardRequest) -> io::Result<(UnixStream, Pid)> {
        let (ours, theirs) = Socket::pair()?;
        ours.set_nonblocking(true)?;
        let ours = UnixStream::from_std(ours)?;
        let frame = hire.frame();
        let fds = [theirs.as_fd()];
        // Held while sending, so that the frames of concurrent starts do not mix.
        let mut link = self.link.lock().await;
        if let Some(warden) = &*link {
            match timeout(WAKE_TIMEOUT, socket::send_all(&warden.socket, &frame, &fds)).await {
                Ok(Ok(())) => return Ok((ours, warden.pid)),
                // The warden is gone; its guards continue without it.
                Ok(Err(error)) if matches!(error.kind(), BrokenPipe | ConnectionReset | NotConnected) => {}
                Ok(Err(error)) => return Err(error),
                // The socket has been full for long, and part of this message may have been sent, so the
                // warden cannot be used any more.
                Err(_) => warden.tell(Signal::KILL),
            }
        }
        let warden = link.insert(self.start_process(program)?);
        socket::send_all(&warden.socket, &frame, &fds).await?;
        Ok((ours, warden.pid))
    }

    fn start_process(&self, program: &Path) -> io::Result<WardenLink> {
        // The warden may outlive us, and would keep inherited descriptors open.
        inherit::close_descriptors_on_exec();
        let (ours, theirs) = Socket::pair()?;
        ours.set_nonblocking(true)?;
        let socket = UnixStream::from_std(ours)?;
        let mut command = Command::new(program);
        command.arg0(wire::WARDEN_ROLE).arg(std::process::id().to_string());
        command.arg(self.run_file.as_deref().unwrap_or(Path::new(""))).arg(wire::VERSION);
        // Neither our environment nor our folder: the warden needs neither, and may outlive us for a while.
        command.env_clear().current_dir("/");
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::null());
        // A signal to our group must not reach it. Not a new session: see docs/decisions, "Guards stay in our session".
        command.process_group(0);
        room::as_before(&mut command);
        // It lowers its own limit again, and gives each server this one.
        core_dumps::as_before(&mut command);
        #[expect(clippy::disallowed_methods, reason = "this is the one room that starts processes")]
        let process = command.spawn()?;
        let pid = Pid::from_child(&process);
        Ok(WardenLink { socket, pid, burial: tokio::spawn(bury(pid)) })
    }
}

const NAMESPACE_LAYER: &str = "PID namespace";

pub(super) struct OsWitness {
    /// Readable when the process has ended; `None` if it cannot be watched.
    process: Option<AsyncFd<OwnedFd>>,
    runs: PathBuf,
}

impl OsWitness {
    pub(super) fn of(process: u32, runs: PathBuf) -> Self {
        Self { process: table::number(process).and_then(|process| parent::watch(process).ok()), runs }
    }

    pub(super) async fn ended(&mut self) {
        if let Some(process) = &self.process {
            let _ = process.readable().await;
        }
    }

    pub(super) async fn sweep(self) -> Vec<Swept> {
        aside::run(move || runs::sweep(&self.runs)).await
    }
}

impl Drop for OsWarden {
    fn drop(&mut self) {
        // A started warden removes the file itself at its end.
        if let (None, Ok(path)) = (self.link.get_mut(), &self.run_file) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The absolute folder of a launch, since the guard runs in another one.
fn folder_of(launch: &Launch) -> Option<PathBuf> {
    match &launch.cwd {
        Some(folder) => std::path::absolute(folder).ok(),
        None => std::env::current_dir().ok(),
    }
}

/// Whether the guard sends something in time, or closes the socket.
async fn speaks_within(time: Duration, guard: &UnixStream) -> io::Result<bool> {
    timeout(time, guard.readable()).await.map_or(Ok(false), |readable| readable.map(|()| true))
}

fn no_answer() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the warden does not answer")
}

/// Reaps an ended warden; returns its exit status.
async fn bury(pid: Pid) -> Option<Ended> {
    let ended = ExitWatch::on(pid).ok()?.end(pid).await;
    reap(pid);
    ended
}

fn cannot_guard(source: io::Error) -> SpawnError {
    use rustix::io::Errno;
    match Errno::from_io_error(&source) {
        Some(Errno::AGAIN | Errno::MFILE | Errno::NFILE | Errno::NOMEM) => SpawnError::Limits { source },
        _ => SpawnError::NoGuard { source },
    }
}

/// The running program itself: after an upgrade the path on disk leads to another file.
fn own_program() -> Result<PathBuf, String> {
    // Guards find their trees in the process table, and are of no use without one.
    if table::start(std::process::id()).is_none() {
        return Err("this system does not show its processes (is /proc mounted?)".to_owned());
    }
    let program = if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe().map_err(|error| format!("cannot find Switchboard's own program ({error})"))?
    };
    Ok(program)
}

#[cfg(target_os = "linux")]
fn cgroup() -> Result<PathBuf, String> {
    crate::cgroup::delegated()
}

#[cfg(not(target_os = "linux"))]
fn cgroup() -> Result<PathBuf, String> {
    Err("Linux only".to_owned())
}

/// Probes in a separate process, since a process cannot leave a namespace again.
#[cfg(target_os = "linux")]
fn probe_namespace(program: &Path) -> Result<(), String> {
    let mut command = Command::new(program);
    command.arg0(wire::PROBE_ROLE).env_clear().stdin(Stdio::null()).stderr(Stdio::null());
    #[expect(clippy::disallowed_methods, reason = "this is the one room that starts processes")]
    let tried = command.output().map_err(|error| format!("the probe could not be started: {error}"))?;
    match tried.status.success() {
        true => Ok(()),
        false => Err(format!("not allowed here: {}", String::from_utf8_lossy(&tried.stdout))),
    }
}

#[cfg(not(target_os = "linux"))]
fn probe_namespace(_: &Path) -> Result<(), String> {
    Err("Linux only".to_owned())
}

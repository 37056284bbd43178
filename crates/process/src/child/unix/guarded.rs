//! A child behind a guard: we know what the guard reports, and act by sending it orders.

use super::{Ended, Remains, SpawnError, Spawned, Stopped, StoppedBy, diagnose};
use crate::pipe::{ByteReader, ByteWriter};
use crate::runs;
use crate::table::ProcessId;
use crate::tree::OsTree;
use crate::wire::{Assignment, EndedBy, Order, Report, Stage, socket, take_frame};
use rustix::io::Errno;
use rustix::process::Signal;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout, timeout_at};

/// Extra time for a guard beyond the time given to its tree.
const REPORT_SLACK: Duration = Duration::from_secs(1);
/// The guard kills for at most five seconds; this is one second more.
const KILL_TIMEOUT: Duration = Duration::from_secs(6);
/// Time limit for a guard to report the start. A longer silence means that the guard is suspended or the
/// machine is overloaded.
const START_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct GuardedChild {
    pid: u32,
    control: UnixStream,
    /// Bytes of reports; the last one may be incomplete.
    inbox: Vec<u8>,
    state: TreeState,
    traces: Traces,
    /// The guard process.
    guard: Option<ProcessId>,
    /// Time limit for the current order. A guard that misses it has probably been suspended.
    deadline: Option<Instant>,
    /// The guard was continued and told to kill: the last resort before it is killed itself.
    is_woken: bool,
}

enum TreeState {
    Running,
    LeaderEnded(Ended),
    Gone { ended: Ended, by: EndedBy, remains: Remains },
}

/// Traces by which the tree can be found without its guard.
#[derive(Clone)]
struct Traces {
    mark: u64,
    keep: Vec<OsString>,
    group: Option<PathBuf>,
}

/// Makes the guard at the other end of `control` start the program.
pub(crate) async fn start(assignment: Assignment, control: UnixStream) -> Result<Spawned, SpawnError> {
    let path = assignment.path.clone();
    let limits = |source: io::Error| diagnose::cause(&path, source);
    let pipe = || io::pipe().map(|(reader, writer)| (OwnedFd::from(reader), OwnedFd::from(writer)));
    let (stdin, our_stdin) = pipe().map_err(limits)?;
    let (our_stdout, stdout) = pipe().map_err(limits)?;
    let (our_stderr, stderr) = pipe().map_err(limits)?;
    let traces = Traces {
        mark: assignment.mark,
        keep: assignment.keep.clone(),
        group: assignment.cgroup.as_deref().map(|group| group_of(group, assignment.mark)),
    };
    let frame = Order::Start(Box::new(assignment)).frame();
    // From here on an early return drops the child, which kills whatever was started.
    let mut child = GuardedChild {
        pid: 0,
        control,
        inbox: Vec::new(),
        state: TreeState::Running,
        traces,
        guard: None,
        deadline: None,
        is_woken: false,
    };
    let asked = async {
        // Wait for the guard before sending an order: a suspended warden may be replaced and wake up later.
        match child.report().await? {
            Some(Report::Here) => {}
            refused => return Ok(refused),
        }
        socket::send_all(&child.control, &frame, &[stdin.as_fd(), stdout.as_fd(), stderr.as_fd()]).await?;
        // The guard has its own copies; ours must be closed, so that the end of the pipes is seen.
        drop((stdin, stdout, stderr));
        child.report().await
    };
    let silent = || Err(io::Error::new(io::ErrorKind::TimedOut, "its guard does not answer"));
    match timeout(START_TIMEOUT, asked).await.unwrap_or_else(|_| silent()) {
        Ok(Some(Report::Started { pid, guard })) => {
            child.pid = pid;
            child.guard = ProcessId::of(guard);
        }
        Ok(Some(Report::NotStarted { stage: Stage::Program, errno })) => {
            return Err(diagnose::cause(&path, io::Error::from_raw_os_error(errno)));
        }
        Ok(Some(Report::NotStarted { stage: Stage::Namespace, errno })) => {
            return Err(SpawnError::NoNamespace { source: io::Error::from_raw_os_error(errno) });
        }
        Ok(Some(_) | None) => {
            return Err(SpawnError::NoGuard { source: io::Error::other("it ended at once") });
        }
        Err(source) => return Err(SpawnError::NoGuard { source }),
    }
    Ok(Spawned {
        child: super::OsChild::Guarded(child).into(),
        stdin: ByteWriter::from_fd(our_stdin).map_err(limits)?,
        stdout: ByteReader::from_fd(our_stdout).map_err(limits)?,
        stderr: ByteReader::from_fd(our_stderr).map_err(limits)?,
    })
}

#[cfg(target_os = "linux")]
fn group_of(group: &Path, mark: u64) -> PathBuf {
    crate::cgroup::leaf_of(group, mark)
}

#[cfg(not(target_os = "linux"))]
fn group_of(group: &Path, _: u64) -> PathBuf {
    group.to_owned()
}

impl GuardedChild {
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn tree(&self) -> OsTree {
        let Traces { mark, keep, .. } = &self.traces;
        OsTree::Guarded { guard: self.guard, mark: *mark, keep: keep.as_slice().into() }
    }

    pub(super) async fn wait(&mut self) -> Ended {
        loop {
            match &self.state {
                TreeState::Running => self.listen().await,
                TreeState::LeaderEnded(ended) | TreeState::Gone { ended, .. } => return *ended,
            }
        }
    }

    pub(super) async fn stop(&mut self, grace: Duration) -> Stopped {
        // The guard waits `grace` for the closed stdin to work, and `grace` again after SIGTERM.
        self.order(&Order::Stop { grace }, grace.saturating_mul(2));
        self.end().await
    }

    pub(super) async fn terminate(&mut self, grace: Duration) -> Stopped {
        self.order(&Order::Terminate { grace }, grace);
        self.end().await
    }

    async fn end(&mut self) -> Stopped {
        loop {
            if let TreeState::Gone { ended, by, .. } = &self.state {
                let how = match by {
                    EndedBy::Itself => StoppedBy::Eof,
                    EndedBy::Term => StoppedBy::Term,
                    EndedBy::Kill => StoppedBy::Kill,
                };
                return Stopped { ended: *ended, how };
            }
            self.listen().await;
        }
    }

    pub(super) async fn gone(&mut self) -> Remains {
        loop {
            if let TreeState::Gone { remains, .. } = &self.state {
                return remains.clone();
            }
            self.listen().await;
        }
    }

    pub(super) fn kill_now(&mut self) {
        self.order(&Order::Kill, Duration::ZERO);
    }

    fn order(&mut self, order: &Order, time: Duration) {
        // A few bytes into a socket used for nothing else, so the send cannot block. If the guard is gone,
        // there is nothing to order.
        let _ = socket::send(&self.control, &order.frame(), &[]);
        let deadline = Instant::now().checked_add(time.saturating_add(REPORT_SLACK));
        // An earlier order keeps its earlier deadline: repeated stops must not postpone the kill.
        self.deadline = match (self.deadline, deadline) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    /// Processes the next report. Cancel-safe.
    async fn listen(&mut self) {
        // `Report::Gone` does not repeat the exit status, so the one reported earlier is carried over.
        let known = match &self.state {
            TreeState::Running => Ended::Unknown,
            TreeState::LeaderEnded(ended) => *ended,
            TreeState::Gone { .. } => return,
        };
        let report = match self.deadline {
            Some(deadline) => match timeout_at(deadline, self.report()).await {
                Ok(report) => report,
                // Continued and still silent: kill the guard, and the warden ends its tree.
                Err(_) if self.is_woken => {
                    self.tell_guard(Signal::KILL);
                    Ok(None)
                }
                Err(_) => return self.wake_guard(),
            },
            None => self.report().await,
        };
        self.state = match report {
            Ok(Some(Report::LeaderEnded { exited, signal })) => {
                TreeState::LeaderEnded(match (exited, signal) {
                    (Some(code), _) => Ended::Exited(code),
                    (None, Some(signal)) => Ended::Signalled(signal),
                    (None, None) => Ended::Unknown,
                })
            }
            Ok(Some(Report::Gone { by, ended, left })) => {
                let ended = ended.iter().map(|name| name.to_string_lossy().into_owned()).collect();
                TreeState::Gone { ended: known, by, remains: Remains { ended, left } }
            }
            // Reports about the start, which `start` has handled.
            Ok(Some(Report::Here | Report::Started { .. } | Report::NotStarted { .. })) => return,
            // The guard was killed. The warden ends the tree; we do the same in case the warden was killed too.
            Ok(None) | Err(_) => {
                self.traces.clone().erase();
                TreeState::Gone { ended: known, by: EndedBy::Kill, remains: Remains::default() }
            }
        };
    }

    fn wake_guard(&mut self) {
        self.is_woken = true;
        // `order` keeps the earlier deadline, so the missed one must go first.
        self.deadline = None;
        // Sent before the guard is continued, so that the order is the first thing it finds.
        self.order(&Order::Kill, KILL_TIMEOUT);
        self.tell_guard(Signal::CONT);
    }

    fn tell_guard(&self, signal: Signal) {
        if let Some(guard) = self.guard {
            guard.signal(signal);
        }
    }

    /// The next report; `None` if the guard is gone. Cancel-safe.
    async fn report(&mut self) -> io::Result<Option<Report>> {
        loop {
            if let Some(body) = take_frame(&mut self.inbox)? {
                return Report::parse(&body).map(Some);
            }
            self.control.readable().await?;
            match self.control.try_read_buf(&mut self.inbox) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // A guard killed with unread orders in its socket resets the connection.
                Err(error) if Errno::from_io_error(&error) == Some(Errno::CONNRESET) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for GuardedChild {
    fn drop(&mut self) {
        match self.state {
            TreeState::Running => self.order(&Order::Kill, Duration::ZERO),
            // The guard notices that the socket is closed and shortens its grace periods.
            TreeState::LeaderEnded(_) | TreeState::Gone { .. } => {}
        }
    }
}

impl Traces {
    /// Kills every process with the mark, on a separate thread: reading the process table takes a while.
    fn erase(self) {
        let thread = std::thread::Builder::new().name("switchboard-erase".into());
        // If no thread can be started, the sweep at the next start of Switchboard finds the same mark.
        drop(thread.spawn(move || runs::end_marked(self.mark, &self.keep, self.group.as_ref())));
    }
}

//! A child with a guard between us and it: what we know of it is what the guard reports, and what we want is
//! ordered from the guard.

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

/// How much longer than what is due to its tree a guard may take.
const REPORT_SLACK: Duration = Duration::from_secs(1);
/// It kills for five seconds at most.
const KILL_TIMEOUT: Duration = Duration::from_secs(6);
/// A guard that says nothing for so long has been suspended, or the machine is at its end.
const START_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct GuardedChild {
    pid: u32,
    control: UnixStream,
    /// Bytes of reports, the last of which may be cut.
    inbox: Vec<u8>,
    state: TreeState,
    traces: Traces,
    /// The guard itself.
    guard: Option<ProcessId>,
    /// When what was ordered must be done. A guard that is not done by then cannot: somebody has suspended it.
    deadline: Option<Instant>,
    /// It was woken, and told to kill: the last that can be tried with it.
    is_woken: bool,
}

enum TreeState {
    Running,
    LeaderEnded(Ended),
    Gone { ended: Ended, by: EndedBy, remains: Remains },
}

/// What the tree can be found by without its guard.
#[derive(Clone)]
struct Traces {
    mark: u64,
    keep: Vec<OsString>,
    group: Option<PathBuf>,
}

/// Has the guard at the other end of `control` start the program.
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
    // From here on an early return drops the child, and so kills what there may be.
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
        // Nothing is ordered from one that is not there: a suspended warden may be replaced, and wake up later.
        match child.report().await? {
            Some(Report::Here) => {}
            refused => return Ok(refused),
        }
        socket::send_all(&child.control, &frame, &[stdin.as_fd(), stdout.as_fd(), stderr.as_fd()]).await?;
        // The guard has its own copies; the ends must be seen when it has passed them on.
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
        // A few bytes, in a socket that carries nothing else. One that is gone has nobody to obey.
        let _ = socket::send(&self.control, &order.frame(), &[]);
        let deadline = Instant::now().checked_add(time.saturating_add(REPORT_SLACK));
        self.deadline = match (self.deadline, deadline) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    /// Takes in the next report. Cancel-safe.
    async fn listen(&mut self) {
        let known = match &self.state {
            TreeState::Running => Ended::Unknown,
            TreeState::LeaderEnded(ended) => *ended,
            TreeState::Gone { .. } => return,
        };
        let report = match self.deadline {
            Some(deadline) => match timeout_at(deadline, self.report()).await {
                Ok(report) => report,
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
            Ok(Some(Report::Here | Report::Started { .. } | Report::NotStarted { .. })) => return,
            // Somebody killed the guard. The warden ends the tree; so do we, in case that it was killed as well.
            Ok(None) | Err(_) => {
                self.traces.clone().erase();
                TreeState::Gone { ended: known, by: EndedBy::Kill, remains: Remains::default() }
            }
        };
    }

    fn wake_guard(&mut self) {
        self.is_woken = true;
        self.deadline = None;
        self.order(&Order::Kill, KILL_TIMEOUT);
        self.tell_guard(Signal::CONT);
    }

    fn tell_guard(&self, signal: Signal) {
        if let Some(guard) = self.guard {
            guard.signal(signal);
        }
    }

    /// The next report; nothing if the guard is gone. Cancel-safe.
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
            // The guard sees that nobody listens any more, and goes on in short.
            TreeState::LeaderEnded(_) | TreeState::Gone { .. } => {}
        }
    }
}

impl Traces {
    /// Ends whatever carries the mark, on a thread of its own: reading the table of processes takes a while.
    fn erase(self) {
        let thread = std::thread::Builder::new().name("switchboard-erase".into());
        drop(thread.spawn(move || runs::end_marked(self.mark, &self.keep, self.group.as_ref())));
    }
}

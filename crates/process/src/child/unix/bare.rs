//! A child without a guard: a process group led by the program we started.
//!
//! **Reaping comes last.** A group is signalled by its leader's number. Once the leader has been reaped and
//! no member is left, the system may reuse that number, and a late SIGKILL would hit an unrelated group. A
//! leader that has ended but is not reaped still occupies its number. Therefore its end is only observed
//! (`WNOWAIT`), and it is reaped in one place, directly after the group's last SIGKILL.

use super::exit::{ChildState, ExitWatch, look, reap, wait_for_end};
use super::{Ended, Launch, SpawnError, Spawned, Stopped, StoppedBy, diagnose, find};
use crate::pipe::{ByteReader, ByteWriter};
use crate::table::ProcessId;
use crate::tree::OsTree;
use crate::{core_dumps, inherit, room};
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    io,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    thread,
    time::Duration,
};
use tokio::time::timeout;

/// Time limit for a SIGKILL to take effect. Only a process stuck in the kernel (a dead network file system)
/// takes longer; the reaper thread then waits for it.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn spawn(launch: &Launch) -> Result<Spawned, SpawnError> {
    let path = find(launch)?;
    // Our parent may have left SIGCHLD ignored, and descriptors without close-on-exec.
    inherit::keep_children_as_zombies();
    inherit::close_descriptors_on_exec();

    let mut command = Command::new(&path);
    // Programs that look at their own name see what the user wrote, as from a shell.
    command.arg0(&launch.program).args(&launch.args);
    command.env_clear().envs(launch.env.iter().map(|(name, value)| (name, value)));
    if let Some(cwd) = &launch.cwd {
        command.current_dir(cwd);
    }
    room::as_before(&mut command);
    core_dumps::as_before(&mut command);
    // A group of its own can be signalled as a whole, and does not receive our terminal's Ctrl-C.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[expect(clippy::disallowed_methods, reason = "this is the one room that starts processes")]
    let mut started = command.spawn().map_err(|error| diagnose::cause(&path, error))?;

    let other = |source| SpawnError::Other { path: path.clone(), source };
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (started.stdin.take(), started.stdout.take(), started.stderr.take())
    else {
        unreachable!("all three were asked to be pipes");
    };
    // From here on an early return drops the child, which kills and reaps it.
    let child = BareChild::adopt(Pid::from_child(&started)).map_err(other)?;
    Ok(Spawned {
        child: super::OsChild::Bare(child).into(),
        stdin: ByteWriter::from_fd(stdin.into()).map_err(other)?,
        stdout: ByteReader::from_fd(stdout.into()).map_err(other)?,
        stderr: ByteReader::from_fd(stderr.into()).map_err(other)?,
    })
}

pub(crate) struct BareChild {
    pid: Pid,
    /// Identity of the leader, safe against reuse of the number; `None` if the system does not provide it.
    id: Option<ProcessId>,
    leader: Leader,
}

enum Leader {
    Running(ExitWatch),
    /// Ended but not reaped: the number is still taken, so the group can be signalled.
    Zombie(Ended),
    /// The number may belong to any process by now.
    Reaped(Ended),
}

impl BareChild {
    fn adopt(pid: Pid) -> io::Result<Self> {
        match ExitWatch::on(pid) {
            Ok(watch) => {
                let id = ProcessId::of(pid.as_raw_pid().unsigned_abs());
                Ok(Self { pid, id, leader: Leader::Running(watch) })
            }
            Err(error) => {
                // A process whose end we cannot see has no owner, so it must not stay.
                end_group(pid);
                Err(error)
            }
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_pid().unsigned_abs()
    }

    pub(super) fn tree(&self) -> OsTree {
        OsTree::Group { leader: self.id }
    }

    pub(super) async fn wait(&mut self) -> Ended {
        match &mut self.leader {
            Leader::Running(watch) => {
                let end = watch.end(self.pid).await;
                self.leader = match end {
                    Some(ended) => Leader::Zombie(ended),
                    // Reaped by someone else: the number is no longer safe to signal.
                    None => Leader::Reaped(Ended::Unknown),
                };
                end.unwrap_or(Ended::Unknown)
            }
            Leader::Zombie(ended) | Leader::Reaped(ended) => *ended,
        }
    }

    pub(super) async fn stop(&mut self, grace: Duration) -> Stopped {
        if self.ends_within(grace).await {
            return Stopped { ended: self.finish(), how: StoppedBy::Eof };
        }
        self.terminate(grace).await
    }

    pub(super) async fn terminate(&mut self, grace: Duration) -> Stopped {
        self.signal(Signal::TERM);
        // A suspended member acts on SIGTERM only once it is continued.
        self.signal(Signal::CONT);
        let how = if self.ends_within(grace).await {
            StoppedBy::Term
        } else {
            self.signal(Signal::KILL);
            self.ends_within(KILL_TIMEOUT).await;
            StoppedBy::Kill
        };
        Stopped { ended: self.finish(), how }
    }

    async fn ends_within(&mut self, time: Duration) -> bool {
        timeout(time, self.wait()).await.is_ok()
    }

    pub(super) fn kill_now(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        match self.leader {
            // An error means that no member is left.
            Leader::Running(_) | Leader::Zombie(_) => drop(kill_process_group(self.pid, signal)),
            Leader::Reaped(_) => {}
        }
    }

    /// Kills the rest of the group and releases its number, if the leader has ended.
    fn finish(&mut self) -> Ended {
        match self.leader {
            // Stuck in the kernel in spite of SIGKILL. The drop hands it to the reaper thread.
            Leader::Running(_) => Ended::Unknown,
            Leader::Zombie(ended) => {
                bury(self.pid);
                self.leader = Leader::Reaped(ended);
                ended
            }
            Leader::Reaped(ended) => ended,
        }
    }
}

impl Drop for BareChild {
    fn drop(&mut self) {
        match self.leader {
            Leader::Running(_) => end_group(self.pid),
            Leader::Zombie(_) => drop(self.finish()),
            Leader::Reaped(_) => {}
        }
    }
}

/// Kills a group whose leader has not been seen to end. Reaps the leader without blocking the caller: a
/// killed process takes a moment to go, or forever if it is stuck in the kernel.
fn end_group(pid: Pid) {
    let _ = kill_process_group(pid, Signal::KILL);
    match look(pid) {
        ChildState::Ended(_) => bury(pid),
        ChildState::Running => {
            let reaper = thread::Builder::new().name("switchboard-reap".into());
            // If no thread can be started, a zombie stays until we end; that is better than blocking here.
            drop(reaper.spawn(move || {
                wait_for_end(pid);
                bury(pid);
            }));
        }
        // The number may belong to another process by now.
        ChildState::Gone => {}
    }
}

/// Sends the last SIGKILL to a group whose leader has ended, then reaps the leader. No member can escape by
/// forking: the kernel signals a group atomically, and a fork with a pending signal fails.
fn bury(pid: Pid) {
    let _ = kill_process_group(pid, Signal::KILL);
    reap(pid);
}

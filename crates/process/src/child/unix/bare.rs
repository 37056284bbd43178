//! A child without a guard: a process group, whose leader is the program we started.
//!
//! **Reaping comes last.** A group is signalled by its leader's number. Once the leader has been reaped and
//! no member is left, the system may give that number to a process of anybody's, and a late SIGKILL would
//! hit an innocent group. A leader that has ended but was not reaped keeps its number taken. So its end is
//! only looked at (`WNOWAIT`), and it is reaped in one place, right after the group's last SIGKILL.

use super::exit::{ChildState, ExitWatch, look, reap, wait_for_end};
use super::{Ended, Launch, SpawnError, Spawned, Stopped, StoppedBy, diagnose, find};
use crate::pipe::{ByteReader, ByteWriter};
use crate::table::ProcessId;
use crate::tree::OsTree;
use crate::{inherit, room};
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    io,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    thread,
    time::Duration,
};
use tokio::time::timeout;

/// Time that a SIGKILL may take. Longer than this takes only a process that hangs in the kernel (a dead
/// network file system); it is left to the reaper then.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn spawn(launch: &Launch) -> Result<Spawned, SpawnError> {
    let path = find(launch)?;
    inherit::keep_children_as_zombies();
    inherit::close_descriptors_on_exec();

    let mut command = Command::new(&path);
    command.arg0(&launch.program).args(&launch.args);
    command.env_clear().envs(launch.env.iter().map(|(name, value)| (name, value)));
    if let Some(cwd) = &launch.cwd {
        command.current_dir(cwd);
    }
    room::as_before(&mut command);
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[expect(clippy::disallowed_methods, reason = "this is the one room that starts processes")]
    let mut started = command.spawn().map_err(|error| diagnose::cause(&path, error))?;

    let other = |source| SpawnError::Other { path: path.clone(), source };
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (started.stdin.take(), started.stdout.take(), started.stderr.take())
    else {
        unreachable!("all three were asked to be pipes");
    };
    // From here on an early return drops the child, and so kills and reaps it.
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
    /// The leader beyond doubt; nothing if the system does not tell.
    id: Option<ProcessId>,
    leader: Leader,
}

enum Leader {
    Running(ExitWatch),
    /// It has ended; its number is still taken, and the group can be signalled.
    Zombie(Ended),
    /// The number may be anybody's by now.
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
        // A member that is suspended acts on SIGTERM only when it is continued.
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
            // An error says that no member is left that could be told.
            Leader::Running(_) | Leader::Zombie(_) => drop(kill_process_group(self.pid, signal)),
            Leader::Reaped(_) => {}
        }
    }

    /// Kills what is left of the group and gives up its number, if the leader has ended.
    fn finish(&mut self) -> Ended {
        match self.leader {
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

/// Kills a group whose leader was not seen to end, and reaps the leader without making the caller wait: a
/// killed process takes a moment to go, or for ever if it hangs in the kernel.
fn end_group(pid: Pid) {
    let _ = kill_process_group(pid, Signal::KILL);
    match look(pid) {
        ChildState::Ended(_) => bury(pid),
        ChildState::Running => {
            let reaper = thread::Builder::new().name("switchboard-reap".into());
            // Without a thread a zombie stays until we end, which is better than to stand still here.
            drop(reaper.spawn(move || {
                wait_for_end(pid);
                bury(pid);
            }));
        }
        ChildState::Gone => {}
    }
}

/// The last SIGKILL to a group whose leader has ended, and only then the reaping. No member can slip through
/// by forking: the system signals a group as a whole, and a fork with a signal pending does not happen.
fn bury(pid: Pid) {
    let _ = kill_process_group(pid, Signal::KILL);
    reap(pid);
}

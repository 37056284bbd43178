//! The process of a subject: started, watched, and ended. It does not know how it is spoken to.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::Failure;
use super::subject::Subject;
use super::watchdog::{Watch, Watchdog};
use crate::spawn::{self, Group};

/// How long a subject may take to end when it should.
const END_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Running {
    child: Child,
    pid: Pid,
    watch: Option<Watch>,
    /// What it printed on stderr, shown if it fails.
    log: PathBuf,
}

impl Running {
    pub(super) fn spawn(
        subject: &Subject,
        dog: &Watchdog,
        scratch: &Path,
    ) -> Result<(Self, ChildStdin, ChildStdout), Failure> {
        let log = scratch.join(format!("{}.stderr", subject.name.replace('/', "_")));
        let stderr = Stdio::from(File::create(&log)?);
        let mut child = spawn::piped(&subject.argv, Some(&scratch.join("state")), stderr, Group::Own)?;
        let pid = Pid::from_child(&child);
        let to = child.stdin.take().expect("stdin was asked to be a pipe");
        let from = child.stdout.take().expect("stdout was asked to be a pipe");
        Ok((Self { child, pid, watch: Some(dog.watch(pid)), log }, to, from))
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// What it has printed on stderr so far.
    pub(super) fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub(super) fn begin_turn(&self) {
        self.watch.iter().for_each(Watch::begin_turn);
    }

    pub(super) fn end_turn(&self) {
        self.watch.iter().for_each(Watch::end_turn);
    }

    /// Why a call failed, with what the subject printed.
    pub(super) fn explain(&self, failure: Failure) -> Failure {
        let mut message = match self.watch.as_ref().and_then(Watch::bit) {
            Some(limit) => format!("killed, since it had not finished after {} s", limit.as_secs()),
            None => failure.0,
        };
        let said = self.said();
        let lines: Vec<_> = said.lines().collect();
        for line in &lines[lines.len().saturating_sub(5)..] {
            message.push_str("\n    stderr: ");
            message.push_str(line);
        }
        Failure(message)
    }

    pub(super) fn tell_to_end(&self) -> Result<(), Failure> {
        kill_process(self.pid, Signal::TERM).map_err(|error| Failure(format!("telling it to end: {error}")))
    }

    /// It must go by itself by now, since something happened.
    pub(super) fn ended(mut self, after: &str) -> Result<(), Failure> {
        // From the first wait on the pid may be another's: the watchdog has to let go before.
        self.watch = None;
        let deadline = Instant::now() + END_TIMEOUT;
        while Instant::now() < deadline {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
        }
        kill_group(self.pid);
        self.child.wait()?;
        Err(Failure(format!("did not end within {} s after {after}", END_TIMEOUT.as_secs())))
    }
}

impl Drop for Running {
    /// Left without [`Running::ended`], since something failed: nothing may stay behind.
    fn drop(&mut self) {
        if self.watch.take().is_some() {
            kill_group(self.pid);
            let _ = self.child.wait();
        }
    }
}

fn kill_group(pid: Pid) {
    // It may have ended by itself and not have been reaped yet, which is as good.
    let _ = kill_process_group(pid, Signal::KILL);
}

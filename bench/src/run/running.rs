//! The process of a subject: started, watched, and ended. Must not know whether it is called over pipes or HTTP.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use switchboard_testkit::client::{Pipes, Program, Start};
use switchboard_testkit::pids::{self, Word};

use super::Failure;
use super::subject::Subject;
use super::watchdog::{Watch, Watchdog};

/// Time limit for a subject to end.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// The state folder of all subjects.
pub(super) fn state_folder(scratch: &Path) -> PathBuf {
    scratch.join("state/state")
}

pub(super) struct Running {
    child: Child,
    pid: Pid,
    watch: Option<Watch>,
    /// Its stderr, shown if it fails.
    log: PathBuf,
}

impl Running {
    pub(super) fn spawn(subject: &Subject, dog: &Watchdog, scratch: &Path) -> Result<(Self, Pipes), Failure> {
        let log = scratch.join(format!("{}.stderr", subject.name.replace('/', "_")));
        let start = Start::plain(&subject.argv).stderr(File::create(&log)?).own_group();
        let start = start.env("SWITCHBOARD_STATE_DIR", state_folder(scratch));
        let Program { child, pipes } = start.env("XDG_RUNTIME_DIR", scratch.join("state/run")).program()?;
        let pid = Pid::from_child(&child);
        Ok((Self { child, pid, watch: Some(dog.watch(pid)), log }, pipes))
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its stderr so far.
    pub(super) fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub(super) fn begin_turn(&self) {
        self.watch.iter().for_each(Watch::begin_turn);
    }

    pub(super) fn end_turn(&self) {
        self.watch.iter().for_each(Watch::end_turn);
    }

    /// The reason why a call failed, with the end of the subject's stderr.
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

    pub(super) fn tell_to_end(&self) {
        pids::tell(self.pid(), Word::Terminate);
    }

    /// Waits for the subject's end, caused by `after`.
    pub(super) fn ended(mut self, after: &str) -> Result<(), Failure> {
        // The pid may be reused from the first wait on, so the watchdog must release it before.
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
    /// Dropped without [`Running::ended`] after a failure: no process may be left.
    fn drop(&mut self) {
        if self.watch.take().is_some() {
            kill_group(self.pid);
            let _ = self.child.wait();
        }
    }
}

fn kill_group(pid: Pid) {
    // Fails if the process has ended and was not reaped yet, which is equally good.
    let _ = kill_process_group(pid, Signal::KILL);
}

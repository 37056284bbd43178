//! Kills subjects that exceed their time limit, with their process group. Time counts only during a subject's turn.
//! Knows pids and deadlines only.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use switchboard_testkit::monitor::Monitor;

/// Polling interval; coarse, so that the thread's wake-ups do not affect the measurement.
const TICK_INTERVAL: Duration = Duration::from_secs(1);
/// Time limit for the end of a killed subject; beyond it, another process must hold its pipe.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(super) struct Watchdog {
    limit: Duration,
    watched: Arc<Monitor<HashMap<Pid, Watched>>>,
}

#[derive(Clone, Copy)]
enum Watched {
    /// Another subject's turn; the remaining time.
    Resting(Duration),
    /// Its turn, with the deadline.
    Busy(Instant),
    Killed(Instant),
}

/// A watched process; dropping this ends the watch. That must come before the process is reaped, since from
/// then on the pid may be reused.
pub(super) struct Watch {
    dog: Watchdog,
    pid: Pid,
}

impl Watchdog {
    pub(super) fn start(limit: Duration) -> Self {
        let dog = Self { limit, watched: Arc::default() };
        let patrol = dog.clone();
        thread::spawn(move || {
            loop {
                thread::sleep(TICK_INTERVAL);
                patrol.check(Instant::now());
            }
        });
        dog
    }

    pub(super) fn watch(&self, pid: Pid) -> Watch {
        self.watched.lock().insert(pid, Watched::Resting(self.limit));
        Watch { dog: self.clone(), pid }
    }

    fn check(&self, now: Instant) {
        for (pid, watched) in self.watched.lock().iter_mut() {
            match watched {
                Watched::Busy(deadline) if now >= *deadline => {
                    // Fails if the process has ended and was not reaped yet, which is equally good.
                    let _ = kill_process_group(*pid, Signal::KILL);
                    *watched = Watched::Killed(now);
                }
                Watched::Killed(when) if now >= *when + KILL_TIMEOUT => {
                    let pid = pid.as_raw_nonzero();
                    eprintln!(
                        "process {pid} was killed, but something that it started keeps its stdout open: giving up"
                    );
                    std::process::exit(3);
                }
                Watched::Resting(_) | Watched::Busy(_) | Watched::Killed(_) => {}
            }
        }
    }
}

impl Watch {
    pub(super) fn begin_turn(&self) {
        self.change(|watched, now| match watched {
            Watched::Resting(left) => Watched::Busy(now + left),
            Watched::Busy(_) | Watched::Killed(_) => watched,
        });
    }

    pub(super) fn end_turn(&self) {
        self.change(|watched, now| match watched {
            Watched::Busy(deadline) => Watched::Resting(deadline.saturating_duration_since(now)),
            Watched::Resting(_) | Watched::Killed(_) => watched,
        });
    }

    fn change(&self, to: impl FnOnce(Watched, Instant) -> Watched) {
        if let Some(watched) = self.dog.watched.lock().get_mut(&self.pid) {
            *watched = to(*watched, Instant::now());
        }
    }

    /// The limit, if the process was killed for exceeding it.
    pub(super) fn bit(&self) -> Option<Duration> {
        match self.dog.watched.lock().get(&self.pid) {
            Some(Watched::Killed(_)) => Some(self.dog.limit),
            Some(Watched::Resting(_) | Watched::Busy(_)) | None => None,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.dog.watched.lock().remove(&self.pid);
    }
}

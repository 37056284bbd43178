//! The program with a zoo behind it: all processes that may be left, and the check that none is.

use super::setting::Setting;
use std::fmt::{self, Display};
use std::time::{Duration, Instant};
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};
use switchboard_testkit::tree::{self, Process};
use switchboard_testkit::zoo::{self, Zoo};

/// The promise is one second. The machine may be busy with other tests.
pub(super) const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Scene {
    pub(super) client: Client,
    /// The program itself.
    pub(super) us: Process,
    /// All its descendants when they were last listed.
    pub(super) family: Vec<Process>,
    /// Other processes of the test, not started by the program. They end with the scene.
    pub(super) strangers: Vec<Process>,
}

impl Scene {
    /// The program after its handshake, with all eight kinds of process behind it.
    #[track_caller]
    pub(super) fn open(setting: Setting) -> Self {
        Self::greet(setting.start(zoo::EIGHT))
    }

    #[track_caller]
    pub(super) fn greet(start: Start) -> Self {
        let mut client = start.start();
        client.initialize();
        let us = Process::look(client.pid()).unwrap();
        Self::look(client, us)
    }

    pub(super) fn look(client: Client, us: Process) -> Self {
        let family = tree::descendants(us.pid);
        Self { client, us, family, strangers: Vec::new() }
    }

    pub(super) fn look_again(&mut self) {
        self.family = tree::descendants(self.us.pid);
    }

    pub(super) fn zoo(&self, launch: u32) -> Zoo {
        Zoo::of(self.client.record().folder(), launch)
    }

    /// Checks that all eight live, below a guard below a warden.
    #[track_caller]
    pub(super) fn check_complete(&self, setting: Setting, launch: u32) {
        assert_eq!(self.zoo(launch).living(), zoo::NAMES, "the zoo is complete");
        assert_eq!(self.warden().parent, self.us.pid, "{:#?}", self.family);
        assert_eq!(self.guard().parent, self.warden().pid, "{:#?}", self.family);
        if setting.guard == super::setting::Guard::Strict {
            assert_eq!(self.only("sb-init").parent, self.guard().pid, "{:#?}", self.family);
            assert_eq!(self.only("sb-parent").parent, self.only("sb-init").pid, "{:#?}", self.family);
        }
        let below_guard = tree::descendants(self.guard().pid).len();
        assert!(below_guard >= zoo::NAMES.len(), "{:#?}", self.family);
    }

    pub(super) fn warden(&self) -> &Process {
        self.only("sb-warden")
    }

    pub(super) fn guard(&self) -> &Process {
        self.only("sb-guard")
    }

    #[track_caller]
    pub(super) fn only(&self, name: &str) -> &Process {
        match &self.family.iter().filter(|process| process.name == name).collect::<Vec<_>>()[..] {
            [one] => one,
            others => panic!("one {name} is expected, there are {others:?} in {:#?}", self.family),
        }
    }

    /// Suspends these and then kills them, so that none can react to the end of another.
    #[track_caller]
    pub(super) fn kill_in_one_instant(&self, those: &[&Process]) {
        those.iter().for_each(|process| process.tell(Word::Suspend));
        patience::until_true("all are suspended", || {
            those.iter().all(|process| process.again().is_none_or(|now| now.is_stopped()))
        });
        those.iter().for_each(|process| process.tell(Word::Kill));
    }

    /// All remaining processes of the program, for a failure message.
    pub(super) fn left(&mut self) -> Vec<String> {
        // Reaps the program, whose parent is the test.
        self.client.has_ended();
        let mut left: Vec<String> = [&self.us]
            .into_iter()
            .chain(&self.family)
            .filter(|process| process.is_alive())
            .map(show)
            .collect();
        left.extend((1..=9).flat_map(|launch| self.zoo(launch).living()));
        let traces = pids::with_trace(&self.client.scratch().path().display().to_string());
        let traces = traces.into_iter().filter(|&pid| self.strangers.iter().all(|other| other.pid != pid));
        left.extend(traces.filter_map(Process::look).map(|process| format!("{} (a trace)", show(&process))));
        left
    }

    /// Checks that nothing is left within the promised time; returns the time it took.
    #[track_caller]
    pub(super) fn check_gone(&mut self, since: Instant) -> Duration {
        check_gone(since, || self.left());
        since.elapsed()
    }

    /// Checks that none of these is left within the promised time.
    #[track_caller]
    pub(super) fn check_these_gone(&self, since: Instant, those: &[Process], launch: u32) {
        check_gone(since, || {
            let alive = those.iter().filter(|process| process.is_alive()).map(show);
            alive.chain(self.zoo(launch).living()).collect()
        });
    }
}

#[track_caller]
pub(super) fn check_gone(since: Instant, mut left: impl FnMut() -> Vec<String>) {
    let last = std::cell::RefCell::new(Vec::new());
    patience::before(since + CLEANUP_TIMEOUT, Left(&last), || {
        *last.borrow_mut() = left();
        last.borrow().is_empty().then_some(())
    });
}

struct Left<'a>(&'a std::cell::RefCell<Vec<String>>);

impl Display for Left<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing is left after {CLEANUP_TIMEOUT:?}; there are still {:?}", self.0.borrow())
    }
}

fn show(process: &Process) -> String {
    format!("{} {} (child of {})", process.name, process.pid, process.parent)
}

impl Drop for Scene {
    /// Cleans up after a failed test too. The client removes processes with a trace of the test's folder.
    fn drop(&mut self) {
        self.strangers.iter().for_each(|process| process.tell(Word::Kill));
        if std::thread::panicking() {
            [&self.us].into_iter().chain(&self.family).for_each(|process| process.tell(Word::Kill));
        }
    }
}

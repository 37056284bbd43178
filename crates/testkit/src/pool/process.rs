//! The processes: they come, work, hang, crash, grow, and end in their own time. What they say is in `process_talk`.

use super::ledger::Check;
use super::site::Site;
use super::world::World;
use serde_json::Value;
use std::collections::BTreeSet;
use switchboard_core::{ClientId, Event, Launch, Moment, StopHow};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Asked for, and not there yet.
    Making,
    Alive,
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Temper {
    Healthy,
    Slow,
    /// Says nothing any more after so many answers.
    Mute(usize),
    Doomed,
}

/// What a process was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Job {
    /// A client's request, by its number in the books.
    Client(usize),
    /// The handshake of an earlier process, with the number of the request that it was.
    Replay(usize),
    /// A sign of life.
    Probe,
    /// What an earlier process had been told, or what follows from a client's leaving.
    Restore,
}

#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) id: Value,
    pub(super) job: Job,
    pub(super) since: Moment,
    /// It will be answered with an error, and has no effect.
    pub(super) fails: bool,
}

/// One process of a backend.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) launch: Launch,
    pub(super) phase: Phase,
    pub(super) root: Option<String>,
    pub(super) environment: u32,
    comes: Moment,
    /// When it ends because it was told to.
    pub(super) ends: Option<Moment>,
    pub(super) temper: Temper,
    /// Handshakes that it was asked for, and whether one was answered well.
    pub(super) handshakes: usize,
    pub(super) greeter: Option<usize>,
    pub(super) is_greeted: bool,
    pub(super) is_confirmed: bool,
    pub(super) open: Vec<Open>,
    /// The request that it answered last: its id here, and its number.
    pub(super) answered: Option<(Value, usize)>,
    /// All ids that it was given.
    pub(super) given: BTreeSet<u64>,
    pub(super) subscriptions: BTreeSet<String>,
    pub(super) level: Option<usize>,
    /// Whose request that was, unless it was ours.
    pub(super) level_by: Option<ClientId>,
    pub(super) clients: BTreeSet<ClientId>,
    /// Whose requests it was given, other than handshakes, pings, lists and levels.
    pub(super) users: BTreeSet<ClientId>,
    /// For whom it may have been told again what an earlier process was told.
    pub(super) may_have_used: BTreeSet<ClientId>,
    /// Who has used it since it is known that the server asks questions.
    pub(super) owner: Option<ClientId>,
    /// It asked something that could have been about several clients: it is given nothing more.
    pub(super) is_disputed: bool,
    /// What it was told that its roots are.
    pub(super) roots_told: Option<Vec<Value>>,
    /// It was given something beyond a handshake.
    pub(super) has_work: bool,
    /// When it last said anything, and when it was last of use.
    pub(super) last_word: Moment,
    pub(super) last_use: Moment,
    /// When a client last waited for it in vain.
    pub(super) free_since: Moment,
    /// It held too much memory at so many looks in a row.
    pub(super) heavy: usize,
    pub(super) answers: usize,
}

impl Process {
    /// When it comes or goes by itself.
    pub(super) fn due(&self) -> Option<Moment> {
        match self.phase {
            Phase::Making => Some(self.comes),
            Phase::Alive => self.ends,
            Phase::Gone => None,
        }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.phase != Phase::Gone
    }

    pub(super) fn is_staying(&self) -> bool {
        self.is_alive() && self.ends.is_none()
    }
}

/// What a living process does next.
#[derive(Debug, Clone, Copy)]
enum Act {
    Answer,
    Progress,
    Log,
    ListChanged,
    Update,
    TaskStatus,
    AskSampling,
    AskRoots,
    Crash,
}

const ACTS: &[(usize, Act)] = &[
    (500, Act::Answer),
    (50, Act::Progress),
    (60, Act::Log),
    (60, Act::ListChanged),
    (60, Act::Update),
    (20, Act::TaskStatus),
    (60, Act::AskSampling),
    (60, Act::AskRoots),
    (4, Act::Crash),
];

impl World {
    pub(super) fn start(&mut self, launch: Launch, root: Option<String>, environment: u32) -> Check {
        self.check_start(launch, &root, environment)?;
        self.stats.starts += 1;
        self.stats.second_starts += u64::from(launch.number > 1);
        let (now, site_root) = (self.now, root.clone());
        let site = self.sites.entry(launch.backend).or_insert_with(|| Site::new(site_root, environment));
        site.why = None;
        site.environment = environment;
        self.stats.rooms_after_waiting += u64::from(self.in_line.remove(&launch.backend));
        let doomed = if self.plan.is_crashy { 40 } else { 3 };
        let temper = match () {
            () if self.rng.percent(doomed) => Temper::Doomed,
            () if self.rng.percent(10) => Temper::Slow,
            () if self.rng.percent(10) => Temper::Mute(self.rng.below(6)),
            () => Temper::Healthy,
        };
        let comes =
            now + if self.rng.percent(3) { self.rng.millis(800..=6000) } else { self.rng.millis(0..=800) };
        let process = Process {
            launch,
            phase: Phase::Making,
            root,
            environment,
            comes,
            ends: None,
            temper,
            handshakes: 0,
            greeter: None,
            is_greeted: false,
            is_confirmed: false,
            open: Vec::new(),
            given: BTreeSet::new(),
            subscriptions: BTreeSet::new(),
            level: None,
            level_by: None,
            clients: BTreeSet::new(),
            users: BTreeSet::new(),
            may_have_used: BTreeSet::new(),
            owner: None,
            is_disputed: false,
            roots_told: None,
            has_work: false,
            last_word: now,
            last_use: now,
            free_since: now,
            heavy: 0,
            answers: 0,
            answered: None,
        };
        match self.processes.insert(launch, process) {
            Some(_) => Err(format!("{launch} is started twice")),
            None => Ok(()),
        }
    }

    pub(super) fn stop(&mut self, launch: Launch, how: StopHow) -> Check {
        self.check_stop(launch)?;
        let lag = match how {
            StopHow::Gently { grace } if self.rng.percent(30) => {
                self.rng.millis(0..=2 * grace.as_millis() as usize)
            }
            StopHow::Terminate { grace } if self.rng.percent(30) => {
                self.rng.millis(0..=grace.as_millis() as usize)
            }
            StopHow::Gently { .. } | StopHow::Terminate { .. } => self.rng.millis(0..=100),
            StopHow::Kill => self.rng.millis(0..=200),
        };
        self.stats.slow_ends += u64::from(lag.as_millis() > 1000);
        self.site(launch.backend).news_for.clear();
        let end = self.now + lag;
        let process = self.process(launch);
        process.ends = Some(process.ends.map_or(end, |earlier| earlier.min(end)));
        Ok(())
    }

    pub(super) fn process_acts(&mut self) -> Check {
        let alive: Vec<Launch> = self.alive().collect();
        if alive.is_empty() {
            return Ok(());
        }
        let launch = *self.rng.pick(&alive);
        let process = self.process(launch);
        if process.phase == Phase::Making {
            return if self.rng.percent(60) { self.change(launch) } else { Ok(()) };
        }
        let (temper, is_ready) = (process.temper, process.is_greeted && process.is_confirmed);
        match temper {
            Temper::Doomed if self.rng.percent(20) => return self.end(launch),
            Temper::Slow if self.rng.percent(80) => return Ok(()),
            Temper::Mute(after) if self.process(launch).answers >= after => return Ok(()),
            Temper::Mute(_) | Temper::Doomed | Temper::Slow | Temper::Healthy => {}
        }
        match self.rng.weighted(ACTS) {
            Act::Answer => self.process_answers(launch),
            Act::Crash => self.end(launch),
            _ if !is_ready => Ok(()),
            Act::Progress => self.process_progresses(launch),
            Act::Log => self.process_logs(launch),
            Act::ListChanged => self.process_lists_change(launch),
            Act::Update => self.process_updates(launch),
            Act::TaskStatus => self.process_ends_task(launch),
            Act::AskSampling => self.process_asks_sampling(launch),
            Act::AskRoots => self.process_asks_roots(launch),
        }
    }

    /// Healthy processes do not let time pass with work undone.
    pub(super) fn healthy_work_off(&mut self) -> Check {
        let alive: Vec<Launch> = self.alive().collect();
        for launch in alive {
            let process = self.process(launch);
            if process.temper == Temper::Healthy && process.phase == Phase::Alive {
                for _ in 0..self.process(launch).open.len() {
                    self.process_answers(launch)?;
                }
            }
        }
        Ok(())
    }

    /// What is due for a process: it comes, or it goes.
    pub(super) fn change(&mut self, launch: Launch) -> Check {
        let phase = self.process(launch).phase;
        match phase {
            Phase::Making if self.rng.percent(self.plan.spawn_failures) => {
                self.stats.spawn_failures += 1;
                self.bury(launch);
                self.note(|| format!("{launch} cannot be spawned"));
                self.handle(Event::SpawnFailed { launch, reason: "no such file".into(), hint: None })
            }
            Phase::Making => {
                self.process(launch).phase = Phase::Alive;
                self.note(|| format!("{launch} is spawned"));
                self.handle(Event::Spawned { launch, pid: 1000 + launch.number })
            }
            Phase::Alive => self.end(launch),
            Phase::Gone => Ok(()),
        }
    }

    /// A process ends, told to or not.
    pub(super) fn end(&mut self, launch: Launch) -> Check {
        self.stats.crashes += u64::from(self.process(launch).ends.is_none());
        self.bury(launch);
        self.note(|| format!("{launch} ends"));
        self.handle(Event::BackendEnded {
            launch,
            how: "exit code 1".into(),
            stderr: String::new(),
            hint: None,
        })
    }

    fn bury(&mut self, launch: Launch) {
        let now = self.now;
        self.process(launch).phase = Phase::Gone;
        self.site(launch.backend).news_for.clear();
        for task in self.site(launch.backend).tasks.iter_mut().filter(|task| task.launch == launch) {
            task.is_over = true;
        }
        let is_there = |number: usize| self.requests[number].handed.last() == Some(&launch);
        let touched: Vec<usize> = (0..self.requests.len()).filter(|&number| is_there(number)).collect();
        for number in touched {
            self.requests[number].touched = now;
        }
    }

    pub(super) fn memory_is_measured(&mut self) -> Check {
        let limit = self.plan.settings.servers[0].memory_limit;
        let alive: Vec<Launch> = self.alive().collect();
        let mut bytes = Vec::new();
        for launch in alive {
            if self.process(launch).phase != Phase::Alive {
                continue;
            }
            let size = self.rng.weighted(&[(5, 300), (2, 900), (3, 1500)]);
            let process = self.process(launch);
            process.heavy = if limit.is_some_and(|limit| size > limit) { process.heavy + 1 } else { 0 };
            bytes.push((launch, size));
        }
        self.note(|| format!("measured: {bytes:?}"));
        self.handle(Event::Measured { bytes })
    }
}

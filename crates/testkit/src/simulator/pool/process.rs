//! The processes: they come, work, hang, crash, grow, and end in their own time. What they say is in `process_talk`.

use super::{PoolWorld, Sites};
use crate::simulator::engine::{Check, Made, Phase, ProcessAct, Start};
use serde_json::Value;
use std::collections::BTreeSet;
use switchboard_core::{ClientId, Event, Launch, Moment};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Health {
    #[default]
    Healthy,
    Slow,
    /// Says nothing any more after so many answers.
    Mute(usize),
    Doomed,
}

/// The reason for a request to a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Job {
    /// A client's request, by its number in the books.
    Client(usize),
    /// The handshake of an earlier process, with the number of the request that it was.
    Replay(usize),
    /// A sign of life.
    Probe,
    /// State of an earlier process, or a consequence of a client's leaving.
    Restore,
}

#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) id: u64,
    pub(super) job: Job,
    pub(super) since: Moment,
    /// Will be answered with an error, and has no effect.
    pub(super) fails: bool,
}

/// A process, beside the engine's part.
#[derive(Debug, Default)]
pub(crate) struct PoolProcess {
    pub(super) health: Health,
    pub(super) greeter: Option<usize>,
    pub(super) open: Vec<Open>,
    /// The request that it answered last: its id here, and its number.
    pub(super) answered: Option<(u64, usize)>,
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
    /// Asked a question that could concern several clients, and is given no more requests.
    pub(super) is_disputed: bool,
    /// Roots that it was told.
    pub(super) roots_told: Option<Vec<Value>>,
    /// Was given something beyond a handshake.
    pub(super) has_work: bool,
    /// When it was last of use.
    pub(super) last_use: Moment,
    /// When a client last waited for it in vain.
    pub(super) free_since: Moment,
    /// Consecutive measurements at which it held too much memory.
    pub(super) heavy: usize,
    pub(super) answers: usize,
}

const ACTS: &[(usize, ProcessAct<Sites>)] = &[
    (500, PoolWorld::process_answers),
    (50, PoolWorld::process_progresses),
    (60, PoolWorld::process_logs),
    (60, PoolWorld::process_lists_change),
    (60, PoolWorld::process_updates),
    (20, PoolWorld::process_ends_task),
    (60, PoolWorld::process_asks_sampling),
    (60, PoolWorld::process_asks_roots),
    (4, PoolWorld::ends),
];

/// Acts of a process whose handshake is not over.
const FIRST_ACTS: &[(usize, ProcessAct<Sites>)] = &[(500, PoolWorld::process_answers), (4, PoolWorld::ends)];

impl PoolWorld {
    pub(super) fn make_process(&mut self, start: &Start) -> Check<Made<PoolProcess>> {
        self.check_start(start)?;
        self.stats.count_if("second_starts", start.launch.number > 1);
        let (backend, now) = (start.launch.backend, self.now);
        let site = self.own.sites.entry(backend).or_default();
        (site.root, site.environment, site.why) = (start.root.clone(), start.environment, None);
        self.stats.count_if("rooms_after_waiting", self.in_line.remove(&backend));
        let doomed = if self.plan.is_crashy { 40 } else { 3 };
        let health = match () {
            () if self.rng.percent(doomed) => Health::Doomed,
            () if self.rng.percent(10) => Health::Slow,
            () if self.rng.percent(10) => Health::Mute(self.rng.below(6)),
            () => Health::Healthy,
        };
        let process = PoolProcess { health, last_use: now, free_since: now, ..PoolProcess::default() };
        Ok((process, self.rng.wait(&[(97, (0, 800)), (3, (800, 6000))])))
    }

    pub(super) fn process_acts(&mut self) -> Check {
        let alive: Vec<Launch> = self.alive().collect();
        let Some(launch) = self.rng.choose(&alive) else { return Ok(()) };
        let process = &self.processes[&launch];
        if process.phase == Phase::Making {
            return if self.rng.percent(60) { self.comes(launch) } else { Ok(()) };
        }
        let is_ready = process.is_greeted && process.is_confirmed;
        match process.health {
            Health::Doomed if self.rng.percent(20) => return self.ends(launch),
            Health::Slow if self.rng.percent(80) => return Ok(()),
            Health::Mute(after) if process.answers >= after => return Ok(()),
            Health::Mute(_) | Health::Doomed | Health::Slow | Health::Healthy => {}
        }
        self.rng.weighted(if is_ready { ACTS } else { FIRST_ACTS })(self, launch)
    }

    /// Healthy processes do not let time pass with work undone.
    pub(super) fn healthy_work_off(&mut self) -> Check {
        for launch in self.running() {
            if self.process(launch).health == Health::Healthy {
                for _ in 0..self.process(launch).open.len() {
                    self.process_answers(launch)?;
                }
            }
        }
        Ok(())
    }

    /// Everything that a process kept is gone with it.
    pub(super) fn bury(&mut self, launch: Launch) {
        let now = self.now;
        self.site(launch.backend).news_for.clear();
        for task in self.site(launch.backend).tasks.iter_mut().filter(|task| task.launch == launch) {
            task.is_over = true;
        }
        let is_there = |number: usize| self.ledger.requests[number].handed.last() == Some(&launch);
        let touched: Vec<usize> =
            (0..self.ledger.requests.len()).filter(|&number| is_there(number)).collect();
        for number in touched {
            self.ledger.requests[number].touched = now;
        }
    }

    pub(super) fn memory_is_measured(&mut self) -> Check {
        let limit = self.settings.servers[0].memory_limit;
        let mut bytes = Vec::new();
        for launch in self.running() {
            let size = self.rng.weighted(&[(5, 300), (2, 900), (3, 1500)]);
            let process = self.process(launch);
            process.heavy = if limit.is_some_and(|limit| size > limit) { process.heavy + 1 } else { 0 };
            bytes.push((launch, size));
        }
        self.handle(Event::Measured { bytes })
    }
}

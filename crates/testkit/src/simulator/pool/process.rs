//! The processes: they start, work, hang, crash, grow, and end slowly. Their messages are in `process_talk`.

use super::{PoolWorld, Sites};
use crate::simulator::engine::{Check, Made, Phase, ProcessAct, Start};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;
use switchboard_core::{ClientId, Event, Launch, Moment, ProcessUsage};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Health {
    #[default]
    Healthy,
    Slow,
    /// Number of answers after which the process falls silent.
    Mute(usize),
    Doomed,
}

/// The reason for a request to a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Job {
    /// A client's request, by its number in the ledger.
    Client(usize),
    /// The handshake of an earlier process, with the number of its request, or our own.
    Replay(Option<usize>),
    /// A probe.
    Probe,
    /// State of an earlier process, or a consequence of a client's departure.
    Restore,
}

#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) id: u64,
    pub(super) job: Job,
    pub(super) since: Moment,
    /// Whether it will be answered with an error, and has no effect.
    pub(super) fails: bool,
}

/// The scenario's own part of a process.
#[derive(Debug, Default)]
pub(crate) struct PoolProcess {
    pub(super) health: Health,
    pub(super) greeter: Option<usize>,
    pub(super) open: Vec<Open>,
    /// The last request that it answered: its id here, and its number.
    pub(super) answered: Option<(u64, usize)>,
    pub(super) subscriptions: BTreeSet<String>,
    pub(super) level: Option<usize>,
    /// The client of that request, unless it was ours.
    pub(super) level_by: Option<ClientId>,
    pub(super) clients: BTreeSet<ClientId>,
    /// Clients whose requests it got, other than handshakes, pings, lists and levels.
    pub(super) users: BTreeSet<ClientId>,
    /// Clients for whom state may have been restored.
    pub(super) may_have_used: BTreeSet<ClientId>,
    /// Clients that have used it since the server is known to ask questions.
    pub(super) owner: Option<ClientId>,
    /// Whether it asked a question that could concern several clients, and gets no more requests.
    pub(super) is_disputed: bool,
    /// Roots that it was told.
    pub(super) roots_told: Option<Vec<Value>>,
    /// Whether it got anything beyond a handshake.
    pub(super) has_work: bool,
    /// Last time that it was useful.
    pub(super) last_use: Moment,
    /// Last time that a client waited for it in vain.
    pub(super) free_since: Moment,
    /// Consecutive measurements above the memory limit.
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

/// Acts of a process whose handshake is not complete.
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

    /// Healthy processes finish their work before time passes.
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

    /// Removes the state that a process kept.
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
        let mut used = Vec::new();
        for launch in self.running() {
            let size = self.rng.weighted(&[(5, 300), (2, 900), (3, 1500)]);
            let process = self.process(launch);
            process.heavy = if limit.is_some_and(|limit| size > limit) { process.heavy + 1 } else { 0 };
            used.push((launch, ProcessUsage { memory_bytes: size, cpu: Duration::ZERO }));
        }
        self.handle(Event::Measured { used })
    }
}

//! The backends: processes that come, go, read or do not, and now and then do the wrong thing. What they say
//! is in `backend_talk`.

use super::ledger::Check;
use super::outbox::Outbox;
use super::world::World;
use std::collections::{BTreeMap, BTreeSet};
use switchboard_core::{Event, Launch, Moment, Peer};
use switchboard_protocol::Framing;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Asked for, and not there yet.
    Making,
    Alive,
    Gone,
}

/// How a process behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Temper {
    /// Reads and answers.
    Healthy,
    /// Reads, and answers when it likes, also wrongly.
    Chaotic,
    /// Reads and says nothing.
    Mute,
    /// Does not even read.
    Deaf,
    /// Dies soon.
    Doomed,
    /// Does not understand the framing in which it is spoken to.
    Foreign,
}

/// Whether a process may be sent what clients say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    /// Nothing was sent so far.
    Fresh,
    /// It hears the handshake of an earlier process, and has not answered.
    Replaying,
    /// `initialized` must be next.
    Confirming,
    Open,
}

/// A request that a process has read.
#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) minted: String,
    /// `None` if it is not a client's: a probe.
    pub(super) request: Option<usize>,
    pub(super) is_replay: bool,
}

/// One process of a backend.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) launch: Launch,
    pub(super) phase: Phase,
    pub(super) gate: Gate,
    /// When it is made, or cannot be made.
    comes: Moment,
    /// When it ends because it was told to.
    pub(super) ends: Option<Moment>,
    temper: Temper,
    is_reading: bool,
    pub(super) outbox: Outbox<Option<Open>>,
    /// Read and not answered, and answered.
    pub(super) open: Vec<Open>,
    pub(super) answered: Vec<Open>,
    /// All ids it was sent, with whose they are.
    pub(super) seen: BTreeMap<String, Option<usize>>,
    pub(super) asks: Vec<usize>,
    /// The notifications `initialized` that it was sent.
    pub(super) confirmed: BTreeSet<usize>,
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
}

/// What a living process does next.
#[derive(Debug, Clone, Copy)]
enum Act {
    Nothing,
    Read,
    ToggleReading,
    Answer,
    AnswerMany,
    AnswerBadly,
    SecondAnswer,
    StrayAnswer,
    NullError,
    Progress,
    StrayProgress,
    Notify,
    Flood,
    Ask,
    CancelAsk,
    Noise,
    Babble,
    Crash,
}

const HEALTHY: &[(usize, Act)] = &[
    (20, Act::Read),
    (50, Act::AnswerMany),
    (10, Act::Answer),
    (8, Act::Progress),
    (4, Act::Notify),
    (5, Act::Ask),
    (1, Act::CancelAsk),
    (1, Act::Noise),
    (1, Act::Crash),
];
const CHAOTIC: &[(usize, Act)] = &[
    (10, Act::Read),
    (2, Act::ToggleReading),
    (12, Act::Answer),
    (3, Act::AnswerMany),
    (6, Act::AnswerBadly),
    (6, Act::SecondAnswer),
    (4, Act::StrayAnswer),
    (3, Act::NullError),
    (6, Act::Progress),
    (4, Act::StrayProgress),
    (4, Act::Notify),
    (2, Act::Flood),
    (8, Act::Ask),
    (3, Act::CancelAsk),
    (3, Act::Noise),
    (2, Act::Crash),
];
const MUTE: &[(usize, Act)] = &[(60, Act::Read), (60, Act::Nothing), (2, Act::Progress), (1, Act::Crash)];
const DEAF: &[(usize, Act)] = &[(50, Act::Nothing), (5, Act::Notify), (5, Act::Ask), (1, Act::ToggleReading)];
const FOREIGN: &[(usize, Act)] = &[(60, Act::Read), (60, Act::Nothing), (5, Act::Babble), (1, Act::Crash)];
const DOOMED: &[(usize, Act)] = &[(10, Act::Read), (10, Act::Answer), (8, Act::Crash)];

impl World {
    pub(super) fn make_process(&mut self, launch: Launch, framing: Framing) -> Process {
        let understands = self.servers.get(&launch.backend).is_some_and(|server| server.framing == framing);
        let chance = if self.plan.is_crashy { 60 } else { 3 };
        let temper = match () {
            () if !understands => Temper::Foreign,
            () if self.rng.percent(chance) => Temper::Doomed,
            () => self.rng.weighted(&[
                (50, Temper::Healthy),
                (35, Temper::Chaotic),
                (8, Temper::Mute),
                (4, Temper::Deaf),
            ]),
        };
        Process {
            launch,
            phase: Phase::Making,
            gate: Gate::Fresh,
            comes: self.now + self.rng.millis(0..=2000),
            ends: None,
            temper,
            is_reading: temper != Temper::Deaf,
            outbox: Outbox::default(),
            open: Vec::new(),
            answered: Vec::new(),
            seen: BTreeMap::new(),
            asks: Vec::new(),
            confirmed: BTreeSet::new(),
        }
    }

    /// The process of this launch; actions name only such as exist.
    pub(super) fn process(&mut self, launch: Launch) -> &mut Process {
        self.processes.get_mut(&launch).expect("a launch that was started")
    }

    pub(super) fn backend_acts(&mut self) -> Check {
        if self.rng.percent(4) {
            return self.dead_speaks();
        }
        let launches: Vec<Launch> = self.alive.values().copied().collect();
        if launches.is_empty() {
            return Ok(());
        }
        let launch = *self.rng.pick(&launches);
        let process = self.process(launch);
        let (phase, is_ending, temper) = (process.phase, process.ends.is_some(), process.temper);
        if phase == Phase::Making || (is_ending && self.rng.percent(15)) {
            return if self.rng.percent(60) { self.change(launch) } else { Ok(()) };
        }
        let acts = match temper {
            Temper::Healthy => HEALTHY,
            Temper::Chaotic => CHAOTIC,
            Temper::Mute => MUTE,
            Temper::Deaf => DEAF,
            Temper::Doomed => DOOMED,
            Temper::Foreign => FOREIGN,
        };
        match self.rng.weighted(acts) {
            Act::Nothing => Ok(()),
            Act::Read => self.backend_reads(launch),
            Act::ToggleReading => {
                let process = self.process(launch);
                process.is_reading = !process.is_reading;
                Ok(())
            }
            Act::Crash => self.end(launch),
            Act::AnswerMany => {
                self.backend_reads(launch)?;
                for _ in 0..4 {
                    self.backend_answers(launch)?;
                }
                Ok(())
            }
            _ if self.core.is_clogged(Peer::Backend(launch)) => {
                // Nobody listens to it until it has read.
                self.stats.clogged_backends += 1;
                Ok(())
            }
            Act::Answer => self.backend_answers(launch),
            Act::AnswerBadly => self.backend_answers_badly(launch),
            Act::SecondAnswer => self.backend_answers_again(launch),
            Act::StrayAnswer => self.backend_answers_nobody(launch),
            Act::NullError => self.backend_null_error(launch),
            Act::Progress => self.backend_progresses(launch),
            Act::StrayProgress => self.backend_strays(launch),
            Act::Notify => self.backend_notifies(launch),
            Act::Flood => (0..12).try_for_each(|_| self.backend_notifies(launch)),
            Act::Ask => self.backend_asks(launch),
            Act::CancelAsk => self.backend_cancels(launch),
            Act::Babble => self.backend_babbles(launch),
            Act::Noise if self.rng.percent(60) => self.backend_babbles(launch),
            Act::Noise => self.backend_answers_in_noise(launch),
        }
    }

    /// Healthy processes do not let time pass with work undone.
    pub(super) fn healthy_work_off(&mut self) -> Check {
        let launches: Vec<Launch> = self.alive.values().copied().collect();
        for launch in launches {
            let process = self.process(launch);
            if process.temper != Temper::Healthy || process.phase != Phase::Alive {
                continue;
            }
            self.backend_reads(launch)?;
            for _ in 0..self.process(launch).open.len() {
                self.backend_answers(launch)?;
            }
        }
        Ok(())
    }

    fn backend_reads(&mut self, launch: Launch) -> Check {
        let most = self.rng.within(1..=8);
        let process = self.process(launch);
        if !process.is_reading {
            return Ok(());
        }
        let mut bytes = 0;
        for _ in 0..most {
            let Some((letter, length)) = process.outbox.take() else { break };
            bytes += length;
            process.open.extend(letter);
        }
        if bytes == 0 {
            return Ok(());
        }
        self.note(|| format!("{launch} reads {bytes} bytes"));
        self.handle(Event::Flushed { peer: Peer::Backend(launch), bytes })
    }

    /// What is due for a process: it comes, or it goes.
    pub(super) fn change(&mut self, launch: Launch) -> Check {
        let phase = self.process(launch).phase;
        match phase {
            Phase::Making if self.rng.percent(self.plan.spawn_failures) => self.cannot_spawn(launch),
            Phase::Making => {
                self.process(launch).phase = Phase::Alive;
                self.note(|| format!("{launch} is spawned"));
                self.handle(Event::Spawned { launch, pid: 1000 + launch.number })
            }
            Phase::Alive => self.end(launch),
            Phase::Gone => Ok(()),
        }
    }

    fn cannot_spawn(&mut self, launch: Launch) -> Check {
        self.stats.spawn_failures += 1;
        self.process(launch).phase = Phase::Gone;
        self.alive.remove(&launch.backend);
        if let Some(server) = self.servers.get_mut(&launch.backend) {
            server.is_free = true;
        }
        self.note(|| format!("{launch} cannot be spawned"));
        self.handle(Event::SpawnFailed { launch, reason: "no such file".into(), hint: None })?;
        self.check_after_end(launch, true)
    }

    /// A process ends, told to or not.
    pub(super) fn end(&mut self, launch: Launch) -> Check {
        let has_greeted = self.servers.get(&launch.backend).is_some_and(|server| server.has_greeted);
        let process = self.process(launch);
        let (gate, was_stopped) = (process.gate, process.ends.is_some());
        process.phase = Phase::Gone;
        process.outbox.clear();
        self.alive.remove(&launch.backend);
        self.stats.crashes_before_handshake += u64::from(!has_greeted && !was_stopped);
        self.stats.crashes_during_replay += u64::from(gate == Gate::Replaying && !was_stopped);
        self.note(|| format!("{launch} ends"));
        let stderr = if self.rng.percent(50) { "Error: boom\n".into() } else { String::new() };
        self.handle(Event::BackendEnded { launch, how: "exit code 1".into(), stderr, hint: None })?;
        self.check_after_end(launch, was_stopped)
    }
}

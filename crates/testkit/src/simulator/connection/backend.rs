//! Backends: processes that start, end, read or do not, and sometimes misbehave. Their messages are in
//! `backend_talk`.

use super::ConnectionWorld;
use super::post::{Post, Unread};
use crate::simulator::engine::{Check, Made, Phase, ProcessAct, Start};
use std::collections::{BTreeMap, BTreeSet};
use switchboard_core::{ClientId, Event, Launch, Peer};

/// Behaviour of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Temper {
    /// Reads and answers.
    #[default]
    Healthy,
    /// Reads, and answers at random times, also wrongly.
    Chaotic,
    /// Reads and stays silent.
    Mute,
    /// Does not read.
    Deaf,
    /// Dies soon.
    Doomed,
    /// Does not understand the framing of its input.
    Foreign,
}

/// Whether a process may get messages of clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Gate {
    /// No message was sent yet.
    #[default]
    Fresh,
    /// Got the handshake of an earlier process, and has not answered.
    Replaying,
    /// `initialized` must be next.
    Confirming,
    Open,
}

/// A request that a process has read.
#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) minted: String,
    /// `None` for a probe.
    pub(super) request: Option<usize>,
    /// Whether it is a handshake that no client waits for: that of an earlier process, or our own.
    pub(super) is_replay: bool,
}

/// The scenario's own part of a process.
#[derive(Debug, Default)]
pub(crate) struct Backend {
    pub(super) gate: Gate,
    temper: Temper,
    is_reading: bool,
    pub(super) unread: Unread<Option<Open>>,
    /// Requests read and unanswered, and answered ones.
    pub(super) open: Vec<Open>,
    pub(super) answered: Vec<Open>,
    /// All ids sent to it, with their requests.
    pub(super) seen: BTreeMap<String, Option<usize>>,
    pub(super) asks: Vec<usize>,
    /// Whether its handshake is ours, for a client that has made none.
    pub(super) is_plain: bool,
    /// Number of `initialized` notifications sent to it.
    pub(super) confirmed: BTreeSet<usize>,
}

const HEALTHY: &[(usize, ProcessAct<Post>)] = &[
    (20, ConnectionWorld::backend_reads),
    (50, ConnectionWorld::backend_answers_many),
    (10, ConnectionWorld::backend_answers),
    (8, ConnectionWorld::backend_progresses),
    (4, ConnectionWorld::backend_notifies),
    (5, ConnectionWorld::backend_asks),
    (1, ConnectionWorld::backend_cancels),
    (1, ConnectionWorld::backend_makes_noise),
    (1, ConnectionWorld::ends),
];
const CHAOTIC: &[(usize, ProcessAct<Post>)] = &[
    (10, ConnectionWorld::backend_reads),
    (2, ConnectionWorld::backend_toggles_reading),
    (12, ConnectionWorld::backend_answers),
    (3, ConnectionWorld::backend_answers_many),
    (6, ConnectionWorld::backend_answers_badly),
    (6, ConnectionWorld::backend_answers_again),
    (4, ConnectionWorld::backend_answers_nobody),
    (3, ConnectionWorld::backend_null_error),
    (6, ConnectionWorld::backend_progresses),
    (4, ConnectionWorld::backend_strays),
    (4, ConnectionWorld::backend_notifies),
    (2, ConnectionWorld::backend_floods),
    (8, ConnectionWorld::backend_asks),
    (3, ConnectionWorld::backend_cancels),
    (3, ConnectionWorld::backend_makes_noise),
    (2, ConnectionWorld::ends),
];
const MUTE: &[(usize, ProcessAct<Post>)] = &[
    (60, ConnectionWorld::backend_reads),
    (60, ConnectionWorld::rests),
    (2, ConnectionWorld::backend_progresses),
    (1, ConnectionWorld::ends),
];
const DEAF: &[(usize, ProcessAct<Post>)] = &[
    (50, ConnectionWorld::rests),
    (5, ConnectionWorld::backend_notifies),
    (5, ConnectionWorld::backend_asks),
    (1, ConnectionWorld::backend_toggles_reading),
];
const FOREIGN: &[(usize, ProcessAct<Post>)] = &[
    (60, ConnectionWorld::backend_reads),
    (60, ConnectionWorld::rests),
    (5, ConnectionWorld::backend_babbles),
    (1, ConnectionWorld::ends),
];
const CLOGGED: &[(usize, ProcessAct<Post>)] = &[
    (40, ConnectionWorld::backend_reads),
    (20, ConnectionWorld::rests),
    (1, ConnectionWorld::backend_toggles_reading),
    (1, ConnectionWorld::ends),
];
const DOOMED: &[(usize, ProcessAct<Post>)] = &[
    (10, ConnectionWorld::backend_reads),
    (10, ConnectionWorld::backend_answers),
    (8, ConnectionWorld::ends),
];

impl ConnectionWorld {
    pub(super) fn make_backend(&mut self, start: &Start) -> Check<Made<Backend>> {
        self.check_restarts(start)?;
        let client = Some(ClientId(start.environment >> 8)).filter(|client| client.0 > 0);
        let client = client.or(self.home(start.launch)).expect("a start for a client");
        let server = &mut self.client(client).own.backend;
        server.awaited.remove(&start.launch.backend);
        let understands = server.framing == Some(start.framing);
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
        let backend = Backend { temper, is_reading: temper != Temper::Deaf, ..Backend::default() };
        Ok((backend, self.rng.millis(0..=2000)))
    }

    pub(super) fn backend_acts(&mut self) -> Check {
        if self.rng.percent(4) {
            return self.dead_speaks();
        }
        let launches: Vec<Launch> = self.alive().collect();
        let Some(launch) = self.rng.choose(&launches) else { return Ok(()) };
        let p = &self.processes[&launch];
        let temper = p.temper;
        if p.phase == Phase::Making {
            return if self.rng.percent(60) { self.comes(launch) } else { Ok(()) };
        }
        if p.is_stopping && self.rng.percent(9) {
            return self.ends(launch);
        }
        let acts = match temper {
            _ if self.is_clogged(launch) => CLOGGED,
            Temper::Healthy => HEALTHY,
            Temper::Chaotic => CHAOTIC,
            Temper::Mute => MUTE,
            Temper::Deaf => DEAF,
            Temper::Doomed => DOOMED,
            Temper::Foreign => FOREIGN,
        };
        self.rng.weighted(acts)(self, launch)
    }

    /// A backend that leaves too much unread is not read from until it has caught up.
    pub(super) fn is_clogged(&mut self, launch: Launch) -> bool {
        let is_clogged = self.core.is_clogged(Peer::Backend(launch));
        self.stats.count_if("clogged_backends", is_clogged);
        is_clogged
    }

    fn rests(&mut self, _: Launch) -> Check {
        Ok(())
    }

    fn backend_toggles_reading(&mut self, launch: Launch) -> Check {
        let process = self.process(launch);
        process.is_reading = !process.is_reading;
        Ok(())
    }

    fn backend_answers_many(&mut self, launch: Launch) -> Check {
        self.backend_reads(launch)?;
        (0..4).try_for_each(|_| self.backend_answers(launch))
    }

    fn backend_floods(&mut self, launch: Launch) -> Check {
        (0..12).try_for_each(|_| self.backend_notifies(launch))
    }

    fn backend_makes_noise(&mut self, launch: Launch) -> Check {
        if self.rng.percent(60) {
            self.backend_babbles(launch)
        } else {
            self.backend_answers_in_noise(launch)
        }
    }

    /// Healthy processes finish their work before time passes.
    pub(super) fn healthy_work_off(&mut self) -> Check {
        for launch in self.running() {
            if self.process(launch).temper != Temper::Healthy {
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
        let (unread, bytes) = process.unread.take(most);
        process.open.extend(unread.into_iter().flatten());
        match bytes {
            0 => Ok(()),
            bytes => self.handle(Event::Flushed { peer: Peer::Backend(launch), bytes }),
        }
    }

    pub(super) fn is_gone(&mut self, launch: Launch) {
        let has_greeted = self.server(launch).has_greeted;
        let process = self.process(launch);
        let (gate, was_stopped) = (process.gate, process.is_stopping);
        process.unread.clear();
        self.stats.count_if("crashes_before_handshake", !has_greeted && !was_stopped);
        self.stats.count_if("crashes_during_replay", gate == Gate::Replaying && !was_stopped);
    }
}

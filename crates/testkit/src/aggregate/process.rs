//! Processes: made, late or never; they crash, and end slowly.

use super::ledger::Check;
use super::world::{Later, Turn, World};
use std::collections::BTreeSet;
use std::time::Duration;
use switchboard_core::catalogue::List;
use switchboard_core::{ClientId, Event, Launch, ServerId, StopHow};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Making,
    Alive,
    Gone,
}

#[derive(Debug)]
pub(super) struct Process {
    pub(super) launch: Launch,
    pub(super) server: usize,
    pub(super) environment: u32,
    pub(super) phase: Phase,
    pub(super) is_stopping: bool,
    /// What its client can do, once it has said so.
    pub(super) class: Option<usize>,
    pub(super) is_greeted: bool,
    pub(super) is_confirmed: bool,
    pub(super) given: BTreeSet<u64>,
    pub(super) open: Vec<Open>,
    /// Those for whom it has worked, and who cannot have gone elsewhere since.
    pub(super) clients: BTreeSet<ClientId>,
    /// Whose requests it was given, other than handshakes, pings, lists and levels.
    pub(super) users: BTreeSet<ClientId>,
    /// It was told something again, for clients that are not seen from here.
    pub(super) has_more_users: bool,
    /// It asked what could have been about several clients: it is given nothing more.
    pub(super) is_disputed: bool,
    /// Clients that listen, by the URI.
    pub(super) listeners: Vec<(String, ClientId)>,
    /// Clients that want to hear nothing more.
    pub(super) deaf: BTreeSet<(String, ClientId)>,
    /// These have changed, and it has not said so yet.
    pub(super) news: Vec<List>,
}

/// What it was asked and has not answered.
#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) id: u64,
    pub(super) job: Job,
    /// It will never be answered.
    pub(super) is_ignored: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Job {
    /// A handshake that we make.
    Greet,
    Page {
        list: List,
        cursor: usize,
    },
    Client(usize),
    /// Whatever we ask on our own.
    Other,
}

impl Process {
    /// It exists, or is being made.
    pub(super) fn is_alive(&self) -> bool {
        self.phase != Phase::Gone
    }
}

impl World {
    pub(super) fn start(&mut self, launch: Launch, server: ServerId, environment: u32) -> Check {
        let server = server.0 as usize;
        self.stats.starts += 1;
        let of_server = |p: &&super::process::Process| p.is_alive() && p.server == server;
        if self.processes.values().any(|p| p.is_alive() && p.launch.backend == launch.backend) {
            return Err(format!("{launch} is started, and another process of it is there"));
        }
        let all = self.processes.values().filter(|p| p.is_alive()).count();
        if all >= self.plan.settings.pool.max_backends {
            return Err(format!("{launch} is started, and there are {all} already"));
        }
        let settings = &self.servers[server].settings;
        let is_private = settings.scope == switchboard_core::Scope::Client
            || settings.state == switchboard_core::StatePolicy::Client;
        let own = self.processes.values().filter(of_server).count();
        // Those of an earlier config have its limit.
        let is_as_it_was = self.servers[server].namings.len() == 1;
        let is_auto = settings.state == switchboard_core::StatePolicy::Auto || self.servers[server].has_asked;
        if own >= settings.max_backends && !is_private && is_as_it_was && !is_auto {
            return Err(format!("{launch} is started, and its server has {own} already"));
        }
        if self.servers[server].is_gone && self.processes.keys().all(|known| known.backend != launch.backend)
        {
            return Err(format!("{launch} is started, and its server is gone"));
        }
        if self.turn.must_not_start && self.in_line.is_empty() {
            return Err(format!("{launch} is started, although everything is known"));
        }
        self.processes.insert(
            launch,
            Process {
                launch,
                server,
                environment,
                phase: Phase::Making,
                is_stopping: false,
                class: None,
                is_greeted: false,
                is_confirmed: false,
                given: BTreeSet::new(),
                open: Vec::new(),
                clients: BTreeSet::new(),
                users: BTreeSet::new(),
                has_more_users: false,
                is_disputed: false,
                listeners: Vec::new(),
                deaf: BTreeSet::new(),
                news: Vec::new(),
            },
        );
        let wait = match self.rng.below(20) {
            _ if self.is_calm => Duration::from_millis(1),
            0..17 => self.rng.millis(0..=200),
            17..19 => self.rng.millis(200..=4000),
            _ => self.rng.millis(4000..=40_000),
        };
        self.plan_for(wait, Later::Spawn(launch));
        Ok(())
    }

    pub(super) fn spawns(&mut self, launch: Launch) -> Check {
        let Some(p) = self.processes.get(&launch).filter(|p| p.phase == Phase::Making) else { return Ok(()) };
        let server = &self.servers[p.server];
        let fails = server.cannot_start || (!self.is_calm && self.rng.percent(self.plan.spawn_failures));
        if fails {
            self.stats.spawn_failures += 1;
            self.process(launch).phase = Phase::Gone;
            self.note(|| format!("> {launch} cannot be made"));
            return self.handle(Event::SpawnFailed { launch, reason: "no".into(), hint: None });
        }
        self.process(launch).phase = Phase::Alive;
        self.note(|| format!("> {launch} is there"));
        self.handle(Event::Spawned { launch, pid: 7 })
    }

    pub(super) fn stop(&mut self, launch: Launch, how: StopHow) -> Check {
        let Some(p) = self.processes.get_mut(&launch).filter(|p| p.is_alive()) else {
            return Err(format!("{launch} is stopped, and is not there"));
        };
        p.is_stopping = true;
        let wait = match how {
            StopHow::Kill => Duration::from_millis(1),
            StopHow::Terminate { grace } => self.rng.pick(&[Duration::ZERO, grace]).to_owned(),
            StopHow::Gently { grace } => match self.rng.below(3) {
                0 => Duration::ZERO,
                1 => grace / 2,
                _ => grace * 2,
            },
        };
        self.plan_for(wait, Later::End(launch));
        Ok(())
    }

    pub(super) fn ends(&mut self, launch: Launch, how: &str) -> Check {
        let Some(p) = self.processes.get_mut(&launch).filter(|p| p.is_alive()) else { return Ok(()) };
        p.phase = Phase::Gone;
        p.open.clear();
        p.listeners.clear();
        p.clients.clear();
        for ask in self.asks.iter_mut().filter(|ask| ask.launch == launch) {
            ask.is_answered = true;
        }
        self.note(|| format!("> {launch} ends"));
        let event = Event::BackendEnded { launch, how: how.into(), stderr: String::new(), hint: None };
        self.handle_as(Turn::default(), event)
    }

    pub(super) fn process_acts(&mut self) -> Check {
        let is_there = |p: &&Process| p.phase == Phase::Alive;
        let there: Vec<Launch> = self.processes.values().filter(is_there).map(|p| p.launch).collect();
        if there.is_empty() {
            return Ok(());
        }
        let launch = *self.rng.pick(&there);
        let server = self.processes[&launch].server;
        let crash = if self.servers[server].is_crashy { 6 } else { 1 };
        match self.rng.below(100) {
            chance if chance < crash => {
                self.stats.crashes += 1;
                self.ends(launch, "exit code 1")
            }
            chance if chance < 72 => self.answers_one(launch),
            _ => self.process_says(launch),
        }
    }

    /// In whatever order.
    pub(super) fn answers_one(&mut self, launch: Launch) -> Check {
        let p = &self.processes[&launch];
        let can: Vec<usize> =
            (0..p.open.len()).filter(|&at| !p.open[at].is_ignored || self.is_calm).collect();
        if can.is_empty() {
            return Ok(());
        }
        let at = *self.rng.pick(&can);
        let open = self.process(launch).open.remove(at);
        self.answer_open(launch, &open)
    }

    /// Everybody answers whatever is open, until nothing is.
    pub(super) fn calm_ones_act(&mut self) -> Check {
        for _ in 0..5_000 {
            let has_work = |p: &&Process| p.phase == Phase::Alive && !p.open.is_empty();
            let busy = self.processes.values().find(has_work).map(|p| p.launch);
            let asked = self.clients.values().find(|c| c.is_asked()).map(|c| c.id);
            match (busy, asked) {
                (Some(launch), _) => self.answers_one(launch)?,
                (None, Some(client)) => self.answers_question(client, true)?,
                (None, None) => return Ok(()),
            }
        }
        Err("everybody answers, and there is no end to it".into())
    }
}

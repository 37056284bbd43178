//! Everything there is: the core, the parties around it, and time. Each event goes in here and each action
//! comes out here.

use super::backend::{Phase, Process};
use super::client::Client;
use super::ledger::{Check, Ledger};
use super::plan::Plan;
use super::rng::Rng;
use super::stats::Stats;
use super::trace::Trace;
use std::collections::BTreeMap;
use std::time::Duration;
use switchboard_core::{Action, BackendId, ClientId, Core, Event, Fact, Launch, Moment, Outcome, StopHow};
use switchboard_protocol::Framing;

pub(super) struct World {
    pub(super) rng: Rng,
    pub(super) plan: Plan,
    pub(super) core: Core,
    pub(super) now: Moment,
    /// Since when ticks come when they are wanted.
    pub(super) told_since: Moment,
    pub(super) clients: BTreeMap<ClientId, Client>,
    pub(super) processes: BTreeMap<Launch, Process>,
    /// The processes that exist or are being made.
    pub(super) alive: BTreeMap<BackendId, Launch>,
    pub(super) servers: BTreeMap<BackendId, Server>,
    pub(super) ledger: Ledger,
    pub(super) stats: Stats,
    pub(super) trace: Trace,
    pub(super) is_finished: bool,
    /// So many messages were given to clients.
    pub(super) deliveries: u64,
    actions: Vec<Action>,
}

/// What is the same for every process of one backend.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) client: ClientId,
    pub(super) is_bare: bool,
    /// The framing that it understands.
    pub(super) framing: Framing,
    /// Starts that followed an end, within the last minute.
    pub(super) restarts: Vec<Moment>,
    /// The next start does not count: none was possible, or the other framing is tried. Someone asked for both.
    pub(super) is_free: bool,
    /// It has answered a client's handshake.
    pub(super) has_greeted: bool,
    /// It is going to be started again.
    pub(super) is_awaited: bool,
    /// It crashed too often; the next process is a trial, and one more crash is enough.
    pub(super) is_on_trial: bool,
}

impl World {
    pub(super) fn new(seed: u64, trace: Trace) -> Self {
        let mut rng = Rng::new(seed);
        let plan = Plan::roll(&mut rng, seed);
        let core = Core::new(plan.settings.clone());
        Self {
            rng,
            plan,
            core,
            now: Moment::default(),
            told_since: Moment::default(),
            clients: BTreeMap::new(),
            processes: BTreeMap::new(),
            alive: BTreeMap::new(),
            servers: BTreeMap::new(),
            ledger: Ledger::default(),
            stats: Stats::default(),
            trace,
            is_finished: false,
            deliveries: 0,
            actions: Vec::new(),
        }
    }

    /// One thing happens.
    pub(super) fn step(&mut self) -> Check {
        self.stats.steps += 1;
        let missing = self.clients.len() < self.plan.clients;
        if self.clients.is_empty() || (missing && self.rng.percent(5)) {
            return self.connect();
        }
        match self.rng.below(100) {
            0..38 => self.client_acts(),
            38..86 => self.backend_acts(),
            _ => self.time_passes(),
        }
    }

    pub(super) fn note(&self, line: impl FnOnce() -> String) {
        self.trace.note(self.now, line);
    }

    /// Tells the core what happened, and does what it says.
    pub(super) fn handle(&mut self, event: Event) -> Check {
        let is_tick = matches!(event, Event::Tick);
        let mut actions = std::mem::take(&mut self.actions);
        self.core.handle(self.now, event, &mut actions);
        for action in actions.drain(..) {
            self.trace.action(self.now, &action);
            self.perform(action)?;
        }
        self.actions = actions;
        self.check_wake(is_tick)
    }

    fn perform(&mut self, action: Action) -> Check {
        match action {
            Action::Start { launch, framing, .. } => self.start(launch, framing),
            Action::Stop { launch, how } => self.stop(launch, how),
            Action::ToBackend { launch, out } => self.at_backend(launch, &out),
            Action::ToClient { client, out, .. } => self.at_client(client, &out),
            Action::LookUp { .. } => Err("nobody here has workspaces".into()),
            Action::ReadOffer { .. } | Action::StoreOffer { .. } => {
                Err("clients here have one server".into())
            }
            Action::StoreRecord { .. } => Ok(()),
            Action::Disconnect { client } => Err(format!("{client} is let go, and we are no daemon")),
            Action::Report(fact) => self.listen(fact),
            Action::Finished => self.finish(),
        }
    }

    fn start(&mut self, launch: Launch, framing: Framing) -> Check {
        let backend = launch.backend;
        if self.is_finished {
            return Err(format!("{backend} is started after everything was finished"));
        }
        if let Some(other) = self.alive.get(&backend) {
            return Err(format!(
                "{backend} is started as #{} while #{} is there",
                launch.number, other.number
            ));
        }
        if launch.number > 1 {
            self.check_restarts(backend)?;
        }
        self.server(backend).is_awaited = false;
        let process = self.make_process(launch, framing);
        self.alive.insert(backend, launch);
        match self.processes.insert(launch, process) {
            Some(_) => Err(format!("{launch} is started twice")),
            None => Ok(()),
        }
    }

    fn stop(&mut self, launch: Launch, how: StopHow) -> Check {
        let lag = match how {
            StopHow::Gently { grace } => self.rng.millis(0..=2 * grace.as_millis() as usize),
            StopHow::Terminate { grace } => self.rng.millis(0..=grace.as_millis() as usize),
            StopHow::Kill => self.rng.millis(0..=200),
        };
        match how {
            StopHow::Gently { .. } | StopHow::Terminate { .. } => self.stats.stops += 1,
            StopHow::Kill => self.stats.kills += 1,
        }
        let end = self.now + lag;
        match self.processes.get_mut(&launch) {
            Some(process) if process.phase != Phase::Gone => {
                // A kill may follow an order to stop, and is not slower than it.
                process.ends = Some(process.ends.map_or(end, |earlier| earlier.min(end)));
                Ok(())
            }
            _ => Err(format!("{launch} is stopped, but is not there")),
        }
    }

    fn finish(&mut self) -> Check {
        if std::mem::replace(&mut self.is_finished, true) {
            return Err("everything is finished for the second time".into());
        }
        match self.alive.values().next() {
            Some(launch) => Err(format!("everything is finished, but {launch} is still there")),
            None => Ok(()),
        }
    }

    /// What all processes of a backend have in common.
    pub(super) fn server(&mut self, backend: BackendId) -> &mut Server {
        self.servers.get_mut(&backend).expect("a backend that has a client")
    }

    fn listen(&mut self, fact: Fact) -> Check {
        let stats = &mut self.stats;
        match fact {
            Fact::Ready { backend, restarted, .. } => {
                *(if restarted { &mut stats.replays } else { &mut stats.handshakes }) += 1;
                let server = self.server(backend);
                server.has_greeted = true;
                server.is_on_trial = false;
                let client = server.client;
                if !restarted {
                    self.client(client).greeted_at = self.client(client).initializes;
                }
            }
            Fact::Crashed { .. } => stats.crashes += 1,
            Fact::RestartIn { backend, .. } => {
                stats.restarts += 1;
                let server = self.server(backend);
                server.is_awaited = true;
                if server.is_on_trial {
                    return Err(format!("{backend} failed its trial, and is started again all the same"));
                }
            }
            Fact::BreakerOpened { backend, .. } => {
                stats.breaker_openings += 1;
                let server = self.server(backend);
                server.is_awaited = false;
                server.is_on_trial = true;
            }
            Fact::Probing { .. } => stats.probes += 1,
            Fact::Retried { .. } => stats.retries += 1,
            Fact::LateAnswer { .. } => stats.late_answers += 1,
            Fact::Quarantined { .. } => stats.quarantined += 1,
            Fact::FramingLearnt { backend, framing } => {
                stats.framing_learnt += 1;
                if self.server(backend).framing != framing {
                    return Err(format!("{backend} is taken to understand {}", framing.name()));
                }
            }
            Fact::DroppedNotification { to, .. } if to == "sim" => stats.dropped_for_backend += 1,
            Fact::DroppedNotification { .. } => stats.dropped_for_client += 1,
            Fact::Stopping { why, .. } if why.contains("sign of life") => {
                stats.restarts_without_sign_of_life += 1
            }
            Fact::Stopping { backend, why } if why.contains("framing") => {
                stats.framing_retries += 1;
                self.server(backend).is_free = true;
            }
            Fact::Answered { client, outcome, .. } => {
                if outcome == Outcome::ServerError {
                    stats.server_errors += 1;
                }
                self.clients.get_mut(&client).expect("only known clients are reported").lines += 1;
            }
            _ => {}
        }
        Ok(())
    }

    fn time_passes(&mut self) -> Check {
        let jump = match self.rng.below(100) {
            0..60 => self.rng.millis(1..=100),
            60..85 => self.rng.millis(100..=3000),
            85..97 => self.rng.millis(3000..=40_000),
            _ => self.rng.millis(60_000..=720_000),
        };
        if self.rng.percent(80) {
            self.healthy_work_off()?;
        }
        self.advance(jump)
    }

    /// Lets time pass, with what is due on the way: processes come and end, and ticks.
    pub(super) fn advance(&mut self, jump: Duration) -> Check {
        let target = self.now + jump;
        // What is due can make other things due, but not for ever.
        for _ in 0..10_000 {
            let next = self.next_change().filter(|(at, _)| *at <= target);
            let tick = self.core.wake().filter(|&at| self.plan.is_punctual && at <= target);
            match (next, tick) {
                (Some((at, launch)), tick) if tick.is_none_or(|tick| at <= tick) => {
                    self.now = self.now.max(at);
                    self.change(launch)?;
                }
                (_, Some(at)) => {
                    self.now = self.now.max(at);
                    self.tick()?;
                }
                _ => {
                    self.now = target;
                    if !self.plan.is_punctual && self.rng.percent(70) {
                        self.late_tick()?;
                    }
                    return Ok(());
                }
            }
        }
        Err(format!("time does not pass: {:?} is wanted again and again", self.core.wake()))
    }

    fn late_tick(&mut self) -> Check {
        if self.core.wake().is_none_or(|wake| wake > self.now) {
            return Ok(());
        }
        self.stats.late_ticks += 1;
        self.tick()
    }

    pub(super) fn tick(&mut self) -> Check {
        self.stats.ticks += 1;
        self.note(|| "tick".into());
        self.handle(Event::Tick)?;
        self.check_overdue()
    }

    /// The next process that comes or goes by itself.
    fn next_change(&self) -> Option<(Moment, Launch)> {
        let processes = self.alive.values().filter_map(|launch| self.processes.get(launch));
        processes.filter_map(|process| process.due().map(|at| (at, process.launch))).min()
    }
}

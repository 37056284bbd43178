//! Everything there is: the core, the parties around it, and time. Each event goes in here and each action comes out
//! here.

use super::client::Client;
use super::ledger::{Ask, Check, Request};
use super::plan::Plan;
use super::process::Process;
use super::site::Site;
use super::stats::Stats;
use crate::simulator::rng::Rng;
use crate::simulator::trace::Trace;
use crate::variables::number_of;
use bytes::Bytes;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use switchboard_core::routing::Known;
use switchboard_core::{Action, BackendId, ClientId, Core, Event, Launch, Moment};
use switchboard_protocol::{Message, Parsed, parse};

pub(super) struct World {
    pub(super) rng: Rng,
    pub(super) plan: Plan,
    pub(super) core: Core,
    pub(super) now: Moment,
    /// Since when ticks come when they are wanted.
    pub(super) told_since: Moment,
    pub(super) clients: BTreeMap<ClientId, Client>,
    pub(super) processes: BTreeMap<Launch, Process>,
    pub(super) sites: BTreeMap<BackendId, Site>,
    pub(super) requests: Vec<Request>,
    pub(super) asks: Vec<Ask>,
    pub(super) lookups: Vec<LookUp>,
    /// Backends that wait for room.
    pub(super) in_line: BTreeSet<BackendId>,
    pub(super) turn: Turn,
    pub(super) stats: Stats,
    pub(super) trace: Trace,
    pub(super) is_ending: bool,
    pub(super) is_finished: bool,
    /// A process has asked its client something: from then on each client has processes of its own.
    pub(super) has_asked: bool,
    /// The last time that any process asked its client something, or was answered.
    pub(super) last_talk: Moment,
    /// The last time that a client left, or moved.
    pub(super) last_move: Moment,
    actions: Vec<Action>,
}

/// What is going on while the core deals with one event.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// A process answers this request, with these words.
    pub(super) answering: Option<(usize, Value)>,
    /// The clients that were given a notification, and which.
    pub(super) heard: Vec<(ClientId, Value)>,
    /// What was known of a client's roots before its handshake was over.
    pub(super) tentative: Vec<(ClientId, Known, Vec<usize>)>,
}

/// Folders that are being looked up.
#[derive(Debug)]
pub(super) struct LookUp {
    pub(super) due: Moment,
    pub(super) client: ClientId,
    pub(super) inquiry: u32,
    pub(super) found: Vec<Option<String>>,
}

/// Something that happens by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Process(Launch),
    LookUp(usize),
    Tick,
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
            sites: BTreeMap::new(),
            requests: Vec::new(),
            asks: Vec::new(),
            lookups: Vec::new(),
            in_line: BTreeSet::new(),
            turn: Turn::default(),
            stats: Stats::default(),
            trace,
            is_ending: false,
            is_finished: false,
            has_asked: false,
            last_talk: Moment::default(),
            last_move: Moment::default(),
            actions: Vec::new(),
        }
    }

    pub(super) fn most(&self) -> usize {
        self.plan.most(self.has_asked)
    }

    /// One thing happens.
    pub(super) fn step(&mut self) -> Check {
        self.stats.steps += 1;
        let missing = self.clients_here().count() < self.plan.clients;
        if self.clients.is_empty() || (missing && self.rng.percent(8)) {
            return self.connect();
        }
        match self.rng.below(100) {
            0..45 => self.client_acts(),
            45..83 => self.process_acts(),
            83..86 if self.plan.is_measured => self.memory_is_measured(),
            _ => self.time_passes(),
        }
    }

    pub(super) fn note(&self, line: impl FnOnce() -> String) {
        self.trace.note(self.now, line);
    }

    pub(super) fn handle(&mut self, event: Event) -> Check {
        self.handle_as(Turn::default(), event)
    }

    /// Tells the core what happened, and does what it says.
    pub(super) fn handle_as(&mut self, turn: Turn, event: Event) -> Check {
        let is_tick = matches!(event, Event::Tick);
        self.turn = turn;
        let mut actions = std::mem::take(&mut self.actions);
        self.core.handle(self.now, event, &mut actions);
        for action in actions.drain(..) {
            self.trace.action(self.now, &action);
            self.perform(action)?;
        }
        self.actions = actions;
        self.check_step(is_tick)
    }

    fn perform(&mut self, action: Action) -> Check {
        match action {
            Action::Start { launch, root, environment, .. } => {
                self.start(launch, root, number_of(&environment))
            }
            Action::Stop { launch, how } => self.stop(launch, how),
            Action::ToBackend { launch, out } => self.at_process(launch, &out.to_vec()),
            Action::ToClient { client, out, .. } => self.at_client(client, &out.to_vec()),
            Action::LookUp { client, inquiry, paths } => self.look_up(client, inquiry, &paths),
            Action::ReadOffer { .. } | Action::StoreOffer { .. } => {
                Err("clients here have one server".into())
            }
            Action::StoreRecord { .. } => Ok(()),
            Action::Disconnect { client } => Err(format!("{client} is let go, and we are no daemon")),
            Action::Report(fact) => self.listen(fact),
            Action::Finished => self.finish(),
        }
    }

    fn finish(&mut self) -> Check {
        if std::mem::replace(&mut self.is_finished, true) {
            return Err("everything is finished for the second time".into());
        }
        match self.alive().next() {
            Some(launch) => Err(format!("everything is finished, but {launch} is still there")),
            None => Ok(()),
        }
    }

    fn time_passes(&mut self) -> Check {
        let jump = match self.rng.below(100) {
            0..55 => self.rng.millis(1..=300),
            55..85 => self.rng.millis(300..=3000),
            85..98 => self.rng.millis(3000..=30_000),
            _ => self.rng.millis(30_000..=180_000),
        };
        if self.rng.percent(75) {
            self.healthy_work_off()?;
        }
        self.advance(jump)
    }

    /// Lets time pass, with what is due on the way.
    pub(super) fn advance(&mut self, jump: Duration) -> Check {
        let target = self.now + jump;
        // What is due can make other things due, but not for ever.
        for _ in 0..10_000 {
            let Some((at, due)) = self.next_due().filter(|(at, _)| *at <= target) else {
                self.now = target;
                if !self.plan.is_punctual && self.rng.percent(70) {
                    self.late_tick()?;
                }
                return Ok(());
            };
            self.now = self.now.max(at);
            match due {
                Due::Process(launch) => self.change(launch)?,
                Due::LookUp(index) => self.looked_up(index)?,
                Due::Tick => self.tick()?,
            }
        }
        Err(format!("time does not pass: {:?} is wanted again and again", self.core.wake()))
    }

    fn next_due(&self) -> Option<(Moment, Due)> {
        let processes =
            self.processes.values().filter_map(|p| p.due().map(|at| (at, Due::Process(p.launch))));
        let lookups = self.lookups.iter().enumerate().map(|(index, l)| (l.due, Due::LookUp(index)));
        let tick = self.core.wake().filter(|_| self.plan.is_punctual).map(|at| (at, Due::Tick));
        processes.chain(lookups).chain(tick).min()
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
        self.check_overdue()?;
        self.check_rested()
    }

    /// The processes that exist or are being made.
    pub(super) fn alive(&self) -> impl Iterator<Item = Launch> {
        self.processes.values().filter(|p| p.is_alive()).map(|p| p.launch)
    }

    pub(super) fn process(&mut self, launch: Launch) -> &mut Process {
        self.processes.get_mut(&launch).expect("a launch that was started")
    }

    pub(super) fn client(&mut self, client: ClientId) -> &mut Client {
        self.clients.get_mut(&client).expect("a client that connected")
    }
}

/// A message of this world, as the core takes it.
pub(super) fn message(text: String) -> Check<Message> {
    match parse(Bytes::from(text.clone())) {
        Ok(Parsed::One(message)) => Ok(message),
        other => Err(format!("this world's messages are plain: {text}, {other:?}")),
    }
}

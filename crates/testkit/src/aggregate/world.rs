//! Everything there is: the core, the parties around it, and time. Each event goes in here and each action comes out
//! here.

use super::client::{Client, Presence};
use super::ledger::{Ask, Check, Request, Task};
use super::menu::{Item, Server};
use super::plan::Plan;
use super::process::Process;
use super::stats::Stats;
use crate::simulator::rng::Rng;
use crate::simulator::trace::Trace;
use crate::variables::number_of;
use bytes::Bytes;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use switchboard_core::catalogue::{List, OfferKey, RawList, RawOffer, StoredOffer};
use switchboard_core::{
    Action, BackendId, ClientId, Core, Event, Fact, Launch, Moment, Peer, ServerId, Settings,
};
use switchboard_protocol::{Message, Parsed, parse};

pub(super) struct World {
    pub(super) rng: Rng,
    pub(super) plan: Plan,
    pub(super) core: Core,
    pub(super) now: Moment,
    pub(super) servers: Vec<Server>,
    /// By their marks.
    pub(super) items: Vec<Item>,
    pub(super) clients: BTreeMap<ClientId, Client>,
    pub(super) next_client: u32,
    pub(super) processes: BTreeMap<Launch, Process>,
    pub(super) requests: Vec<Request>,
    pub(super) asks: Vec<Ask>,
    pub(super) tasks: Vec<Task>,
    later: BTreeMap<(Moment, u64), Later>,
    sequence: u64,
    /// What a next run would load.
    pub(super) kept: BTreeMap<(usize, String), Vec<u8>>,
    /// Of which this run knows what they offer.
    pub(super) known: BTreeSet<(usize, String)>,
    /// Backends that wait for room.
    pub(super) in_line: BTreeSet<BackendId>,
    /// Grows with everything that may change what a client would be shown.
    pub(super) change: u64,
    /// Everybody behaves.
    pub(super) is_calm: bool,
    pub(super) turn: Turn,
    pub(super) stats: Stats,
    pub(super) trace: Trace,
    pub(super) is_ending: bool,
    pub(super) is_finished: bool,
    actions: Vec<Action>,
    flushed: Vec<(Peer, usize)>,
}

/// What is going on while the core deals with one event.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Nothing may be started because of it.
    pub(super) must_not_start: bool,
    /// The clients that were given a notification, and which.
    pub(super) heard: Vec<(ClientId, Value)>,
}

/// Something that happens by itself.
#[derive(Debug)]
pub(super) enum Later {
    Spawn(Launch),
    End(Launch),
    Read { launch: Launch, round: u32, raw: Box<RawOffer> },
    LookUp { client: ClientId, inquiry: u32, paths: Vec<String> },
}

impl World {
    pub(super) fn new(seed: u64, trace: Trace) -> Self {
        let mut rng = Rng::new(seed);
        let plan = Plan::roll(&mut rng, seed);
        let core = Core::new(plan.settings.clone());
        let mut world = Self {
            rng,
            core,
            now: Moment::default(),
            servers: Vec::new(),
            items: Vec::new(),
            clients: BTreeMap::new(),
            next_client: 1,
            processes: BTreeMap::new(),
            requests: Vec::new(),
            asks: Vec::new(),
            tasks: Vec::new(),
            later: BTreeMap::new(),
            sequence: 0,
            kept: BTreeMap::new(),
            known: BTreeSet::new(),
            in_line: BTreeSet::new(),
            change: 0,
            is_calm: false,
            turn: Turn::default(),
            stats: Stats::default(),
            trace,
            is_ending: false,
            is_finished: false,
            actions: Vec::new(),
            flushed: Vec::new(),
            plan,
        };
        for settings in world.plan.settings.servers.clone() {
            world.add_server(settings);
        }
        world
    }

    /// One thing happens.
    pub(super) fn step(&mut self) -> Check {
        self.stats.steps += 1;
        let here = self.clients.values().filter(|c| c.presence == Presence::Here).count();
        if !self.is_ending && (here == 0 || (here < self.plan.clients && self.rng.percent(8))) {
            return self.connect();
        }
        match self.rng.below(100) {
            0..42 => self.client_acts(),
            42..84 => self.process_acts(),
            84..86 => self.owner_acts(),
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
        let now = self.now;
        self.handle_by(turn, |core, actions| core.handle(now, event, actions))
    }

    pub(super) fn handle_by(&mut self, turn: Turn, tell: impl FnOnce(&mut Core, &mut Vec<Action>)) -> Check {
        self.turn = turn;
        let mut actions = std::mem::take(&mut self.actions);
        tell(&mut self.core, &mut actions);
        for action in actions.drain(..) {
            self.trace.action(self.now, &action);
            self.perform(action)?;
        }
        while let Some((peer, bytes)) = self.flushed.pop() {
            self.core.handle(self.now, Event::Flushed { peer, bytes }, &mut actions);
            for action in actions.drain(..) {
                self.trace.action(self.now, &action);
                self.perform(action)?;
            }
        }
        self.actions = actions;
        Ok(())
    }

    fn perform(&mut self, action: Action) -> Check {
        match action {
            Action::Start { launch, server, environment, .. } => {
                self.start(launch, server, number_of(&environment))
            }
            Action::Stop { launch, how } => self.stop(launch, how),
            Action::ToBackend { launch, out } => {
                self.flushed.push((Peer::Backend(launch), out.len()));
                self.at_process(launch, &out.to_vec())
            }
            Action::ToClient { client, out, .. } => {
                let bytes = out.to_vec();
                match self.clients.get_mut(&client) {
                    Some(c) if !c.is_reading => c.unread += bytes.len(),
                    _ => self.flushed.push((Peer::Client(client), bytes.len())),
                }
                self.at_client(client, &bytes)
            }
            Action::LookUp { client, inquiry, paths } => {
                let wait = if self.is_calm { Duration::ZERO } else { self.rng.millis(0..=400) };
                self.plan_for(wait, Later::LookUp { client, inquiry, paths });
                Ok(())
            }
            Action::ReadOffer { launch, round, raw } => self.read_later(launch, round, raw),
            Action::StoreOffer { server, key, offer } => {
                self.stats.kept += 1;
                self.known.insert((server.0 as usize, key.profile.to_string()));
                self.kept.insert((server.0 as usize, key.profile.to_string()), offer.store());
                Ok(())
            }
            Action::StoreRecord { .. } => Ok(()),
            Action::Disconnect { client } => self.let_go(client),
            Action::Report(fact) => self.listen(&fact),
            Action::Finished => self.finish(),
        }
    }

    fn listen(&mut self, fact: &Fact) -> Check {
        match fact {
            Fact::Answered { client, .. }
            | Fact::Asked { client, .. }
            | Fact::RootsKnown { client, .. }
            | Fact::RootChosen { client, .. }
                if !self.clients.contains_key(client) =>
            {
                return Err(format!("{client} is nobody: {fact:?}"));
            }
            Fact::Draining { .. } => self.is_ending = true,
            Fact::NoRoom { backend, .. } => {
                self.stats.no_room += 1;
                self.in_line.insert(*backend);
            }
            // It waited for room before the present turn.
            Fact::Starting { backend, .. } => self.turn.must_not_start &= !self.in_line.remove(backend),
            // Who of them stays is not seen from here.
            Fact::Separated { backend, .. } => {
                self.stats.separated += 1;
                let server = self.processes.values().find(|p| p.launch.backend == *backend).map(|p| p.server);
                let is_concerned = |c: &&super::client::Client| c.is_aggregate() || c.server == server;
                let clients: Vec<ClientId> =
                    self.clients.values().filter(is_concerned).map(|c| c.id).collect();
                clients.into_iter().for_each(|client| self.roots_moved(client));
            }
            Fact::BreakerOpened { .. } => self.stats.breakers += 1,
            Fact::Retried { .. } => self.stats.retries += 1,
            _ => {}
        }
        Ok(())
    }

    /// Lists are made out elsewhere, sooner or later; of a process that is gone perhaps never.
    fn read_later(&mut self, launch: Launch, round: u32, raw: Box<RawOffer>) -> Check {
        self.stats.read += 1;
        let Some(server) = self.processes.get(&launch).map(|p| p.server) else {
            return Err(format!("{launch} is not there, and what it offers is to be read"));
        };
        for (list, raw) in List::ALL.into_iter().zip(&raw.lists) {
            let marks = match raw {
                RawList::Pages(pages) => marks_of(list, pages).unwrap_or_default(),
                RawList::Absent => Vec::new(),
                RawList::Unchanged(_) => continue,
            };
            self.servers[server].told.insert((list, marks));
        }
        let wait = match self.rng.below(10) {
            _ if self.is_calm => Duration::ZERO,
            0..6 => Duration::ZERO,
            6..9 => self.rng.millis(1..=300),
            _ => self.rng.millis(300..=8000),
        };
        self.plan_for(wait, Later::Read { launch, round, raw });
        Ok(())
    }

    pub(super) fn plan_for(&mut self, wait: Duration, what: Later) {
        self.sequence += 1;
        self.later.insert((self.now + wait, self.sequence), what);
    }

    fn finish(&mut self) -> Check {
        if std::mem::replace(&mut self.is_finished, true) {
            return Err("everything is finished for the second time".into());
        }
        if let Some(p) = self.processes.values().find(|p| p.is_alive()) {
            return Err(format!("everything is finished, but {} is still there", p.launch));
        }
        match self.requests.iter().find(|request| request.is_open()) {
            Some(open) => Err(format!("everything is finished, and {} waits for {}", open.client, open.id)),
            None => Ok(()),
        }
    }

    fn time_passes(&mut self) -> Check {
        let jump = match self.rng.below(100) {
            0..60 => self.rng.millis(1..=300),
            60..88 => self.rng.millis(300..=3000),
            88..98 => self.rng.millis(3000..=30_000),
            _ => self.rng.millis(30_000..=120_000),
        };
        self.advance(jump)
    }

    /// Lets time pass, with what is due on the way.
    pub(super) fn advance(&mut self, jump: Duration) -> Check {
        let target = self.now + jump;
        for _ in 0..20_000 {
            let due = self.later.first_key_value().map(|(key, _)| *key);
            let tick = self.core.wake().filter(|_| self.plan.is_punctual);
            match (due.filter(|(at, _)| *at <= target), tick.filter(|at| *at <= target)) {
                (Some(due), tick) if tick.is_none_or(|tick| due.0 <= tick) => {
                    self.now = self.now.max(due.0);
                    if let Some(later) = self.later.remove(&due) {
                        self.comes(later)?;
                    }
                }
                (_, Some(tick)) => {
                    self.now = self.now.max(tick);
                    self.tick()?;
                }
                _ => {
                    self.now = target;
                    let is_late = self.core.wake().is_some_and(|wake| wake <= target);
                    return if is_late && self.rng.percent(70) { self.tick() } else { Ok(()) };
                }
            }
            if self.is_calm {
                self.calm_ones_act()?;
            }
        }
        Err(format!("time does not pass: {:?} is wanted again and again", self.core.wake()))
    }

    pub(super) fn tick(&mut self) -> Check {
        self.stats.ticks += 1;
        self.note(|| "tick".into());
        self.handle(Event::Tick)?;
        self.roots_given_up();
        self.check_lists_wait()
    }

    fn comes(&mut self, later: Later) -> Check {
        match later {
            Later::Spawn(launch) => self.spawns(launch),
            Later::End(launch) => self.ends(launch, "exit code 0"),
            Later::Read { launch, round, raw } => {
                let is_there = self.processes.get(&launch).is_some_and(|p| p.is_alive());
                if !is_there {
                    self.stats.read_too_late += 1;
                    if self.rng.percent(50) {
                        return Ok(());
                    }
                }
                self.change += 1;
                self.note(|| format!("> what {launch} offers is known, round {round}"));
                self.handle(Event::OfferRead { launch, round, offer: raw.read().into() })
            }
            Later::LookUp { client, inquiry, paths } => {
                self.note(|| format!("> {paths:?} of {client} looked up"));
                self.roots_moved(client);
                let roots = paths.into_iter().map(Some).collect();
                self.handle(Event::RootsLookedUp { client, inquiry, roots })
            }
        }
    }

    pub(super) fn forget_later(&mut self) {
        self.later.clear();
    }

    pub(super) fn process(&mut self, launch: Launch) -> &mut Process {
        self.processes.get_mut(&launch).expect("a launch that was started")
    }

    pub(super) fn client(&mut self, client: ClientId) -> &mut Client {
        self.clients.get_mut(&client).expect("a client that connected")
    }

    /// The servers that a client of all of them sees.
    pub(super) fn listed(&self) -> Vec<usize> {
        let is_listed = |at: &usize| !self.servers[*at].is_gone && self.servers[*at].settings.is_listed;
        (0..self.servers.len()).filter(is_listed).collect()
    }

    pub(super) fn settings(&self) -> Settings {
        let offers = |at: usize| {
            let own = self.kept.range((at, String::new())..(at + 1, String::new()));
            own.map(move |((_, profile), stored)| {
                let naming = self.servers[at].settings.naming.clone();
                (OfferKey::anywhere(profile), StoredOffer::from_bytes(stored.clone().into(), naming))
            })
        };
        let servers = (0..self.servers.len()).map(|at| switchboard_core::ServerSettings {
            offers: offers(at).collect(),
            ..self.servers[at].settings.clone()
        });
        Settings { servers: servers.collect(), ..self.plan.settings.clone() }
    }

    pub(super) fn name_of(&self, server: usize) -> &str {
        &self.servers[server].settings.name
    }
}

/// The marks in the pages of a list, as far as they are one.
fn marks_of(list: List, pages: &[Bytes]) -> Option<Vec<usize>> {
    let mut marks = Vec::new();
    for page in pages {
        let page: Value = serde_json::from_slice(page).ok()?;
        for item in page.get(list.member())?.as_array()? {
            marks.push(item["mark"].as_u64()? as usize);
        }
    }
    Some(marks)
}

pub(super) fn server_id(server: usize) -> ServerId {
    ServerId(server as u32)
}

/// A message of this world, as the core takes it.
pub(super) fn message(text: String) -> Check<Message> {
    match parse(Bytes::from(text.clone())) {
        Ok(Parsed::One(message)) => Ok(message),
        other => Err(format!("this world's messages are plain: {text}, {other:?}")),
    }
}

//! The world of a run: the core, the parties around it, the clock and the agenda. All events and actions pass through
//! here.

use super::ending::End;
use super::ledger::{Check, Ledger, Request};
use super::owner::Owner;
use super::parties::{Client, Phase, Presence, Process};
use super::rng::Rng;
use super::rules::rule_of;
use super::scenario::{Run, Scenario, Start};
use super::stats::Stats;
use super::story::Story;
use super::variables::number_of;
use bytes::Bytes;
use serde_json::Value;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use switchboard_core::{
    Action, BackendId, ClientId, Core, Event, Fact, Launch, Moment, Peer, Settings, StopHow,
};
use switchboard_protocol::{Message, Outgoing, OutgoingKind, Parsed, parse};

/// Counters of every scenario.
const COUNTERS: &str = "steps ticks late_ticks clients clients_ended clients_lost requests starts spawn_failures \
    crashes orders drains reloads \
    breaker_openings retries";

/// A deliberate fault between the core and the parties, to prove that it is found and the run is shrunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Every third answer to a client is lost.
    LosesAnswers,
    /// Every third answer to a client goes to the next client as well.
    MisdirectsAnswers,
}

/// An entry of the agenda.
enum Due<E> {
    Spawn(Launch),
    End(Launch),
    LookedUp { client: ClientId, inquiry: u32, roots: Vec<Option<String>> },
    Errand(E),
}

pub(crate) struct World<S: Scenario> {
    pub(crate) rng: Rng,
    pub(crate) settings: Settings,
    pub(crate) plan: S::Plan,
    pub(crate) core: Core,
    pub(crate) now: Moment,
    /// Time since which ticks have been on time.
    pub(crate) told_since: Moment,
    /// Whether ticks come when requested, not late.
    pub(crate) ticks_on_time: bool,
    pub(crate) clients: BTreeMap<ClientId, Client<S::Client>>,
    pub(crate) processes: BTreeMap<Launch, Process<S::Process>>,
    pub(crate) ledger: Ledger<S::Request>,
    pub(crate) owner: Owner,
    pub(crate) stats: Stats,
    pub(crate) turn: S::Turn,
    /// Notifications of the current turn that reached clients.
    pub(crate) heard: Vec<(ClientId, Value)>,
    pub(crate) is_ending: bool,
    pub(crate) is_finished: bool,
    pub(crate) own: S,
    /// Bytes that were read at once, to be reported after the current event.
    pub(crate) flushed: Vec<(Peer, usize)>,
    /// Backends that wait for room.
    pub(crate) in_line: BTreeSet<BackendId>,
    next_client: u32,
    steps: usize,
    pub(super) end: End,
    agenda: BTreeMap<(Moment, u64), Due<S::Errand>>,
    sequence: u64,
    actions: Vec<Action>,
    story: Story,
    flaw: Option<Flaw>,
    answers: u64,
}

impl<S: Scenario> World<S> {
    pub(super) fn new(seed: u64, flaw: Option<Flaw>, story: Story) -> Self {
        let mut rng = Rng::new(seed);
        let Run { settings, plan, own, steps, end } = S::DRAW(&mut rng, seed);
        let mut world = Self {
            ticks_on_time: rng.percent(if S::TEST == "simulator" { 60 } else { 85 }),
            rng,
            core: Core::new(settings.clone()),
            settings,
            plan,
            now: Moment::default(),
            told_since: Moment::default(),
            clients: BTreeMap::new(),
            processes: BTreeMap::new(),
            ledger: Ledger::default(),
            owner: Owner::default(),
            stats: Stats::new(&[COUNTERS, S::COUNTERS]),
            turn: S::Turn::default(),
            heard: Vec::new(),
            is_ending: false,
            is_finished: false,
            own,
            flushed: Vec::new(),
            in_line: BTreeSet::new(),
            next_client: 1,
            steps,
            end,
            agenda: BTreeMap::new(),
            sequence: 0,
            actions: Vec::new(),
            story,
            flaw,
            answers: 0,
        };
        S::BEGIN(&mut world);
        world
    }

    /// Runs the steps that are kept, and the end.
    pub(super) fn live(&mut self, seed: u64, is_kept: impl Fn(usize) -> bool, step: &Cell<usize>) -> Check {
        for at in (0..self.steps).filter(|&at| is_kept(at)) {
            if self.is_finished && !S::BEGIN_ANEW(self)? {
                break;
            }
            step.set(at);
            self.rng = Rng::of_step(seed, at as u64);
            self.stats.count("steps");
            self.step()?;
            S::AFTER_STEP(self)?;
        }
        step.set(self.steps);
        self.rng = Rng::of_step(seed, u64::MAX);
        self.close()
    }

    fn step(&mut self) -> Check {
        let (may_come, must_come) = S::WANTS_CLIENT(self);
        if must_come || (may_come && self.rng.percent(7)) {
            return S::CONNECT(self);
        }
        if S::SPECIAL_ACT(self)? {
            return Ok(());
        }
        match self.rng.below(100) {
            0..42 => S::CLIENT_ACTS(self),
            42..86 => S::PROCESS_ACTS(self),
            _ => self.time_passes(),
        }
    }

    /// Adds a line to the story that no event or action shows.
    pub(crate) fn tell(&self, line: impl FnOnce() -> String) {
        self.story.tell(self.now, || Some(line()));
    }

    pub(crate) fn handle(&mut self, event: Event) -> Check {
        self.handle_as(S::Turn::default(), event)
    }

    /// Passes an event to the core, and performs its actions.
    pub(crate) fn handle_as(&mut self, turn: S::Turn, event: Event) -> Check {
        self.story.event(self.now, &event);
        let now = self.now;
        let is_tick = matches!(event, Event::Tick);
        self.handle_by(turn, |core, actions| core.handle(now, event, actions))?;
        // A tick leaves no deadline that would be due again at once.
        match self.core.wake().filter(|wake| S::KEEPS_DEADLINES && is_tick && *wake <= now) {
            Some(wake) => Err(format!("at {now:?} a tick came, and another is wanted for {wake:?}")),
            None => Ok(()),
        }
    }

    pub(crate) fn handle_by(
        &mut self,
        turn: S::Turn,
        tell: impl FnOnce(&mut Core, &mut Vec<Action>),
    ) -> Check {
        self.turn = turn;
        self.heard.clear();
        let mut actions = std::mem::take(&mut self.actions);
        tell(&mut self.core, &mut actions);
        actions.drain(..).try_for_each(|action| self.act(action))?;
        while let Some((peer, bytes)) = self.flushed.pop() {
            self.core.handle(self.now, Event::Flushed { peer, bytes }, &mut actions);
            actions.drain(..).try_for_each(|action| self.act(action))?;
        }
        self.actions = actions;
        self.check_wake().and_then(|()| self.check_permits())?;
        S::AFTER_EVENT(self)
    }

    fn act(&mut self, action: Action) -> Check {
        self.story.action(self.now, &action);
        match action {
            Action::Start { launch, server, framing, root, environment, .. } => {
                let environment = number_of(&environment);
                self.start(Start { launch, server: server.0 as usize, framing, root, environment })
            }
            Action::Stop { launch, how } => self.stop(launch, how),
            Action::ToBackend { launch, out } => match self.processes.get(&launch).map(|p| p.phase) {
                Some(Phase::Alive) => S::AT_PROCESS(self, launch, &out, written(&out)?),
                phase => Err(format!("{launch} is told something, and is {phase:?}")),
            },
            Action::ToClient { client, out, .. } => self.deliver(client, &out),
            Action::NoAnswer { client, id } => {
                self.stats.add("no_answers", 1);
                self.ledger.no_answer(client, &id.to_string())
            }
            Action::StoreRecord { .. } => Ok(()),
            Action::Report(fact) => {
                self.note(&fact);
                S::HEAR(self, &fact)
            }
            Action::Finished => self.finish(),
            Action::LookUp { client, inquiry, paths } => {
                let (roots, wait) = S::LOOK_UP(self, paths);
                self.put_off(wait, Due::LookedUp { client, inquiry, roots });
                Ok(())
            }
            Action::Disconnect { client } => self.let_go(client),
            Action::ReadOffer { .. } | Action::StoreOffer { .. } => S::PERFORM(self, action),
            Action::StorePins { .. } => S::PERFORM(self, action),
        }
    }

    /// Handling of facts that all scenarios share.
    fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::Draining { .. } => self.is_ending = true,
            Fact::NoRoom { backend, .. } => {
                self.stats.add("waits_for_room", 1);
                self.in_line.insert(*backend);
            }
            Fact::BreakerOpened { .. } => self.stats.count("breaker_openings"),
            Fact::Retried { .. } => self.stats.count("retries"),
            Fact::Separated { .. } => drop(self.stats.add("separated", 1)),
            _ => {}
        }
    }

    fn deliver(&mut self, client: ClientId, out: &Outgoing) -> Check {
        if self.clients.get(&client).is_none_or(|c| !c.is_there()) {
            return Err(format!("{client} is told something, and is not there"));
        }
        if let Some(flaw) = self.flaw.filter(|_| matches!(out.kind(), OutgoingKind::Response { .. })) {
            self.answers += 1;
            match flaw {
                _ if !self.answers.is_multiple_of(3) => {}
                Flaw::LosesAnswers => return Ok(()),
                Flaw::MisdirectsAnswers => {
                    let other = self.clients.values().find(|c| c.id != client && c.is_there()).map(|c| c.id);
                    if let Some(other) = other {
                        S::AT_CLIENT(self, other, out, written(out)?)?;
                    }
                }
            }
        }
        S::AT_CLIENT(self, client, out, written(out)?)
    }

    fn start(&mut self, start: Start) -> Check {
        let (launch, server) = (start.launch, start.server);
        if self.is_finished {
            return Err(format!("{launch} is started after everything was finished"));
        }
        if let Some(other) = self.alive().find(|other| other.backend == launch.backend) {
            return Err(format!("{launch} is started while {other} is there"));
        }
        self.check_start_allowed(launch, server)?;
        self.stats.count("starts");
        let (own, wait) = S::START(self, &start)?;
        let Start { root, environment, .. } = start;
        let process = Process {
            launch,
            server,
            root,
            environment,
            phase: Phase::Making,
            is_stopping: false,
            given: BTreeSet::new(),
            handshakes: 0,
            confirmed_at: 0,
            is_greeted: false,
            is_confirmed: false,
            last_word: self.now,
            own,
        };
        self.put_off(wait, Due::Spawn(launch));
        match self.processes.insert(launch, process) {
            Some(_) => Err(format!("{launch} is started twice")),
            None => Ok(()),
        }
    }

    fn stop(&mut self, launch: Launch, how: StopHow) -> Check {
        if self.processes.get(&launch).is_none_or(|p| !p.is_alive()) {
            return Err(format!("{launch} is stopped, but is not there"));
        }
        S::CHECK_STOP(self, launch)?;
        let grace = how.grace().map_or(0, |grace| grace.as_millis() as usize);
        let wait = match how {
            StopHow::Gently { .. } => {
                self.rng.wait(&[(2, (0, 100)), (2, (0, 2 * grace)), (1, (grace, 2 * grace))])
            }
            StopHow::Terminate { .. } => self.rng.wait(&[(1, (0, 100)), (1, (0, grace))]),
            StopHow::Kill => self.rng.millis(0..=200),
        };
        self.process(launch).is_stopping = true;
        self.put_off(wait, Due::End(launch));
        Ok(())
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

    /// Completes the start of a process, or its failure.
    pub(crate) fn comes(&mut self, launch: Launch) -> Check {
        if self.processes.get(&launch).is_none_or(|p| p.phase != Phase::Making) {
            return Ok(());
        }
        if !S::CANNOT_SPAWN(self, launch) {
            self.process(launch).phase = Phase::Alive;
            return self.handle(Event::Spawned { launch, pid: 1000 + launch.number });
        }
        self.stats.count("spawn_failures");
        // A process that never ran has not crashed.
        (self.process(launch).phase, self.process(launch).is_stopping) = (Phase::Gone, true);
        S::IS_GONE(self, launch);
        self.handle(Event::SpawnFailed { launch, reason: "no such file".into(), hint: None })?;
        S::HAS_GONE(self, launch)
    }

    /// Ends a process, on request or by itself.
    pub(crate) fn ends(&mut self, launch: Launch) -> Check {
        let Some(p) = self.processes.get_mut(&launch).filter(|p| p.is_alive()) else { return Ok(()) };
        let was_making = std::mem::replace(&mut p.phase, Phase::Gone) == Phase::Making;
        let is_crash = !p.is_stopping;
        self.stats.count_if("crashes", is_crash && !was_making);
        S::IS_GONE(self, launch);
        let stderr = if self.rng.percent(50) { "Error: boom\n".into() } else { String::new() };
        self.handle(Event::BackendEnded { launch, how: "exit code 1".into(), stderr, hint: None })?;
        S::HAS_GONE(self, launch)
    }

    fn time_passes(&mut self) -> Check {
        let jump =
            self.rng.wait(&[(58, (1, 200)), (28, (200, 3000)), (12, (3000, 35_000)), (2, S::LONGEST_JUMP)]);
        S::BEFORE_JUMP(self)?;
        self.advance(jump)
    }

    /// Lets time pass, with everything that falls due on the way.
    pub(crate) fn advance(&mut self, jump: Duration) -> Check {
        let target = self.now + jump;
        // Due entries can cause others, but not for ever.
        for _ in 0..20_000 {
            let due = self.agenda.first_key_value().map(|(key, _)| *key).filter(|(at, _)| *at <= target);
            let tick = self.core.wake().filter(|at| self.ticks_on_time && *at <= target);
            match (due, tick) {
                (Some(due), tick) if tick.is_none_or(|tick| due.0 <= tick) => {
                    self.now = self.now.max(due.0);
                    self.agenda.remove(&due).map_or(Ok(()), |due| self.do_due(due))?;
                }
                (_, Some(tick)) => {
                    self.now = self.now.max(tick);
                    self.tick()?;
                }
                _ => {
                    self.now = target;
                    let is_late = self.core.wake().is_some_and(|wake| wake <= target);
                    if is_late && self.rng.percent(70) {
                        self.stats.count("late_ticks");
                        self.tick()?;
                    }
                    return Ok(());
                }
            }
            S::DURING_JUMP(self)?;
        }
        Err(format!("time does not pass: {:?} is wanted again and again", self.core.wake()))
    }

    fn do_due(&mut self, due: Due<S::Errand>) -> Check {
        match due {
            Due::Spawn(launch) => self.comes(launch),
            Due::End(launch) => self.ends(launch),
            Due::LookedUp { client, inquiry, roots } => {
                S::LOOKED_UP(self, client);
                self.handle(Event::RootsLookedUp { client, inquiry, roots })
            }
            Due::Errand(errand) => S::ERRAND(self, errand),
        }
    }

    pub(crate) fn tick(&mut self) -> Check {
        self.stats.count("ticks");
        self.handle(Event::Tick)?;
        S::AFTER_TICK(self)
    }

    fn put_off(&mut self, wait: Duration, due: Due<S::Errand>) {
        self.sequence += 1;
        self.agenda.insert((self.now + wait, self.sequence), due);
    }

    pub(crate) fn later(&mut self, wait: Duration, errand: S::Errand) {
        self.put_off(wait, Due::Errand(errand));
    }

    pub(crate) fn clear_agenda(&mut self) {
        self.agenda.clear();
    }

    /// Processes that exist or are being started.
    pub(crate) fn alive(&self) -> impl Iterator<Item = Launch> {
        self.processes.values().filter(|p| p.is_alive()).map(|p| p.launch)
    }

    pub(crate) fn process(&mut self, launch: Launch) -> &mut Process<S::Process> {
        self.processes.get_mut(&launch).expect("a launch that was started")
    }

    pub(crate) fn client(&mut self, client: ClientId) -> &mut Client<S::Client> {
        self.clients.get_mut(&client).expect("a client that connected")
    }

    pub(crate) fn clients_here(&self) -> Vec<ClientId> {
        self.clients.values().filter(|c| c.presence == Presence::Here).map(|c| c.id).collect()
    }

    pub(crate) fn is_lost(&self, client: ClientId) -> bool {
        self.clients.get(&client).is_none_or(|c| !c.is_there())
    }

    /// Adds a client that is about to connect.
    pub(crate) fn add_client(&mut self, server: Option<usize>, environment: u32, own: S::Client) -> ClientId {
        let id = ClientId(self.next_client);
        self.next_client += 1;
        self.stats.count("clients");
        let (presence, is_confirmed, next_id) = (Presence::Here, false, 0);
        let (level, questions) = (None, Vec::new());
        let client =
            Client { id, presence, server, environment, is_confirmed, next_id, level, questions, own };
        self.clients.insert(id, client);
        id
    }

    /// Records a client's request; returns its number.
    pub(crate) fn book(
        &mut self,
        client: ClientId,
        batch: Option<usize>,
        method: &str,
        id: String,
        token: Option<String>,
        own: S::Request,
    ) -> usize {
        self.stats.count("requests");
        let (sent, touched, handed) = (self.now, self.now, Vec::new());
        let (is_answered, is_cancelled, is_hidden) = (false, false, false);
        let rule = rule_of(method);
        let request = Request {
            client,
            rule,
            id,
            token,
            batch,
            sent,
            touched,
            handed,
            is_answered,
            is_cancelled,
            is_hidden,
            own,
        };
        self.ledger.add(request)
    }

    /// Processes that run, of those that exist or are being started.
    pub(crate) fn running(&self) -> Vec<Launch> {
        self.processes.values().filter(|p| p.phase == Phase::Alive).map(|p| p.launch).collect()
    }
}

/// Bytes of a message, checked against its declared length.
fn written(out: &Outgoing) -> Check<Vec<u8>> {
    let bytes = out.to_vec();
    match bytes.len() == out.len() {
        true => Ok(bytes),
        false => Err(format!("a message of {} bytes says that it has {}", bytes.len(), out.len())),
    }
}

/// A plain message, as input for the core.
pub(crate) fn message(text: String) -> Check<Message> {
    match parse(Bytes::from(text.clone())) {
        Ok(Parsed::One(message)) => Ok(message),
        other => Err(format!("messages are plain here: {text}, {other:?}")),
    }
}

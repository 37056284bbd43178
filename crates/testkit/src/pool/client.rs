//! The clients: they come, with their surroundings and abilities, and go. What they say is in `client_talk`.

use super::ledger::Check;
use super::plan::PROJECTS;
use super::world::World;
use crate::variables::environment;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use switchboard_core::routing::Known;
use switchboard_core::{ClientId, Event, ServerId, Surroundings};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Here,
    /// It sends nothing more, but reads.
    Ended,
    Lost,
}

/// How a client takes it when it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Temper {
    Prompt,
    Late,
    Refuses,
    Silent,
}

/// What a client was asked, and has not answered.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) id: Value,
    /// Whose it is; `None`: ours, for its roots.
    pub(super) ask: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Client {
    pub(super) presence: Presence,
    pub(super) environment: u32,
    pub(super) version: usize,
    /// What it can do, of three kinds, and whether it has roots.
    pub(super) variant: usize,
    pub(super) has_roots: bool,
    pub(super) temper: Temper,
    pub(super) is_early_talker: bool,
    /// What is known of its workspaces, as we should know it.
    pub(super) known: Known,
    /// Where what names no place goes: nowhere, if that is settled and empty.
    pub(super) home: BTreeSet<Option<String>>,
    /// Every root that anything of it was to go to.
    pub(super) homes: BTreeSet<Option<String>>,
    /// The folders that are open in it.
    pub(super) folders: Vec<usize>,
    /// The lists that it has named, as it named them, by the number of the question.
    pub(super) named: BTreeMap<u64, Vec<Value>>,
    /// We have asked for its roots, and do not know them yet.
    pub(super) is_asked_roots: bool,
    /// Its `initialize`, and how far that is.
    pub(super) initialize: Option<usize>,
    pub(super) is_greeted: bool,
    pub(super) is_confirmed: bool,
    pub(super) next_id: usize,
    /// Requests before this one were sent when it worked elsewhere, perhaps.
    pub(super) settled_from: usize,
    pub(super) level: Option<usize>,
    pub(super) questions: Vec<Question>,
    pub(super) tasks: Vec<String>,
}

impl Client {
    pub(super) fn is_there(&self) -> bool {
        self.presence != Presence::Lost
    }
}

/// What a client does next.
#[derive(Debug, Clone, Copy)]
enum Act {
    Call,
    CallAtPlace,
    CallAsTask,
    AskTask,
    List,
    Read,
    Ping,
    Subscribe,
    Unsubscribe,
    SetLevel,
    Cancel,
    Answer,
    ChangeRoots,
    EndInput,
    Vanish,
}

const ACTS: &[(usize, Act)] = &[
    (140, Act::Call),
    (200, Act::CallAtPlace),
    (30, Act::CallAsTask),
    (40, Act::AskTask),
    (90, Act::List),
    (40, Act::Read),
    (20, Act::Ping),
    (50, Act::Subscribe),
    (40, Act::Unsubscribe),
    (50, Act::SetLevel),
    (60, Act::Cancel),
    (120, Act::Answer),
    (50, Act::ChangeRoots),
    (6, Act::EndInput),
    (12, Act::Vanish),
];

impl World {
    pub(super) fn clients_here(&self) -> impl Iterator<Item = ClientId> {
        self.clients.iter().filter(|(_, c)| c.presence == Presence::Here).map(|(&id, _)| id)
    }

    pub(super) fn connect(&mut self) -> Check {
        let id = ClientId(self.clients.len() as u32 + 1);
        let rng = &mut self.rng;
        let some_root = |rng: &mut crate::simulator::rng::Rng, chance| {
            rng.percent(chance).then(|| rng.pick(PROJECTS).to_string())
        };
        let number = rng.below(self.plan.environments as usize) as u32;
        let surroundings = Surroundings {
            environment: environment(number),
            pinned: some_root(rng, 8),
            given: self.plan.given.clone(),
            default: self.plan.default.clone(),
            named: some_root(rng, 10),
            working_folder: if rng.percent(30) { Some("/home".into()) } else { some_root(rng, 30) },
            ..Surroundings::default()
        };
        self.stats.pinned_clients += u64::from(surroundings.pinned.is_some());
        let roots = &self.plan.settings.roots;
        let known = Known {
            pinned: surroundings.pinned.clone(),
            given: surroundings.given.clone(),
            client: Vec::new(),
            seen: Vec::new(),
            environment: surroundings.named.clone(),
            working_folder: surroundings.working_folder.clone(),
            default: surroundings.default.clone(),
            home: roots.home.clone(),
        };
        let fresh = Client {
            presence: Presence::Here,
            environment: number,
            version: if self.plan.versions_differ { rng.below(2) } else { 0 },
            variant: rng.below(3),
            has_roots: rng.percent(65),
            temper: rng.weighted(&[
                (60, Temper::Prompt),
                (20, Temper::Late),
                (10, Temper::Refuses),
                (10, Temper::Silent),
            ]),
            is_early_talker: self.plan.has_early_talkers && rng.percent(40),
            known,
            home: BTreeSet::new(),
            homes: BTreeSet::new(),
            folders: some_folders(rng),
            named: BTreeMap::new(),
            is_asked_roots: false,
            initialize: None,
            is_greeted: false,
            is_confirmed: false,
            next_id: 0,
            settled_from: 0,
            level: None,
            questions: Vec::new(),
            tasks: Vec::new(),
        };
        self.clients.insert(id, fresh);
        self.stats.clients += 1;
        self.note(|| format!("{id} connects with {surroundings:?}"));
        if !self.plan.is_split() {
            self.settle_home(id);
        }
        self.handle(Event::ClientConnected { client: id, server: ServerId(0), surroundings })
    }

    pub(super) fn client_acts(&mut self) -> Check {
        let clients: Vec<ClientId> = self.clients_here().collect();
        if clients.is_empty() {
            return Ok(());
        }
        let client = *self.rng.pick(&clients);
        let c = &self.clients[&client];
        let (is_asked, is_greeted, is_confirmed) = (c.initialize.is_some(), c.is_greeted, c.is_confirmed);
        let may_talk = c.is_early_talker;
        let talks_first = may_talk && self.rng.percent(50);
        if !is_asked && !talks_first {
            return self.client_initializes(client);
        }
        let is_early = self.rng.percent(10);
        if !is_confirmed && (is_greeted || (is_asked && is_early)) && self.rng.percent(85) {
            return self.client_confirms(client);
        }
        if !is_greeted && !may_talk && !self.rng.percent(20) {
            // It waits to be greeted, or is one of the few that do not.
            return Ok(());
        }
        match self.rng.weighted(ACTS) {
            Act::Call => self.client_calls(client, None, false),
            Act::CallAtPlace => {
                let place = self.some_place();
                self.client_calls(client, Some(place), false)
            }
            Act::CallAsTask => {
                let place = self.some_place();
                let place = Some(place).filter(|_| self.rng.percent(50));
                self.client_calls(client, place, true)
            }
            Act::AskTask => self.client_asks_for_task(client),
            Act::List => self.client_lists(client),
            Act::Read => self.client_reads(client),
            Act::Ping => self.client_pings(client),
            Act::Subscribe => self.client_subscribes(client, true),
            Act::Unsubscribe => self.client_subscribes(client, false),
            Act::SetLevel => self.client_sets_level(client),
            Act::Cancel => self.client_cancels(client),
            Act::Answer => self.client_answers(client),
            Act::ChangeRoots => self.client_changes_roots(client),
            Act::EndInput | Act::Vanish if clients.len() == 1 => Ok(()),
            Act::EndInput => self.client_ends_input(client),
            Act::Vanish => self.client_vanishes(client),
        }
    }

    pub(super) fn client_ends_input(&mut self, client: ClientId) -> Check {
        if self.client(client).presence != Presence::Here {
            return Ok(());
        }
        self.client(client).presence = Presence::Ended;
        self.client(client).questions.clear();
        self.stats.clients_ended += 1;
        self.note(|| format!("{client} ends its input"));
        self.note_end();
        self.handle(Event::ClientInputEnded { client })
    }

    pub(super) fn client_vanishes(&mut self, client: ClientId) -> Check {
        if self.client(client).presence == Presence::Lost {
            return Ok(());
        }
        self.client(client).presence = Presence::Lost;
        self.client(client).questions.clear();
        self.stats.clients_lost += 1;
        self.last_move = self.now;
        self.note(|| format!("{client} is lost"));
        for request in self.requests.iter_mut().filter(|request| request.client == client) {
            // Nobody waits for it any more.
            request.is_cancelled = true;
        }
        for site in self.sites.values_mut() {
            site.forget(client, true);
        }
        self.note_end();
        self.handle(Event::ClientLost { client })
    }

    /// When the last client has gone, we end.
    fn note_end(&mut self) {
        let is_empty = self.clients_here().next().is_none();
        self.is_ending |= is_empty;
    }
}

pub(super) fn some_folders(rng: &mut crate::simulator::rng::Rng) -> Vec<usize> {
    let mut folders: Vec<usize> = (0..super::client_roots::FOLDERS.len()).collect();
    rng.shuffle(&mut folders);
    folders.truncate(rng.weighted(&[(1, 0), (4, 1), (3, 2), (2, 3)]));
    folders
}

//! The clients: they connect, with their surroundings and capabilities, and leave. Their messages are in `client_talk`.

use super::client_talk::URIS;
use super::plan::PROJECTS;
use super::verb::Verb;
use super::{PoolWorld, Sites};
use crate::simulator::engine::{Check, ClientAct, Rng, environment};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use switchboard_core::routing::Known;
use switchboard_core::{ClientId, Event, ServerId, Surroundings};

/// Reaction of a client to questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Answering {
    #[default]
    Prompt,
    Late,
    Refuses,
    Silent,
}

#[derive(Debug, Default)]
pub(crate) struct PoolClient {
    /// Name of the party on whose behalf it acts.
    pub(super) identity: Arc<str>,
    pub(super) version: usize,
    /// Capabilities, of three kinds, and whether it has roots.
    pub(super) variant: usize,
    pub(super) has_roots: bool,
    pub(super) answering: Answering,
    pub(super) is_early_talker: bool,
    /// Its workspaces, as the core should know them.
    pub(super) known: Known,
    /// Possible roots of requests without a path; `None` if there is no root.
    pub(super) home: BTreeSet<Option<String>>,
    /// Every root that any of its requests belonged to.
    pub(super) homes: BTreeSet<Option<String>>,
    /// Its open folders.
    pub(super) folders: Vec<usize>,
    /// Root lists that it named, in its own spelling, by the number of the question.
    pub(super) named: BTreeMap<u64, Vec<Value>>,
    /// Whether its roots were requested and are not known yet.
    pub(super) is_asked_roots: bool,
    /// Number of its `initialize`, and whether that was answered.
    pub(super) initialize: Option<usize>,
    pub(super) is_greeted: bool,
    /// Whether Switchboard has greeted it, because its first request was no handshake.
    pub(super) is_greeted_by_us: bool,
    /// Number of the first request that was certainly sent from its present workspace.
    pub(super) settled_from: usize,
    pub(super) tasks: Vec<String>,
}

const ACTS: &[(usize, ClientAct<Sites>)] = &[
    (140, |world, client| world.client_calls(client, None, false)),
    (200, |world, client| {
        let place = world.some_place();
        world.client_calls(client, Some(place), false)
    }),
    (30, |world, client| {
        let place = world.some_place();
        let place = Some(place).filter(|_| world.rng.percent(50));
        world.client_calls(client, place, true)
    }),
    (40, PoolWorld::client_asks_for_task),
    (90, |world, client| world.client_requests(client, Verb::List, json!({}), None)),
    (40, |world, client| {
        let uri = *world.rng.pick(URIS);
        world.client_requests(client, Verb::Read, json!({ "uri": uri }), None)
    }),
    (20, |world, client| world.client_requests(client, Verb::Ping, json!({}), None)),
    (50, |world, client| world.client_turns_subscription(client, true)),
    (40, |world, client| world.client_turns_subscription(client, false)),
    (50, PoolWorld::client_sets_level),
    (60, PoolWorld::client_cancels),
    (120, PoolWorld::client_answers),
    (50, PoolWorld::client_changes_roots),
];

/// Ends a connection; the last client stays, unless the program outlives it.
const FAREWELLS: &[(usize, ClientAct<Sites>)] =
    &[(6, PoolWorld::client_ends_input), (12, PoolWorld::client_vanishes)];

impl PoolWorld {
    pub(super) fn connect(&mut self) -> Check {
        let rng = &mut self.rng;
        let some_root = |rng: &mut Rng, chance| rng.percent(chance).then(|| rng.pick(PROJECTS).to_string());
        let number = rng.below(self.plan.environments as usize) as u32;
        let identity = self.plan.identities[self.clients.len() % self.plan.identities.len()].clone();
        let surroundings = Surroundings {
            identity: identity.clone(),
            environment: environment(number),
            pinned: some_root(rng, 8),
            given: self.plan.given.clone(),
            default: self.plan.default.clone(),
            named: some_root(rng, 10),
            working_folder: if rng.percent(30) { Some("/home".into()) } else { some_root(rng, 30) },
            ..Surroundings::default()
        };
        self.stats.count_if("pinned_clients", surroundings.pinned.is_some());
        let known = Known {
            pinned: surroundings.pinned.clone(),
            given: surroundings.given.clone(),
            environment: surroundings.named.clone(),
            working_folder: surroundings.working_folder.clone(),
            default: surroundings.default.clone(),
            home: self.settings.roots.home.clone(),
            ..Known::default()
        };
        let fresh = PoolClient {
            identity: identity.name.clone(),
            version: if self.plan.versions_differ { rng.below(2) } else { 0 },
            variant: rng.below(3),
            has_roots: rng.percent(65),
            answering: rng.weighted(&[
                (60, Answering::Prompt),
                (20, Answering::Late),
                (10, Answering::Refuses),
                (10, Answering::Silent),
            ]),
            is_early_talker: self.plan.has_early_talkers && rng.percent(40),
            known,
            folders: some_folders(rng),
            ..PoolClient::default()
        };
        let id = self.add_client(Some(0), number, fresh);
        if !self.is_split() {
            self.settle_home(id);
        }
        self.handle(Event::ClientConnected { client: id, server: ServerId(0), surroundings })
    }

    pub(super) fn client_acts(&mut self) -> Check {
        let clients = self.clients_here();
        let Some(client) = self.rng.choose(&clients) else { return Ok(()) };
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
            // Most clients wait to be greeted.
            return Ok(());
        }
        let may_leave = clients.len() > 1 || self.settings.linger.is_some();
        let acts = if may_leave && self.rng.percent(2) { FAREWELLS } else { ACTS };
        self.rng.weighted(acts)(self, client)
    }

    /// Writes off a client that is gone; one that has closed its input gives no more answers.
    pub(super) fn forget(&mut self, client: ClientId) {
        self.client(client).questions.clear();
        if !self.is_lost(client) {
            return;
        }
        self.own.last_move = self.now;
        self.ledger.void(client);
        for site in self.own.sites.values_mut() {
            site.forget(client, true);
        }
    }

    pub(super) fn owner_acts(&mut self) -> Check {
        if self.owner.is_removed(0) || self.rng.percent(25) {
            return self.changes_config();
        }
        let root = self.rng.percent(30).then(|| *self.rng.pick(PROJECTS));
        self.some_order(0, root)
    }
}

impl PoolWorld {
    /// Moves all clients, and discards the facts learnt about another config entry.
    fn changes_config(&mut self) -> Check {
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        let is_split = self.is_split();
        for client in clients {
            self.unsettle(client);
            if is_split {
                self.client(client).home.clear();
            }
        }
        self.unsent_may_move();
        let is_removed = !self.owner.is_removed(0) && self.rng.percent(25);
        self.own.has_asked &= is_removed;
        self.own.last_move = self.now;
        self.reload(0, is_removed)
    }
}

pub(super) fn some_folders(rng: &mut Rng) -> Vec<usize> {
    let mut folders: Vec<usize> = (0..super::client_roots::FOLDERS.len()).collect();
    rng.shuffle(&mut folders);
    folders.truncate(rng.weighted(&[(1, 0), (4, 1), (3, 2), (2, 3)]));
    folders
}

//! The aggregate scenario: many servers as one. Clients of all servers, of a profile, and of one server beside them;
//! servers that are added, removed, and change their offers.
//!
//! # Promises
//! 1. Every request gets exactly one terminal answer, under its own id in its own spelling. No client gets another's.
//! 2. A request reaches the server that its public name belongs to in the list shown to the client (or in the present
//!    one), under that server's own name to the byte, and no other server; a call never twice.
//! 3. At rest, a walk through a list shows exactly the present offer for such a client, filtered and renamed;
//!    without repeats or gaps, each item to the byte except for its name.
//! 4. At rest, a client with an outdated list has been notified. No client is notified of a list that it never saw.
//! 5. The pages of a walk come from one state, or the cursor is refused as stale, which needs a reason.
//! 6. No list waits longer than a server may take to start, and no request for one server waits for another.
//! 7. `resources/updated` reaches subscribers, under the URI that they used; log messages keep to each client's level and
//!    carry the server's name; progress goes to the requester, under its token.
//! 8. A client is asked for its roots once at a time.
//! 9. Where the offers of all servers are known, handshakes and lists start no process.
//! 10. The number of processes stays within the limit; at rest nothing is pending, and departed clients are forgotten.
//! 11. After a drain every request is answered, and the core finishes.
//! 12. A client of one server sees the server's own bytes without the filtered items, and reaches nothing else.
//! 13. A client with a profile sees and reaches what its rights leave, in every list and by every name, and is
//!     refused everything else in the same way, whether it exists or not; also after the rights have changed.
//! 14. No call reaches a tool that is held, or a process whose tools were not compared, where `pinning` says so.
//! 15. A server that its owner has stopped stays stopped until it is enabled; a removed one gets no further request.
//!
//! Every item of every list carries a unique mark, so that anything shown can be traced to its server without
//! knowing the naming rules.
//!
//! # Layout
//! - `plan`: the character of a run. `menu`: offers of servers. `rights`: rights of clients. `verb`: requests.
//! - `pins`: changed tools. `owner`: reloads, orders, a restart of the program.
//! - `client`, `client_talk`: acts and requests of clients. `process`, `process_talk`: acts and messages of processes.
//! - `at_client`, `at_lists`, `at_single`, `at_notices`, `at_process`: checks of arrivals.
//! - `rest`: promises that hold at rest.

mod plan;
mod menu;
mod rights;
mod verb;
mod pins;
mod owner;
mod client;
mod client_talk;
mod process;
mod process_talk;
mod at_client;
mod at_lists;
mod at_notices;
mod at_process;
mod at_single;
mod rest;

use super::engine::{
    self, Act, Answer, Asked, Check, Client, End, Failure, Found, Make, Plain, Rng, Run, Scenario, Stats,
    World,
};
use bytes::Bytes;
use client::AggregateClient;
use menu::{Item, Server};
use plan::AggregatePlan;
use process::AggregateProcess;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::access::Rights;
use switchboard_core::catalogue::{List, Offer, OfferKey, RawList, RawOffer, StoredOffer};
use switchboard_core::pins::Pinning;
use switchboard_core::{Action, ClientId, Event, Fact, Launch, Peer, ServerId, ServerSettings, Settings};
use switchboard_protocol::Outgoing;
use verb::{AggregateRequest, Task};

/// Runs one seed.
pub fn run(seed: u64) -> Result<Stats, Box<Failure>> {
    engine::run::<Servers>(seed, None)
}

type AggregateWorld = World<Servers>;

#[derive(Debug, Default)]
pub(crate) struct Servers {
    servers: Vec<Server>,
    /// Items by mark.
    items: Vec<Item>,
    tasks: Vec<Task>,
    /// Rights that each profile has had, the present ones last.
    profiles: Vec<Vec<Arc<Rights>>>,
    /// Lists that a restarted program would load.
    kept: BTreeMap<(usize, String), Vec<u8>>,
    /// Servers whose lists this run knows, by profile.
    known: BTreeSet<(usize, String)>,
    /// Counter of changes that may affect the lists of a client.
    change: u64,
    /// Whether all parties behave well.
    is_calm: bool,
}

/// State of the current event.
#[derive(Debug, Default)]
pub(crate) struct AggregateTurn {
    /// Whether the event must not start a process.
    must_not_start: bool,
}

/// Lists of a process that are being read.
#[derive(Debug)]
pub(crate) struct OfferRead {
    launch: Launch,
    round: u32,
    raw: Box<RawOffer>,
}

impl Scenario for Servers {
    const TEST: &'static str = "aggregates";
    const COUNTERS: &'static str = "servers_removed aggregates profiles rights_changed refused stopped_reading handshakes handshakes_anew warm_handshakes \
        warm_lists from_store answers batches batch_answers cancellations progress logs updates updates_heard \
        unsubscribed_by_us tasks asks questions_answered disputes separated tasks_hidden roots_asked list_changes \
        fetched pages_served refused_pages second_answers read read_too_late kept pages long_walks told \
        surely_routed perhaps_routed not_held told_apart pins changed_tools approvals checked_calls held_back single_access single_hidden filtered_pages \
        waits_for_room runs rests looks sections \
        error_backend_spawn_failed error_backend_unavailable error_backend_timeout error_shutting_down \
        error_overloaded error_client_too_slow error_method_not_found error_unknown_name \
        error_resource_not_found error_forbidden error_stale_cursor plain_handshakes let_go";
    const LONGEST_JUMP: (usize, usize) = (30_000, 120_000);
    // A retry that fell due while no client lacked the server becomes due again when one does, and is made at the next tick.
    const KEEPS_DEADLINES: bool = false;

    type Plan = AggregatePlan;
    type Client = AggregateClient;
    type Process = AggregateProcess;
    type Request = AggregateRequest;
    type Turn = AggregateTurn;
    type Errand = OfferRead;

    const DRAW: fn(&mut Rng, u64) -> Run<Self> = |rng, seed| {
        let plan = AggregatePlan::draw(rng);
        let settings = plan::settings(rng, &plan, seed);
        Run { settings, plan, own: Self::default(), steps: rng.within(30..=220), end: End::Drain }
    };
    const BEGIN: fn(&mut AggregateWorld) = |world| {
        world.own.profiles = world.settings.profiles.iter().map(|(_, rights)| vec![rights.clone()]).collect();
        world.settings.servers.clone().into_iter().for_each(|settings| world.add_server(settings));
    };
    const BEGIN_ANEW: fn(&mut AggregateWorld) -> Check<bool> = |world| world.begin_anew().map(|()| true);
    const CLIENT_ACTS: Act<Self> = AggregateWorld::client_acts;
    const PROCESS_ACTS: Act<Self> = AggregateWorld::process_acts;
    const CONNECT: Act<Self> = AggregateWorld::connect;
    const WANTS_CLIENT: fn(&AggregateWorld) -> (bool, bool) = |world| {
        let here = world.clients_here().len();
        (!world.is_ending && here < world.plan.clients, !world.is_ending && here == 0)
    };
    const SPECIAL_ACT: fn(&mut AggregateWorld) -> Check<bool> = |world| {
        let chance = if world.plan.changes_rights() { 6 } else { 2 };
        let acts = !world.is_ending && world.rng.percent(chance);
        if acts { world.owner_acts().map(|()| true) } else { Ok(false) }
    };
    const START: Make<Self> = |world, start| {
        world.check_start(start)?;
        let wait = match world.own.is_calm {
            true => Duration::from_millis(1),
            false => world.rng.wait(&[(17, (0, 200)), (2, (200, 4000)), (1, (4000, 40_000))]),
        };
        Ok((AggregateProcess::default(), wait))
    };
    const CANNOT_SPAWN: fn(&mut AggregateWorld, Launch) -> bool = |world, launch| {
        let server = &world.own.servers[world.processes[&launch].server];
        server.cannot_start || (!world.own.is_calm && world.rng.percent(world.plan.spawn_failures))
    };
    const AT_CLIENT: fn(&mut AggregateWorld, ClientId, &Outgoing, Vec<u8>) -> Check =
        |world, client, out, bytes| {
            let c = world.client(client);
            match c.is_reading {
                true => world.flushed.push((Peer::Client(client), bytes.len())),
                false => c.unread += bytes.len(),
            }
            world.at_client(client, out, bytes)
        };
    const AT_PROCESS: fn(&mut AggregateWorld, Launch, &Outgoing, Vec<u8>) -> Check =
        |world, launch, out, bytes| {
            world.flushed.push((Peer::Backend(launch), bytes.len()));
            world.at_process(launch, out, bytes)
        };
    const HEAR: fn(&mut AggregateWorld, &Fact) -> Check = AggregateWorld::hear;
    const AFTER_TICK: Act<Self> = |world| {
        world.roots_given_up();
        world.check_lists_wait()
    };
    const DURING_JUMP: Act<Self> = |world| if world.own.is_calm { world.calm_ones_act() } else { Ok(()) };
    const ERRAND: fn(&mut AggregateWorld, OfferRead) -> Check = AggregateWorld::is_read;
    const LOOK_UP: fn(&mut AggregateWorld, Vec<String>) -> Found = |world, paths| {
        let wait = if world.own.is_calm { Duration::ZERO } else { world.rng.millis(0..=400) };
        (paths.into_iter().map(Some).collect(), wait)
    };
    const LOOKED_UP: fn(&mut AggregateWorld, ClientId) = AggregateWorld::roots_moved;
    const PERFORM: fn(&mut AggregateWorld, Action) -> Check = |world, action| match action {
        Action::ReadOffer { launch, round, raw } => world.read_later(OfferRead { launch, round, raw }),
        Action::StoreOffer { server, key, offer } => {
            world.stats.count("kept");
            let key = (server.0 as usize, key.profile.to_string());
            world.own.known.insert(key.clone());
            world.own.kept.insert(key, offer.store());
            Ok(())
        }
        Action::StorePins { server, news } => world.pins_stored(server.0 as usize, news),
        other => Err(format!("nobody here expects {other:?}")),
    };
    const IS_GONE: fn(&mut AggregateWorld, Launch) = AggregateWorld::bury;
    const LEAVES: fn(&mut AggregateWorld, ClientId) = |world, client| {
        if world.is_lost(client) {
            world.ledger.void(client);
            world.moved(client);
        }
    };
    const SETTLE: Act<Self> = |world| if world.rng.percent(80) { world.comes_to_rest() } else { Ok(()) };
    const END_ALLOWANCE: fn(&AggregateWorld) -> Duration = |world| {
        let graces = world.own.servers.iter().map(|server| server.settings.shutdown_grace);
        graces.max().unwrap_or_default() * 4 + Duration::from_secs(50)
    };
    const CHECK_END: Act<Self> = |world| {
        world.check_all_answered()?;
        let there = world.clients.values().find(|c| c.is_there());
        match there.filter(|_| world.settings.linger.is_some()) {
            Some(c) => Err(format!("it is over, and {} was not let go", c.id)),
            None => Ok(()),
        }
    };
}

impl Plain for Servers {
    const GREETS_ONCE: bool = false;
    const ROOTS_ASKED: fn(&mut AggregateWorld, ClientId, Value) -> Check = AggregateWorld::roots_asked;
    const NOTIFIED: fn(&mut AggregateWorld, ClientId, &Value) -> Check = AggregateWorld::notified;
    const ANSWERED: fn(&mut AggregateWorld, &Answer<'_>) -> Check = AggregateWorld::answered;
    const REQUESTED: fn(&mut AggregateWorld, &Asked<'_>) -> Check = AggregateWorld::requested;
    const TOLD: fn(&mut AggregateWorld, Launch, &str, &Value) -> Check = AggregateWorld::told;
    const REPLIED: fn(&mut AggregateWorld, Launch, usize, &Value) -> Check = AggregateWorld::replied;
}

impl AggregateWorld {
    fn hear(&mut self, fact: &Fact) -> Check {
        match fact {
            Fact::Answered { client, .. }
            | Fact::Asked { client, .. }
            | Fact::RootsKnown { client, .. }
            | Fact::RootChosen { client, .. }
                if !self.clients.contains_key(client) =>
            {
                return Err(format!("{client} is nobody: {fact:?}"));
            }
            // The backend waited for room before this turn.
            Fact::Starting { backend, .. } => self.turn.must_not_start &= !self.in_line.remove(backend),
            // The simulator cannot see which of them stays.
            Fact::Separated { backend, .. } => {
                let server = self.processes.values().find(|p| p.launch.backend == *backend).map(|p| p.server);
                let is_concerned = |c: &&Client<AggregateClient>| c.is_aggregate() || c.server == server;
                let clients: Vec<ClientId> =
                    self.clients.values().filter(is_concerned).map(|c| c.id).collect();
                clients.into_iter().for_each(|client| self.roots_moved(client));
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the lists of a process later; for a process that is gone, perhaps never.
    fn read_later(&mut self, offer: OfferRead) -> Check {
        let launch = offer.launch;
        self.stats.count("read");
        let Some(server) = self.processes.get(&launch).map(|p| p.server) else {
            return Err(format!("{launch} is not there, and what it offers is to be read"));
        };
        for (list, raw) in List::ALL.into_iter().zip(&offer.raw.lists) {
            let marks = match raw {
                RawList::Pages(pages) => marks_of(list, pages).unwrap_or_default(),
                RawList::Absent => Vec::new(),
                RawList::Unchanged(_) => continue,
            };
            self.own.servers[server].told.insert((list, marks));
        }
        let wait = match self.rng.below(10) {
            _ if self.own.is_calm => Duration::ZERO,
            0..6 => Duration::ZERO,
            6..9 => self.rng.millis(1..=300),
            _ => self.rng.millis(300..=8000),
        };
        self.later(wait, offer);
        Ok(())
    }

    fn is_read(&mut self, OfferRead { launch, round, raw }: OfferRead) -> Check {
        let is_there = self.processes.get(&launch).is_some_and(|p| p.is_alive());
        self.stats.count_if("read_too_late", !is_there);
        if !is_there && self.rng.percent(50) {
            return Ok(());
        }
        self.own.change += 1;
        self.handle(Event::OfferRead { launch, round, offer: raw.read().into() })
    }

    /// Servers that a client of all of them sees.
    fn listed(&self) -> Vec<usize> {
        let is_listed = |at: &usize| !self.owner.is_removed(*at) && self.own.servers[*at].settings.is_listed;
        (0..self.own.servers.len()).filter(is_listed).collect()
    }

    /// Servers that a client sees: those that its rights include.
    fn listed_for(&self, client: ClientId) -> Vec<usize> {
        self.listed().into_iter().filter(|at| self.may_use_server(client, *at)).collect()
    }

    fn stored_settings(&self) -> Settings {
        let offers = |at: usize, settings: &ServerSettings| {
            let (naming, is_held) = (settings.naming.clone(), settings.pinning == Pinning::Hold);
            let pins = Arc::new(settings.pins.clone());
            let own = self.own.kept.range((at, String::new())..(at + 1, String::new()));
            own.map(move |((_, profile), stored)| {
                let (naming, pins) = (naming.clone(), pins.clone());
                let passes = move |offer: &Offer| !is_held || pins.vouch_for(offer);
                let stored = StoredOffer::from_bytes_if(stored.clone().into(), naming, passes);
                (OfferKey::anywhere(profile), stored)
            })
            .collect()
        };
        let servers = self.own.servers.iter().enumerate().map(|(at, server)| {
            let settings = server.settings.clone().with_pins(server.settings.pinning, server.pins.pins());
            ServerSettings { offers: offers(at, &settings), ..settings }
        });
        Settings { servers: servers.collect(), ..self.settings.clone() }
    }

    fn name_of(&self, server: usize) -> &str {
        &self.own.servers[server].settings.name
    }
}

/// The marks in the pages of a list, if all pages belong to one state.
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

fn server_id(server: usize) -> ServerId {
    ServerId(server as u32)
}

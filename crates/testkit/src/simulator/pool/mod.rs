//! The pool scenario: workspaces, sharing and budgets. Several clients, few backends.
//!
//! The messages are plain; the topology is not. Clients of different environments, capabilities and roots connect and leave,
//! change their roots, subscribe, start tasks; processes ask, log, crash, hang, grow, end slowly; the owner gives orders
//! and changes the config.
//!
//! # Promises
//! 1. Each request is answered once, by a process of the right root and environment. A hidden tool is never called.
//! 2. The number of processes stays within the limit. A client that needs a process does not lose it to another.
//! 3. Messages reach the clients that they concern, and no others.
//! 4. A new process gets the settings that the one before it had.
//! 5. No request waits for ever. An unused process ends after its time, or after `linger` if it has no client.
//! 6. At the end no process is left.
//! 7. No call is sent beyond a limit, and a question that is denied reaches no client.
//!
//! # Layout
//! - `access`: limits on calls, and denied questions.
//! - `plan`: the character of a run. `verb`: requests. `site`: backends, across their processes.
//! - `client`, `client_talk`, `client_roots`: acts, messages and workspaces of clients.
//! - `process`, `process_talk`, `process_asks`: acts, messages and questions of processes.
//! - `at_client`, `at_process`, `audience`: checks of arrivals.
//! - `checks`, `rest`: promises about the whole run, and about stops.

mod access;
mod plan;
mod verb;
mod site;
mod client;
mod client_talk;
mod client_roots;
mod process;
mod process_talk;
mod process_asks;
mod at_client;
mod at_process;
mod audience;
mod checks;
mod rest;

use super::engine::{
    self, Act, Answer, Asked, Check, Failure, Found, Make, Plain, ProcessAct, Rng, Run, Scenario, Stats,
    World,
};
use client::PoolClient;
use plan::PoolPlan;
use process::PoolProcess;
use serde_json::Value;
use site::Site;
use std::collections::BTreeMap;
use std::time::Duration;
use switchboard_core::routing::Known;
use switchboard_core::{BackendId, ClientId, Fact, Launch, Moment, Scope, StatePolicy};
use switchboard_protocol::Outgoing;
use verb::PoolRequest;

/// Runs one seed.
pub fn run(seed: u64) -> Result<Stats, Box<Failure>> {
    engine::run::<Sites>(seed, None)
}

type PoolWorld = World<Sites>;

#[derive(Debug, Default)]
pub(crate) struct Sites {
    sites: BTreeMap<BackendId, Site>,
    /// Whether a process has asked its client something: from then on each client has its own processes.
    has_asked: bool,
    /// Last time that any process asked its client something, or was answered.
    last_talk: Moment,
    /// Last time that a client left, or moved.
    last_move: Moment,
}

/// State of the current event.
#[derive(Debug, Default)]
pub(crate) struct PoolTurn {
    /// A request that a process answers, and the result that its client must get.
    answering: Option<(usize, Value)>,
    /// Roots of a client that were known before its handshake was complete.
    tentative: Vec<(ClientId, Known, Vec<usize>)>,
}

impl Scenario for Sites {
    const TEST: &'static str = "pool";
    const COUNTERS: &'static str = "servers_removed pinned_clients early_talkers plain_handshakes results server_errors cancellations \
        answers_after_cancellation progress late_progress roots_asked roots_answered roots_refused \
        roots_never_answered late_lookups roots_known homes_moved parked_and_routed placed_calls opened_roots \
        nested_roots fallbacks nowhere greeted_without_a_process roots_named_to_process roots_changed_told \
        second_starts spawns_too_late evictions idle_stops unused_stops left_stops \
        memory_stops memory_restarts pool_memory_stops pool_memory_restarts health_restarts timeout_restarts \
        state_lost waits_for_room room_errors rooms_after_waiting shared_processes pings_answered joins_by_welcome \
        handshakes_made_later shared_by_likeness interactive_splits separated separated_stops poorer_stops \
        united_stops asks_passed_in_flight asks_passed_to_the_only_one asks_passed_by_task asks_refused \
        updates_spread logs_withheld logs_spread merged_notifications levels_restored levels_lowered \
        subscriptions_restored unsubscribed_for_others tasks tasks_found_again hidden_calls filtered_lists \
        owner_stops owner_restarts reload_stops linger_stops let_go \
        error_backend_spawn_failed error_backend_unavailable error_backend_timeout error_routing_failed \
        error_shutting_down error_overloaded error_unknown_name error_rate_limited asks_denied";
    const LONGEST_JUMP: (usize, usize) = (30_000, 180_000);

    type Plan = PoolPlan;
    type Client = PoolClient;
    type Process = PoolProcess;
    type Request = PoolRequest;
    type Turn = PoolTurn;
    type Errand = ();

    const DRAW: fn(&mut Rng, u64) -> Run<Self> = |rng, seed| {
        let (mut settings, mut plan) = (plan::settings(rng, seed), PoolPlan::draw(rng));
        access::draw(seed, &mut settings, &mut plan);
        let end = plan.end;
        Run { settings, plan, own: Self::default(), steps: rng.within(40..=260), end }
    };
    const CLIENT_ACTS: Act<Self> = PoolWorld::client_acts;
    const PROCESS_ACTS: Act<Self> = PoolWorld::process_acts;
    const CONNECT: Act<Self> = PoolWorld::connect;
    const WANTS_CLIENT: fn(&PoolWorld) -> (bool, bool) = |world| {
        let may_come = world.clients_here().len() < world.plan.clients && !world.owner.is_removed(0);
        (may_come, world.clients.is_empty())
    };
    const SPECIAL_ACT: fn(&mut PoolWorld) -> Check<bool> = |world| {
        let is_measured =
            world.settings.servers[0].memory_limit.or(world.settings.pool.memory_limit).is_some();
        match world.rng.below(100) {
            0..3 if is_measured => world.memory_is_measured().map(|()| true),
            3..5 if world.plan.has_orders && !world.is_ending => world.owner_acts().map(|()| true),
            _ => Ok(false),
        }
    };
    const START: Make<Self> = PoolWorld::make_process;
    const CANNOT_SPAWN: fn(&mut PoolWorld, Launch) -> bool =
        |world, _| world.rng.percent(world.plan.spawn_failures);
    const AT_CLIENT: fn(&mut PoolWorld, ClientId, &Outgoing, Vec<u8>) -> Check = PoolWorld::at_client;
    const AT_PROCESS: fn(&mut PoolWorld, Launch, &Outgoing, Vec<u8>) -> Check = PoolWorld::at_process;
    const HEAR: fn(&mut PoolWorld, &Fact) -> Check = PoolWorld::hear;
    const AFTER_STEP: Act<Self> = PoolWorld::prompt_ones_answer;
    const AFTER_EVENT: Act<Self> = PoolWorld::check_step;
    const AFTER_TICK: Act<Self> = |world| world.check_overdue().and_then(|()| world.check_rested());
    const BEFORE_JUMP: Act<Self> =
        |world| if world.rng.percent(75) { world.healthy_work_off() } else { Ok(()) };
    const LOOK_UP: fn(&mut PoolWorld, Vec<String>) -> Found = PoolWorld::look_up;
    const CHECK_STOP: ProcessAct<Self> = PoolWorld::check_stop;
    const IS_GONE: fn(&mut PoolWorld, Launch) = PoolWorld::bury;
    const LEAVES: fn(&mut PoolWorld, ClientId) = PoolWorld::forget;
    const CHECK_END: Act<Self> = |world| world.check_all_answered().and_then(|()| world.check_rates());
    const SETTLE: Act<Self> = |world| {
        if world.is_ending || !world.rng.percent(40) {
            return Ok(());
        }
        world.tell(|| "time passes until everything must be answered".into());
        let server = &world.settings.servers[0];
        world.advance(server.start_timeout * 2 + server.timeout + Duration::from_secs(1))?;
        world.tick()
    };
    const END_ALLOWANCE: fn(&PoolWorld) -> Duration =
        |world| world.settings.servers[0].shutdown_grace * 2 + Duration::from_secs(9);
}

impl Plain for Sites {
    const ROOTS_ASKED: fn(&mut PoolWorld, ClientId, Value) -> Check = PoolWorld::roots_asked;
    const NOTIFIED: fn(&mut PoolWorld, ClientId, &Value) -> Check = PoolWorld::notified;
    const ANSWERED: fn(&mut PoolWorld, &Answer<'_>) -> Check = PoolWorld::answered;
    const REQUESTED: fn(&mut PoolWorld, &Asked<'_>) -> Check = PoolWorld::requested;
    const TOLD: fn(&mut PoolWorld, Launch, &str, &Value) -> Check = PoolWorld::told;
    const REPLIED: fn(&mut PoolWorld, Launch, usize, &Value) -> Check = PoolWorld::replied;
}

impl PoolWorld {
    fn hear(&mut self, fact: &Fact) -> Check {
        let stats = &mut self.stats;
        match fact {
            Fact::RootsKnown { client, roots } => return self.roots_known(*client, roots),
            Fact::Stopping { backend, why } => {
                if let Some(site) = self.own.sites.get_mut(backend) {
                    site.why = Some(why);
                }
            }
            // The simulator cannot see which of the clients stays.
            Fact::Separated { backend, .. } => {
                self.own.last_move = self.now;
                // Unsent requests move with their clients.
                self.unsent_may_move();
                if let Some(site) = self.own.sites.get_mut(backend) {
                    for client in site.sure.clone() {
                        site.forget(client, false);
                    }
                }
            }
            Fact::Fallback { .. } => stats.count("fallbacks"),
            Fact::StateLost { .. } => stats.count("state_lost"),
            _ => {}
        }
        Ok(())
    }

    /// Requests that no process has go where their clients go. That includes those that wait to be sent again.
    fn unsent_may_move(&mut self) {
        let processes = &self.processes;
        for request in self.ledger.requests.iter_mut().filter(|request| request.is_open()) {
            request.is_unclear |= request.handed.last().is_none_or(|launch| !processes[launch].is_staying());
        }
    }

    /// Whether there is one instance per root, instead of one for all roots of a client.
    fn is_split(&self) -> bool {
        self.settings.servers[0].splits && self.settings.servers[0].scope != Scope::Global
    }

    /// Whether no two clients may share an instance.
    fn is_private(&self) -> bool {
        let server = &self.settings.servers[0];
        server.scope == Scope::Client || server.state == StatePolicy::Client
    }

    /// Limit on processes; higher if each client has its own.
    fn most(&self) -> usize {
        let pool = self.settings.pool.max_backends;
        let is_private = self.is_private() || self.own.has_asked;
        if is_private { pool } else { self.settings.servers[0].max_backends.min(pool) }
    }
}

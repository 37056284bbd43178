//! The connection scenario: clients with one backend each, and messages compared to the byte.
//!
//! Clients ask, cancel, batch, send garbage, stop reading and disappear; backends answer in any order, twice, late or never,
//! crash, hang and flood; the owner restarts and stops the server; time jumps.
//!
//! # Promises
//! 1. Every request gets exactly one terminal answer, under its client's id. No client gets another's.
//! 2. A `tools/call` is handed over once, and a hidden tool never.
//! 3. No request exceeds its deadline. Unread messages stay within their limits.
//! 4. A backend has one process at most, and restarts are limited. At the end no process is left.
//!
//! # Layout
//! - `plan`: the character of a run. `draft`: messages in pieces. `post`: written and unread messages.
//! - `client`, `client_talk`, `client_answers`: acts, requests and answers of clients.
//! - `backend`, `backend_talk`, `backend_asks`: acts, messages and questions of backends.
//! - `at_client`, `at_backend`: arrivals, checked to the byte. `checks`: promises about the whole run.

mod draft;
mod post;
mod plan;
mod client;
mod client_talk;
mod client_answers;
mod backend;
mod backend_talk;
mod backend_asks;
mod at_client;
mod at_backend;
mod checks;

use super::engine::{
    self, Act, Check, ClientAct, End, Failure, Flaw, Make, ProcessAct, Rng, Run, Scenario, Stats, World,
};
use backend::Backend;
use client::ConnectionClient;
use plan::ConnectionPlan;
use post::Post;
use std::time::Duration;
use switchboard_core::{ClientId, Fact, FramingChoice, Launch, Outcome};
use switchboard_protocol::{Framing, Outgoing};

/// Runs one seed.
pub fn run(seed: u64) -> Result<Stats, Box<Failure>> {
    engine::run::<Post>(seed, None)
}

/// Runs one seed with a deliberate fault.
pub fn run_with(flaw: Flaw, seed: u64) -> Result<Stats, Box<Failure>> {
    engine::run::<Post>(seed, Some(flaw))
}

type ConnectionWorld = World<Post>;

impl Scenario for Post {
    const TEST: &'static str = "simulator";
    const COUNTERS: &'static str = "servers_removed answers records server_errors batches batches_of_notifications batch_answers reused_ids \
        garbage bare_clients handshakes replays second_initializes client_too_long backend_too_long broken_answers \
        null_id_errors second_answers stray_answers late_answers words_of_the_dead quarantined glued_messages \
        cancellations cancellations_mapped unknown_cancellations answers_after_cancellation progress stray_progress \
        unknown_progress forged_progress progress_after_answer notifications_to_client notifications_to_backend \
        dropped_for_client dropped_for_backend asks asks_answered asks_refused asks_cancelled_by_server \
        asks_withdrawn asks_answered_twice asks_progress crashes_before_handshake crashes_during_replay restarts \
        probes restarts_without_sign_of_life framing_retries framing_learnt \
        clogged_clients clogged_backends clients_in_the_end shutdowns exits hidden_calls hidden_refused \
        owner_stops owner_restarts plain_handshakes \
        error_backend_spawn_failed error_backend_unavailable error_backend_timeout error_overloaded \
        error_shutting_down error_client_too_slow error_message_too_large error_bad_answer \
        error_method_not_found error_bad_message error_unknown_name";
    const LONGEST_JUMP: (usize, usize) = (60_000, 720_000);

    type Plan = ConnectionPlan;
    type Client = ConnectionClient;
    type Process = Backend;
    type Request = ();
    type Turn = ();
    type Errand = ();

    const DRAW: fn(&mut Rng, u64) -> Run<Self> = |rng, seed| {
        let plan = ConnectionPlan::draw(rng);
        let (settings, end) = (plan::settings(rng, &plan, seed), plan.end);
        Run { settings, plan, own: Self::default(), steps: rng.within(150..=350), end }
    };
    const CLIENT_ACTS: Act<Self> = ConnectionWorld::client_acts;
    const PROCESS_ACTS: Act<Self> = ConnectionWorld::backend_acts;
    const CONNECT: Act<Self> = ConnectionWorld::connect;
    const WANTS_CLIENT: fn(&ConnectionWorld) -> (bool, bool) = |world| {
        let may_come = world.clients.len() < world.plan.clients && !world.owner.is_removed(0);
        (may_come, world.clients.is_empty())
    };
    const SPECIAL_ACT: fn(&mut ConnectionWorld) -> Check<bool> = |world| {
        let acts = world.plan.has_orders && !world.is_ending && world.rng.percent(2);
        if acts { world.owner_acts().map(|()| true) } else { Ok(false) }
    };
    const START: Make<Self> = ConnectionWorld::make_backend;
    const CANNOT_SPAWN: fn(&mut ConnectionWorld, Launch) -> bool = |world, launch| {
        let fails = world.rng.percent(world.plan.spawn_failures);
        world.server(launch).is_free |= fails;
        fails
    };
    const AT_CLIENT: fn(&mut ConnectionWorld, ClientId, &Outgoing, Vec<u8>) -> Check =
        ConnectionWorld::bytes_at_client;
    const AT_PROCESS: fn(&mut ConnectionWorld, Launch, &Outgoing, Vec<u8>) -> Check =
        ConnectionWorld::at_backend;
    const HEAR: fn(&mut ConnectionWorld, &Fact) -> Check = ConnectionWorld::hear;
    const AFTER_STEP: Act<Self> = |world| {
        world.eager_clients_read()?;
        if world.is_ending { Ok(()) } else { world.check_hope() }
    };
    const AFTER_TICK: Act<Self> = ConnectionWorld::check_overdue;
    const BEFORE_JUMP: Act<Self> =
        |world| if world.rng.percent(80) { world.healthy_work_off() } else { Ok(()) };
    const IS_GONE: fn(&mut ConnectionWorld, Launch) = ConnectionWorld::is_gone;
    const HAS_GONE: ProcessAct<Self> = ConnectionWorld::check_after_end;
    const LEAVES: fn(&mut ConnectionWorld, ClientId) = |world, client| {
        if world.is_lost(client) {
            world.client(client).unread.clear();
        }
    };
    const HAS_LEFT: ClientAct<Self> = |world, client| world.check_asks_settled(client);
    const SETTLE: Act<Self> = |world| if world.plan.settles { world.settle() } else { Ok(()) };
    const CLIENT_ENDS_US: fn(&mut ConnectionWorld, ClientId, End) -> Check = |world, client, end| {
        if end == End::Exit {
            return world.client_exits(client);
        }
        world.client_says_farewell(client)?;
        let clients: Vec<ClientId> = world.clients.keys().copied().collect();
        clients.into_iter().try_for_each(|client| world.client_ends_input(client))
    };
    const LATE_CLIENT: Act<Self> = |world| {
        if world.clients.len() >= 6 || world.owner.is_removed(0) {
            return Ok(());
        }
        world.stats.count("clients_in_the_end");
        world.connect()
    };
    const CHECK_DRAINED: Act<Self> = |world| world.check_drained();
    const END_ALLOWANCE: fn(&ConnectionWorld) -> Duration =
        |world| world.settings.servers[0].shutdown_grace * 2 + Duration::from_secs(3);
    const CHECK_END: Act<Self> = ConnectionWorld::check_end;
}

impl ConnectionWorld {
    fn hear(&mut self, fact: &Fact) -> Check {
        match fact {
            Fact::Ready { backend, restarted, .. } => {
                self.stats.count(if *restarted { "replays" } else { "handshakes" });
                let Some(client) = self.client_of(*backend) else { return Ok(()) };
                let written = self.own.next_number();
                let c = self.client(client);
                c.own.backend.on_trial.remove(backend);
                if c.backend.plain.contains(backend) {
                    return Ok(());
                }
                c.backend.has_greeted = true;
                if !restarted {
                    (c.greeted_at, c.own.backend.greeted_from) = (c.own.initializes, written);
                }
            }
            Fact::RestartIn { backend, .. } => {
                self.stats.count("restarts");
                let server = self.server_of(*backend);
                server.awaited.insert(*backend);
                if server.on_trial.contains(backend) {
                    return Err(format!("{backend} failed its trial, and is started again all the same"));
                }
            }
            Fact::BreakerOpened { backend, .. } => {
                let server = self.server_of(*backend);
                server.awaited.remove(backend);
                server.on_trial.insert(*backend);
            }
            Fact::Probing { .. } => self.stats.count("probes"),
            Fact::LateAnswer { .. } => self.stats.count("late_answers"),
            Fact::Quarantined { .. } => self.stats.count("quarantined"),
            Fact::FramingLearnt { backend, framing } => {
                self.stats.count("framing_learnt");
                if self.server_of(*backend).framing != Some(*framing) {
                    return Err(format!("{backend} is taken to understand {}", framing.name()));
                }
            }
            Fact::DroppedNotification { to, .. } if to == "sim" => self.stats.count("dropped_for_backend"),
            Fact::DroppedNotification { .. } => self.stats.count("dropped_for_client"),
            Fact::Stopping { backend, why } => match *why {
                "its owner restarts it" => self.stats.count("owner_restarts"),
                "its owner stops it" => self.stats.count("owner_stops"),
                why if why.contains("health check") => self.stats.count("restarts_without_sign_of_life"),
                why if why.contains("framing") => {
                    self.stats.count("framing_retries");
                    self.server_of(*backend).is_free = true;
                }
                _ => {}
            },
            Fact::Answered { client, outcome, .. } => {
                self.stats.count_if("server_errors", *outcome == Outcome::ServerError);
                self.client(*client).lines += 1;
            }
            Fact::Called(call) => {
                self.stats.count("records");
                self.client(call.client).records += 1;
            }
            _ => {}
        }
        Ok(())
    }

    /// The framing of a new client's server.
    fn some_framing(&mut self) -> Framing {
        match self.settings.servers[0].framing {
            FramingChoice::Fixed(framing) => framing,
            FramingChoice::Try | FramingChoice::Doubt if self.rng.percent(75) => Framing::Newline,
            FramingChoice::Try | FramingChoice::Doubt => Framing::ContentLength,
        }
    }
}

//! The eras scenario: modern and legacy clients, and clients without any handshake, of servers that speak one era, the
//! other, or both.
//!
//! Modern clients change their capabilities, probe with `server/discover`, fall back to `initialize`, listen, cancel, and
//! forget their declaration; legacy servers are silent, or exit, on requests that they do not know.
//!
//! # Promises
//! 1. Every request gets exactly one terminal answer, under its client's id; a subscription too, unless it is cancelled.
//! 2. A modern request reaches only processes that were greeted as modern ones, a legacy request only legacy ones, or
//!    modern ones of a server that is said to be modern, refuses the handshake or ends on it, translated; questions in it reach its own client.
//! 3. A modern process gets no `initialize`, `initialized`, `ping`, `setLevel` or `subscribe`, and each of its requests
//!    is declared. But a process that does not answer `server/discover` gets `initialize`.
//! 4. A modern client is asked nothing, and hears of no change that it did not listen for.
//! 5. A notification on a subscription has the subscription's id as its client spells it, and comes between its
//!    request and its end.
//! 6. Messages of a client of one server are the same to the byte, but for id, progress token and subscription.
//! 7. A process that was told the roots of a modern client is used by no other client, before or after.
//! 8. A client whose requests stand alone hears when no answer follows to a cancelled one, and gets none afterwards.
//! 9. A log message of a modern process reaches the client of its request only: in a response to a remote request, or if no
//!    other client's request can be meant, ended ones included.
//! 10. A modern server is never said to be a legacy one, unless a process of it ended before it answered.
//! 11. A subscription that is kept for a client is acknowledged, with a resource only if a process has agreed to it.
//! 12. The state of a call that was paused when the daemon died continues nothing.
//!
//! # Layout
//! - `plan`: the character of a run. `client`, `client_talk`: acts and requests of clients.
//! - `process`, `process_talk`: acts and messages of processes. `at_client`, `at_process`: checks of arrivals.
//! - `translated`: legacy requests at modern processes. `for_modern`: modern requests at legacy ones. `paused`: calls for
//!   which a legacy process wants input. `roots`: the answers to `roots/list`. `death`: the death of
//!   the daemon.

mod plan;
mod client;
mod client_talk;
mod process;
mod process_talk;
mod at_client;
mod at_process;
mod translated;
mod for_modern;
mod paused;
mod roots;
mod death;

use super::engine::{
    self, Act, Answer, Asked, Check, Failure, Make, Plain, Rng, Run, Scenario, Stats, World,
};
use client::EraClient;
use client_talk::EraRequest;
use death::OldState;
use paused::Pause;
use plan::EraPlan;
use process::EraProcess;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;
use switchboard_core::catalogue::RawOffer;
use switchboard_core::{Action, ClientId, Event, Fact, Launch};
use switchboard_protocol::Outgoing;

/// `_meta` keys, from the specification.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Runs one seed.
pub fn run(seed: u64) -> Result<Stats, Box<Failure>> {
    engine::run::<Eras>(seed, None)
}

type EraWorld = World<Eras>;

#[derive(Debug, Default)]
pub(crate) struct Eras {
    /// The message that is arriving at a client.
    arriving: String,
    /// Whether all processes answer.
    is_calm: bool,
    /// Servers of which a process has refused the handshake, or ended on it.
    may_be_modern: BTreeSet<usize>,
    /// Calls of modern clients that waited for them, or do.
    pauses: Vec<Pause>,
    /// Calls that waited when a daemon died.
    old_states: Vec<OldState>,
}

/// State of the current event.
#[derive(Debug, Default)]
pub(crate) struct EraTurn {
    /// A request that a process answers, and the text of the answer without its id.
    answering: Option<(usize, String)>,
    /// A subscription that a process uses, and the text of the notification without its id.
    telling: Option<(usize, String)>,
    /// A legacy process that tells everybody of a change, and the notification.
    changing: Option<(Launch, String)>,
    /// A question of a legacy process.
    asking: Option<usize>,
    /// The questions that a client answers by continuing its call, and those that are left.
    answered: Vec<usize>,
    remaining: Option<Vec<usize>>,
    /// A modern process wants input that the client of its call may not have declared to give.
    wants_undeclared: bool,
}

/// Lists of a process that have been read.
#[derive(Debug)]
pub(crate) struct OfferRead {
    launch: Launch,
    round: u32,
    raw: Box<RawOffer>,
}

impl Scenario for Eras {
    const TEST: &'static str = "eras";
    const COUNTERS: &'static str = "aggregates modern_clients legacy_clients plain_clients plain_ones_turned_modern probes fallbacks \
        modern_requests legacy_requests undeclared_requests other_capabilities further_rounds listens \
        listens_ended listens_cancelled cancellations no_answers acknowledged changes_told updates_told logs logs_due logs_doubtful progress \
        resources_left_out deaths old_states old_states_refused \
        modern_processes legacy_processes plain_handshakes era_probes our_listens refused_handshakes \
        ignored_probes questions_refused questions untagged_changes results server_errors our_results \
        error_backend_spawn_failed error_backend_unavailable error_backend_timeout error_shutting_down \
        error_missing_meta error_unsupported_version error_method_not_found waits_for_room let_go separated \
        turned_modern turned_legacy translated_requests rounds_translated rounds_undeclared questions_answered \
        requests_for_legacy discoveries_made discoveries_merged unknown_resources urls_refused kept_listens changes_for_modern pauses pauses_again \
        continued continued_badly continued_by_others answers_held answers_given error_input_expired late_refusals translated_twice changes_by_restart \
        roots_told folders_told";
    const LONGEST_JUMP: (usize, usize) = (30_000, 180_000);
    const KEEPS_DEADLINES: bool = false;

    type Plan = EraPlan;
    type Client = EraClient;
    type Process = EraProcess;
    type Request = EraRequest;
    type Turn = EraTurn;
    type Errand = OfferRead;

    const DRAW: fn(&mut Rng, u64) -> Run<Self> = |rng, seed| {
        let (plan, settings) = plan::draw(rng, seed);
        let end = plan.end;
        Run { settings, plan, own: Self::default(), steps: rng.within(30..=160), end }
    };
    const CLIENT_ACTS: Act<Self> = EraWorld::client_acts;
    const PROCESS_ACTS: Act<Self> = EraWorld::process_acts;
    const CONNECT: Act<Self> = EraWorld::connect;
    const WANTS_CLIENT: fn(&EraWorld) -> (bool, bool) = |world| {
        let here = world.clients_here().len();
        (!world.is_ending && here < world.plan.clients, !world.is_ending && here == 0)
    };
    const SPECIAL_ACT: fn(&mut EraWorld) -> Check<bool> = |world| {
        if world.plan.dies
            && !world.is_ending
            && world.rng.percent(if world.has_paused_call() { 40 } else { 1 })
        {
            return world.daemon_dies().map(|()| true);
        }
        let acts = world.plan.has_orders && !world.is_ending && world.rng.percent(2);
        let server = world.rng.below(world.settings.servers.len());
        match acts {
            true if world.rng.percent(30) => world.reload(server, false).map(|()| true),
            true => world.some_order(server, None).map(|()| true),
            false => Ok(false),
        }
    };
    const START: Make<Self> = |world, _| {
        let wait = world.rng.wait(&[(17, (0, 200)), (2, (200, 4000)), (1, (4000, 20_000))]);
        Ok((EraProcess::default(), wait))
    };
    const CANNOT_SPAWN: fn(&mut EraWorld, Launch) -> bool =
        |world, _| world.rng.percent(world.plan.spawn_failures);
    const AT_CLIENT: fn(&mut EraWorld, ClientId, &Outgoing, Vec<u8>) -> Check =
        |world, client, out, bytes| {
            world.own.arriving = String::from_utf8_lossy(&bytes).into_owned();
            world.at_client(client, out, bytes)
        };
    const AT_PROCESS: fn(&mut EraWorld, Launch, &Outgoing, Vec<u8>) -> Check = EraWorld::at_process;
    const HEAR: fn(&mut EraWorld, &Fact) -> Check = |_, _| Ok(());
    const AFTER_TICK: Act<Self> = EraWorld::check_overdue;
    const BEFORE_JUMP: Act<Self> = |world| if world.rng.percent(75) { world.work_off() } else { Ok(()) };
    const DURING_JUMP: Act<Self> = |world| if world.own.is_calm { world.work_off() } else { Ok(()) };
    const ERRAND: fn(&mut EraWorld, OfferRead) -> Check = |world, OfferRead { launch, round, raw }| {
        world.handle(Event::OfferRead { launch, round, offer: raw.read().into() })
    };
    const PERFORM: fn(&mut EraWorld, Action) -> Check = |world, action| match action {
        Action::ReadOffer { launch, round, raw } => {
            world.later(Duration::ZERO, OfferRead { launch, round, raw });
            Ok(())
        }
        Action::StoreOffer { .. } | Action::StorePins { .. } => Ok(()),
        other => Err(format!("nobody here expects {other:?}")),
    };
    const IS_GONE: fn(&mut EraWorld, Launch) = |world, launch| {
        world.ended_on_handshake(launch);
        world.forget_pauses(launch);
        let p = world.process(launch);
        p.open.clear();
        p.listens.clear();
        p.rounds.clear();
        for ask in world.ledger.asks.iter_mut().filter(|ask| ask.launch == launch) {
            ask.is_answered = true;
        }
    };
    const LEAVES: fn(&mut EraWorld, ClientId) = |world, client| {
        if world.is_lost(client) {
            world.ledger.void(client);
        }
    };
    const SETTLE: Act<Self> = |world| {
        if world.is_ending || !world.rng.percent(60) {
            return Ok(());
        }
        world.own.is_calm = true;
        world.tell(|| "time passes until everything must be answered".into());
        let latest = world.longest_wait();
        world.advance(latest)?;
        world.own.is_calm = false;
        world.check_settled()
    };
    const END_ALLOWANCE: fn(&EraWorld) -> Duration =
        |world| world.settings.servers[0].shutdown_grace * 4 + Duration::from_secs(30);
}

impl Plain for Eras {
    const GREETS_ONCE: bool = false;
    const ROOTS_ASKED: fn(&mut EraWorld, ClientId, Value) -> Check =
        |_, client, _| Err(format!("{client} is asked for roots that it does not have"));
    const NOTIFIED: fn(&mut EraWorld, ClientId, &Value) -> Check = EraWorld::notified;
    const ANSWERED: fn(&mut EraWorld, &Answer<'_>) -> Check = EraWorld::answered;
    const REQUESTED: fn(&mut EraWorld, &Asked<'_>) -> Check = EraWorld::requested;
    const TOLD: fn(&mut EraWorld, Launch, &str, &Value) -> Check =
        |_, launch, _, words| Err(format!("{launch} is told what nobody says: {words}"));
    const REPLIED: fn(&mut EraWorld, Launch, usize, &Value) -> Check = EraWorld::replied;
}

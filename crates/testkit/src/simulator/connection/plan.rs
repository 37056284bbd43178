//! The character of a run: its limits, the behaviour of its parties, and its end.

use crate::simulator::engine::{End, Rng};
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::access::{AuditPolicy, AuditedClients, IdentityLimits, NewLimiter};
use switchboard_core::catalogue::{NameStyle, Naming};
use switchboard_core::redact::Secrets;
use switchboard_core::{
    Aggregates, FramingChoice, Limits, OnTimeout, Pool, RetryAfterCrash, Roots, Scope, ServerSettings,
    Settings,
};
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Dialect, Framing};

/// Tool hidden by a filter.
pub(super) const HIDDEN: &str = "hidden";

#[derive(Debug)]
pub(crate) struct ConnectionPlan {
    /// Number of clients in the whole run.
    pub(super) clients: usize,
    /// Percentage.
    pub(super) spawn_failures: usize,
    /// Longest padding of a message.
    pub(super) longest: usize,
    /// Whether some processes die soon after their start.
    pub(super) is_crashy: bool,
    /// Whether time passes before the end until every request must have been answered.
    pub(super) settles: bool,
    /// Whether the owner gives orders.
    pub(super) has_orders: bool,
    /// Whether a filter hides one tool.
    pub(super) is_filtered: bool,
    pub(super) end: End,
}

impl ConnectionPlan {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        Self {
            clients: rng.within(1..=4),
            spawn_failures: *rng.pick(&[0, 0, 3, 30]),
            longest: *rng.pick(&[40, 300, 2000]),
            is_crashy: rng.percent(35),
            settles: rng.percent(50),
            has_orders: rng.percent(25),
            is_filtered: rng.percent(40),
            end: rng.weighted(&[
                (2, End::Drain),
                (1, End::Kill),
                (1, End::InputsClose),
                (1, End::ClientsLost),
                (1, End::Exit),
                (1, End::Shutdown),
                (1, End::DrainTwice),
                (1, End::DrainThenKill),
            ]),
        }
    }
}

pub(super) fn settings(rng: &mut Rng, plan: &ConnectionPlan, seed: u64) -> Settings {
    let timeout = rng.weighted(&[(3, secs(1)), (3, secs(10)), (2, secs(60)), (2, secs(600))]);
    let mut naming = Naming::new("sim", NameStyle::Prefixed);
    naming.tools.deny = if plan.is_filtered { vec![HIDDEN.into()] } else { Vec::new() };
    let server = ServerSettings {
        // Each client has its own backend here; the pool scenario tests sharing.
        scope: Scope::Client,
        max_backends: 32,
        framing: *rng.pick(&[
            FramingChoice::Try,
            FramingChoice::Doubt,
            FramingChoice::Fixed(Framing::Newline),
            FramingChoice::Fixed(Framing::ContentLength),
        ]),
        start_timeout: secs(*rng.pick(&[1, 5, 30])),
        timeout,
        hard_timeout: *rng.pick(&[None, Some(timeout * 2), Some(timeout + Duration::from_millis(700))]),
        on_timeout: *rng.pick(&[OnTimeout::Probe, OnTimeout::Probe, OnTimeout::Restart, OnTimeout::Keep]),
        retry_after_crash: *rng.pick(&[RetryAfterCrash::Safe, RetryAfterCrash::Safe, RetryAfterCrash::Off]),
        shutdown_grace: rng.millis(200..=5000),
        max_in_flight: *rng.pick(&[64, 64, 1, 2, 5]),
        max_queue: if rng.percent(50) { 256 } else { rng.within(1..=8) },
        naming: Arc::new(naming),
        // The scenario `eras` is about the others.
        era: switchboard_core::EraChoice::Fixed(switchboard_protocol::Era::Legacy),
        ..ServerSettings::new("sim")
    };
    let fixed = LearntDialect::Fixed(Dialect::Standard);
    Settings {
        servers: vec![server],
        pool: Pool::default(),
        roots: Roots::default(),
        dialect: rng.weighted(&[(3, LearntDialect::Open), (1, fixed)]),
        client_era: Default::default(),
        shutdown_grace: rng.millis(200..=5000),
        limits: if rng.percent(50) { Limits::default() } else { tight_limits(rng) },
        identity_limits: IdentityLimits::default(),
        limiter: NewLimiter::default(),
        linger: None,
        profiles: Vec::new(),
        aggregates: Aggregates::default(),
        stays: false,
        first_question: 1,
        state_key: Default::default(),
        started: std::time::UNIX_EPOCH,
        seed,
        authenticator: std::sync::Arc::new(switchboard_core::access::NoTokens),
        report_routes: rng.percent(50),
        // Drawn from the seed itself, so that the other choices of old seeds stay.
        audit: AuditPolicy {
            clients: if seed.is_multiple_of(2) { AuditedClients::All } else { AuditedClients::None },
            arguments: seed.is_multiple_of(4),
        },
        secrets: Secrets::NONE,
    }
}

/// Limits that a run of some hundred steps reaches.
fn tight_limits(rng: &mut Rng) -> Limits {
    Limits {
        client_bytes: rng.within(500..=4000),
        backend_bytes: rng.within(500..=4000),
        pending_per_client: rng.within(2..=16),
        asked_per_backend: rng.within(1..=4),
        restarts_per_minute: rng.within(1..=5),
        ..Limits::default()
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

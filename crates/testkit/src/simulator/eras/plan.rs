//! The character of a run: servers of both eras, and how they are configured.

use crate::simulator::engine::{End, Rng};
use std::time::Duration;
use switchboard_core::access::{AuditPolicy, IdentityLimits, NewLimiter};
use switchboard_core::catalogue::{NameStyle, Naming};
use switchboard_core::redact::Secrets;
use switchboard_core::routing::Policy;
use switchboard_core::routing::path::Style;
use switchboard_core::{
    Aggregates, Capabilities, ClientEra, EraChoice, FramingChoice, Limits, OnTimeout, Pool, RetryAfterCrash,
    Roots, Scope, ServerSettings, Settings,
};
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Dialect, Era, Framing};

/// How a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speech {
    /// Refuses unknown requests.
    Legacy,
    /// Ignores unknown requests.
    Silent,
    /// Exits if its first request is not `initialize`.
    Fragile,
    /// Refuses `initialize`.
    Modern,
    Dual,
}

impl Speech {
    pub(super) fn is_modern(self) -> bool {
        matches!(self, Self::Modern | Self::Dual)
    }
}

#[derive(Debug)]
pub(crate) struct EraPlan {
    /// Number of concurrent clients.
    pub(super) clients: usize,
    pub(super) end: End,
    /// By server.
    pub(super) speech: Vec<Speech>,
    /// Percentage of modern clients.
    pub(super) modern: usize,
    /// Percentage of aggregate clients.
    pub(super) aggregates: usize,
    /// Whether legacy servers ask for roots only, so that their clients go on sharing processes.
    pub(super) asks_roots_only: bool,
    /// Whether all calls want log messages, and servers take their time for them and send many.
    pub(super) has_logs: bool,
    /// Percentages.
    pub(super) spawn_failures: usize,
    pub(super) crashes: usize,
    pub(super) has_orders: bool,
    /// Whether the daemon is killed at times.
    pub(super) dies: bool,
}

pub(super) fn draw(rng: &mut Rng, seed: u64) -> (EraPlan, Settings) {
    let count = rng.weighted(&[(3, 1), (2, 2), (1, 3)]);
    let one = some_speech(rng);
    let is_mixed = rng.percent(50);
    let speech: Vec<Speech> = (0..count).map(|_| if is_mixed { some_speech(rng) } else { one }).collect();
    let plan = EraPlan {
        clients: rng.weighted(&[(2, 1), (3, 2), (2, 3), (1, 5)]),
        end: *rng.pick(&[
            End::Drain,
            End::DrainTwice,
            End::DrainThenKill,
            End::InputsClose,
            End::ClientsLost,
        ]),
        modern: *rng.pick(&[30, 70, 100]),
        aggregates: if count > 1 { 60 } else { 20 },
        asks_roots_only: rng.percent(40),
        has_logs: rng.percent(25),
        spawn_failures: rng.weighted(&[(5, 0), (1, 10)]),
        crashes: rng.weighted(&[(3, 1), (1, 6)]),
        has_orders: rng.percent(20),
        dies: rng.percent(25),
        speech,
    };
    let mut servers: Vec<ServerSettings> =
        plan.speech.iter().enumerate().map(|(at, speech)| server(rng, at, *speech)).collect();
    // The names of several would collide.
    if let [only] = &mut servers[..]
        && rng.percent(40)
    {
        only.naming = Naming::new(&only.name, NameStyle::Plain).into();
    }
    (plan, settings(rng, seed, servers))
}

fn some_speech(rng: &mut Rng) -> Speech {
    rng.weighted(&[
        (3, Speech::Legacy),
        (2, Speech::Silent),
        (2, Speech::Fragile),
        (5, Speech::Modern),
        (4, Speech::Dual),
    ])
}

fn server(rng: &mut Rng, at: usize, speech: Speech) -> ServerSettings {
    let era = if speech.is_modern() { Era::Modern } else { Era::Legacy };
    ServerSettings {
        scope: rng.weighted(&[(3, Scope::Root), (1, Scope::Global), (1, Scope::Client)]),
        capabilities: *rng.pick(&[Capabilities::Auto, Capabilities::Exact, Capabilities::Shared]),
        idle_ttl: rng.weighted(&[(3, None), (1, Some(secs(1))), (1, Some(secs(20)))]),
        health: rng.weighted(&[(2, None), (1, Some(secs(5)))]),
        framing: FramingChoice::Fixed(Framing::Newline),
        era: if rng.percent(25) { EraChoice::Fixed(era) } else { EraChoice::Auto },
        is_remote: speech != Speech::Fragile && rng.percent(25),
        start_timeout: secs(*rng.pick(&[2, 5, 30])),
        timeout: secs(*rng.pick(&[5, 20, 60])),
        input_timeout: secs(*rng.pick(&[5, 60, 600])),
        on_timeout: *rng.pick(&[OnTimeout::Probe, OnTimeout::Restart, OnTimeout::Keep]),
        retry_after_crash: *rng.pick(&[RetryAfterCrash::Safe, RetryAfterCrash::Safe, RetryAfterCrash::Off]),
        shutdown_grace: rng.millis(200..=2000),
        max_in_flight: rng.weighted(&[(6, 64), (1, 2)]),
        lazy: rng.percent(70),
        stores_lists: rng.percent(30),
        ..ServerSettings::new(&format!("s{at}"))
    }
}

fn settings(rng: &mut Rng, seed: u64, servers: Vec<ServerSettings>) -> Settings {
    Settings {
        servers,
        pool: Pool {
            max_backends: rng.weighted(&[(6, 32), (1, 2)]),
            max_list_starts: rng.within(1..=4),
            memory_limit: None,
            is_memory_limit_given: false,
        },
        roots: Roots {
            home: Some("/home/me".into()),
            policy: Policy { open_roots: true, fallback: true, style: Style::Unix },
        },
        dialect: LearntDialect::Fixed(Dialect::Standard),
        client_era: if rng.percent(5) { ClientEra::Legacy } else { ClientEra::Auto },
        shutdown_grace: rng.millis(200..=3000),
        limits: Limits::default(),
        identity_limits: IdentityLimits::default(),
        limiter: NewLimiter::default(),
        linger: rng.weighted(&[(3, None), (1, Some(secs(2))), (1, Some(secs(60)))]),
        profiles: Vec::new(),
        aggregates: Aggregates {
            list_grace: secs(rng.weighted(&[(2, 10), (1, 1)])),
            page_size: None,
            notifications: Vec::new(),
        },
        stays: false,
        first_question: 1,
        state_key: Default::default(),
        started: std::time::UNIX_EPOCH,
        seed,
        authenticator: std::sync::Arc::new(switchboard_core::access::NoTokens),
        report_routes: false,
        audit: AuditPolicy::default(),
        secrets: Secrets::NONE,
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

//! The character of a run: settings, and the behaviour of the parties.

use crate::simulator::engine::{ENVIRONMENTS, End, Rng};
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::access::{AuditPolicy, Identity, IdentityLimits, NewLimiter};
use switchboard_core::catalogue::{NameStyle, Naming};
use switchboard_core::redact::Secrets;
use switchboard_core::routing::Policy;
use switchboard_core::routing::path::Style;
use switchboard_core::{
    Aggregates, Capabilities, FramingChoice, Limits, OnTimeout, Pool, RetryAfterCrash, Roots, Scope,
    ServerSettings, Settings, StatePolicy,
};
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Dialect, Framing};

/// Folders that look like projects. One is inside another.
pub(super) const PROJECTS: &[&str] = &["/w/a", "/w/a/in", "/w/b", "/w/c", "/x/d"];
pub(super) const DEBOUNCED: &str = "notifications/tools/list_changed";
/// Tool hidden by a filter.
pub(super) const HIDDEN: &str = "secret";

#[derive(Debug)]
pub(crate) struct PoolPlan {
    /// Number of concurrent clients.
    pub(super) clients: usize,
    pub(super) end: End,
    pub(super) environments: u32,
    /// Whether some clients speak another version of the protocol.
    pub(super) versions_differ: bool,
    /// Whether some clients send requests before their handshake.
    pub(super) has_early_talkers: bool,
    /// Whether the server offers other tools to other clients.
    pub(super) offers_differ: bool,
    /// Whether the server asks its clients questions.
    pub(super) asks: bool,
    pub(super) asks_roots: bool,
    pub(super) is_crashy: bool,
    /// Percentage.
    pub(super) spawn_failures: usize,
    /// Whether the owner gives orders and changes the config.
    pub(super) has_orders: bool,
    /// Identities of the clients.
    pub(super) identities: Vec<Arc<Identity>>,
    /// Roots given to every client.
    pub(super) given: Vec<String>,
    pub(super) default: Option<String>,
}

impl PoolPlan {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        Self {
            clients: rng.weighted(&[(1, 1), (3, 2), (3, 3), (2, 4), (1, 5)]),
            end: *rng.pick(&[End::Drain, End::DrainTwice, End::Kill, End::InputsClose, End::ClientsLost]),
            environments: rng.weighted(&[(3, 1), (1, 2), (1, ENVIRONMENTS)]),
            versions_differ: rng.percent(10),
            has_early_talkers: rng.percent(8),
            offers_differ: rng.percent(25),
            asks: rng.percent(35),
            asks_roots: rng.percent(50),
            is_crashy: rng.percent(20),
            spawn_failures: rng.weighted(&[(8, 0), (2, 10)]),
            has_orders: rng.percent(25),
            given: if rng.percent(20) { vec![rng.pick(PROJECTS).to_string()] } else { Vec::new() },
            identities: vec![Arc::default()],
            default: rng.percent(20).then(|| rng.pick(PROJECTS).to_string()),
        }
    }
}

pub(super) fn settings(rng: &mut Rng, seed: u64) -> Settings {
    let mut naming = Naming::new("sim", NameStyle::Prefixed);
    naming.tools.deny = if rng.percent(40) { vec![HIDDEN.into()] } else { Vec::new() };
    let server = ServerSettings {
        scope: rng.weighted(&[(6, Scope::Root), (1, Scope::Global), (1, Scope::Client)]),
        splits: rng.percent(60),
        needs_root: rng.percent(30),
        state: rng.weighted(&[(6, StatePolicy::None), (1, StatePolicy::Client), (2, StatePolicy::Backend)]),
        capabilities: *rng.pick(&[Capabilities::Auto, Capabilities::Exact, Capabilities::Shared]),
        max_backends: rng.within(1..=4),
        idle_ttl: rng.weighted(&[(1, None), (2, Some(secs(1))), (2, Some(secs(10)))]),
        memory_limit: rng.weighted(&[(3, None), (1, Some(1000))]),
        health: rng.weighted(&[(2, None), (1, Some(secs(5)))]),
        debounce: debounce(rng),
        framing: FramingChoice::Fixed(Framing::Newline),
        start_timeout: secs(*rng.pick(&[2, 5, 30])),
        timeout: secs(*rng.pick(&[3, 10, 60])),
        hard_timeout: rng.weighted(&[(3, None), (1, Some(secs(120)))]),
        on_timeout: *rng.pick(&[OnTimeout::Probe, OnTimeout::Probe, OnTimeout::Restart, OnTimeout::Keep]),
        retry_after_crash: *rng.pick(&[RetryAfterCrash::Safe, RetryAfterCrash::Safe, RetryAfterCrash::Off]),
        shutdown_grace: rng.millis(200..=3000),
        max_in_flight: rng.weighted(&[(6, 64), (1, 1), (1, 2)]),
        max_queue: rng.weighted(&[(8, 256), (1, 3)]),
        naming: Arc::new(naming),
        // The scenario `eras` is about the others.
        era: switchboard_core::EraChoice::Fixed(switchboard_protocol::Era::Legacy),
        ..ServerSettings::new("sim")
    };
    let memory_limit = rng.weighted(&[(4, None), (1, Some(2000))]);
    let policy = Policy { open_roots: rng.percent(70), fallback: rng.percent(70), style: Style::Unix };
    let max_backends = rng.within(1..=4);
    Settings {
        servers: vec![server],
        pool: Pool { max_backends, memory_limit, is_memory_limit_given: true, ..Pool::default() },
        roots: Roots { home: Some("/home/me".into()), policy },
        dialect: LearntDialect::Fixed(Dialect::Standard),
        client_era: Default::default(),
        shutdown_grace: rng.millis(200..=3000),
        limits: Limits::default(),
        identity_limits: IdentityLimits::default(),
        limiter: NewLimiter::default(),
        linger: rng.weighted(&[(4, None), (1, Some(secs(2))), (1, Some(secs(30)))]),
        profiles: Vec::new(),
        aggregates: Aggregates::default(),
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

fn debounce(rng: &mut Rng) -> Vec<(String, Duration)> {
    if rng.percent(50) {
        return Vec::new();
    }
    vec![
        ("notifications/roots/list_changed".into(), Duration::from_millis(300)),
        (DEBOUNCED.into(), Duration::from_millis(500)),
    ]
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

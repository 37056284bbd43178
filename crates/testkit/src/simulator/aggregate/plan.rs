//! The character of a run: settings, and the behaviour of the parties.

use super::menu::naming;
use super::rights;
use crate::simulator::engine::{ENVIRONMENTS, Rng};
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::access::{AuditPolicy, IdentityLimits, NewLimiter};
use switchboard_core::catalogue::NameStyle;
use switchboard_core::pins::Pinning;
use switchboard_core::redact::Secrets;
use switchboard_core::routing::Policy;
use switchboard_core::routing::path::Style;
use switchboard_core::{
    Aggregates, Capabilities, FramingChoice, Limits, OnTimeout, Pool, RetryAfterCrash, Roots, Scope,
    ServerSettings, Settings, StatePolicy,
};
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Dialect, Framing};

/// Names of servers. One begins with another, so that public names may collide; a long one leaves little room.
pub(super) const SERVERS: &[&str] = &["a", "a__b", "git", "a-server-with-such-a-long-name-as-this"];
/// Names of profiles.
pub(super) const PROFILES: &[&str] = &["one", "other"];
pub(super) const VERSIONS: &[&str] = &["2025-06-18", "2025-11-25"];
pub(super) const ROOTS: &[&str] = &["/w/a", "/w/b"];

#[derive(Debug)]
pub(crate) struct AggregatePlan {
    /// Number of concurrent clients.
    pub(super) clients: usize,
    pub(super) style: NameStyle,
    pub(super) environments: u32,
    /// Whether clients differ in capabilities.
    pub(super) classes: usize,
    pub(super) versions: usize,
    /// Percentage.
    pub(super) spawn_failures: usize,
    pub(super) asks: bool,
    pub(super) reloads: bool,
    pub(super) restarts: bool,
    /// Whether some clients have a profile.
    pub(super) has_profiles: bool,
}

impl AggregatePlan {
    /// Whether clients may get other rights while they are there.
    pub(super) fn changes_rights(&self) -> bool {
        self.reloads && self.has_profiles
    }

    pub(super) fn draw(rng: &mut Rng) -> Self {
        Self {
            clients: rng.weighted(&[(2, 1), (3, 2), (3, 3), (1, 5)]),
            style: rng.weighted(&[(4, NameStyle::Prefixed), (1, NameStyle::Plain)]),
            environments: rng.weighted(&[(4, 1), (1, 2), (1, ENVIRONMENTS)]),
            classes: rng.weighted(&[(2, 1), (1, 2)]),
            versions: rng.weighted(&[(4, 1), (1, 2)]),
            spawn_failures: rng.weighted(&[(4, 0), (1, 15)]),
            asks: rng.percent(40),
            reloads: rng.percent(40),
            restarts: rng.percent(30),
            has_profiles: rng.percent(40),
        }
    }
}

pub(super) fn server(rng: &mut Rng, name: &str, style: NameStyle) -> ServerSettings {
    ServerSettings {
        scope: rng.weighted(&[(8, Scope::Root), (1, Scope::Global), (1, Scope::Client)]),
        splits: rng.percent(15),
        state: rng.weighted(&[
            (6, StatePolicy::None),
            (1, StatePolicy::Client),
            (1, StatePolicy::Backend),
            (1, StatePolicy::Auto),
        ]),
        capabilities: *rng.pick(&[Capabilities::Auto, Capabilities::Exact, Capabilities::Shared]),
        max_backends: rng.within(1..=4),
        idle_ttl: rng.weighted(&[(3, None), (1, Some(secs(1))), (1, Some(secs(20)))]),
        framing: FramingChoice::Fixed(Framing::Newline),
        start_timeout: secs(*rng.pick(&[2, 5, 30])),
        timeout: secs(*rng.pick(&[5, 20, 60])),
        on_timeout: *rng.pick(&[OnTimeout::Probe, OnTimeout::Restart, OnTimeout::Keep]),
        retry_after_crash: *rng.pick(&[RetryAfterCrash::Safe, RetryAfterCrash::Safe, RetryAfterCrash::Off]),
        shutdown_grace: rng.millis(200..=2000),
        max_in_flight: rng.weighted(&[(8, 64), (1, 2)]),
        max_queue: rng.weighted(&[(8, 256), (1, 4)]),
        naming: Arc::new(naming(rng, name, style)),
        is_listed: rng.percent(95),
        lazy: rng.percent(85),
        stores_lists: rng.percent(50),
        pinning: rng.weighted(&[(2, Pinning::Off), (1, Pinning::Warn), (2, Pinning::Hold)]),
        // The scenario `eras` is about the others.
        era: switchboard_core::EraChoice::Fixed(switchboard_protocol::Era::Legacy),
        ..ServerSettings::new(name)
    }
}

pub(super) fn settings(rng: &mut Rng, plan: &AggregatePlan, seed: u64) -> Settings {
    let count = rng.weighted(&[(1, 1), (4, 2), (4, 3), (1, 4)]);
    let servers: Vec<_> = (0..count).map(|at| server(rng, SERVERS[at], plan.style)).collect();
    let only = servers[0].name.clone();
    let rule = vec![("notifications/custom".to_owned(), vec![only])];
    let profile = |rng: &mut Rng, name: &&str| ((*name).to_owned(), Arc::new(rights::draw(rng, SERVERS)));
    let profiles = PROFILES.iter().filter(|_| plan.has_profiles).map(|name| profile(rng, name)).collect();
    Settings {
        servers,
        pool: Pool {
            max_backends: rng.weighted(&[(6, 32), (1, 2), (1, 4)]),
            max_list_starts: rng.within(1..=4),
            memory_limit: None,
            is_memory_limit_given: false,
        },
        roots: Roots {
            home: Some("/home/me".into()),
            policy: Policy { open_roots: true, fallback: true, style: Style::Unix },
        },
        dialect: LearntDialect::Fixed(Dialect::Standard),
        client_era: Default::default(),
        shutdown_grace: rng.millis(200..=3000),
        limits: Limits {
            client_bytes: rng.weighted(&[(4, 64 << 20), (1, 3000)]),
            subscriptions_per_client: rng.weighted(&[(4, 1024), (1, 1)]),
            ..Limits::default()
        },
        identity_limits: IdentityLimits::default(),
        limiter: NewLimiter::default(),
        linger: rng.weighted(&[(1, None), (1, Some(secs(2))), (1, Some(secs(60)))]),
        profiles,
        aggregates: aggregates(rng, rule),
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

fn aggregates(rng: &mut Rng, rule: Vec<(String, Vec<String>)>) -> Aggregates {
    let notifications = if rng.percent(50) { rule } else { Vec::new() };
    let list_grace = Duration::from_secs(rng.weighted(&[(2, 10), (1, 1), (1, 0), (1, 30)]));
    let page_size = rng.weighted(&[(2, None), (1, Some(1)), (2, Some(2)), (1, Some(5))]);
    Aggregates { list_grace, page_size, notifications }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

//! Settings of a relay: a core whose only backend is the daemon, and which forwards every message.

use crate::config::Config;
use crate::environments::Vars;
use crate::fronts::local::hello::{AdHoc, Newcomer};
use crate::settings::{self, RootOptions};
use crate::tokens::secret;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::access::{AuditPolicy, IdentityLimits, NewLimiter, NoTokens, Proof};
use switchboard_core::redact::Secrets;
use switchboard_core::{Aggregates, FramingChoice, Limits, OnTimeout, Pool, Roots, ServerSettings, Settings};
use switchboard_protocol::Framing;

/// Stands for "no timeout": the daemon enforces deadlines. A limit still keeps pending
/// requests from piling up for ever.
const RELAY_TIMEOUT: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// Interval of health checks while requests are open. With ten seconds for an answer, a hung
/// daemon is given up within fifteen.
const HEALTH_CHECK_INTERVAL: Duration = Duration::from_secs(4);
/// Time limit for the connection to close.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// Description of our client for the daemon.
pub(crate) fn newcomer(
    server: Option<&str>,
    profile: Option<String>,
    ad_hoc: Option<AdHoc>,
    roots: &RootOptions,
) -> Newcomer {
    // The daemon decides about the proof, by its own config.
    let own = settings::own_surroundings(roots, Proof::Unneeded);
    let text = |pair: (std::ffi::OsString, std::ffi::OsString)| {
        // JSON carries text only, and no setting could name a variable that is not text.
        Some((pair.0.into_string().ok()?, pair.1.into_string().ok()?))
    };
    Newcomer {
        server: server.unwrap_or_default().to_owned(),
        everything: server.is_none(),
        profile,
        ad_hoc,
        working_folder: own.working_folder,
        pinned: own.pinned,
        given: own.given,
        default: own.default,
        env: Vars::own().all().filter_map(text).collect(),
        // Without a mark, a refused request is answered with an error instead of being retried.
        refusal_mark: secret::random().ok(),
        ..Newcomer::default()
    }
}

/// Settings of the relay. The daemon enforces limits and deadlines.
pub(crate) fn settings(config: &Config, server: &str, refusal_mark: Option<&str>) -> Settings {
    let relay = ServerSettings {
        relays: true,
        refusal_mark: refusal_mark.map(Into::into),
        framing: FramingChoice::Fixed(Framing::Newline),
        start_timeout: RELAY_TIMEOUT,
        timeout: RELAY_TIMEOUT,
        on_timeout: OnTimeout::Keep,
        health: Some(HEALTH_CHECK_INTERVAL),
        shutdown_grace: CLOSE_GRACE,
        // The daemon applies the server's own limits.
        max_in_flight: usize::MAX,
        max_queue: Limits::default().pending_per_client,
        ..ServerSettings::new(server)
    };
    Settings {
        servers: vec![relay],
        pool: Pool::default(),
        roots: Roots::default(),
        dialect: settings::learnt_dialect(config.dialect),
        client_era: Default::default(),
        shutdown_grace: config.shutdown_grace,
        limits: settings::limits(config),
        identity_limits: IdentityLimits::default(),
        limiter: NewLimiter::default(),
        // The relay ends with its one client.
        linger: None,
        aggregates: Aggregates::default(),
        // The daemon has them.
        profiles: Vec::new(),
        stays: false,
        first_question: 1,
        state_key: Default::default(),
        started: std::time::SystemTime::now(),
        seed: u64::from(std::process::id()),
        // Tokens in messages pass on to the daemon.
        authenticator: Arc::new(NoTokens),
        report_routes: false,
        audit: AuditPolicy::default(),
        secrets: Secrets::NONE,
    }
}

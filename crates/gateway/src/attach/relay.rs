//! A core that relays: its one backend is the daemon, and everything passes.

use crate::config::Config;
use crate::environments::Vars;
use crate::fronts::http::token;
use crate::fronts::local::hello::{AdHoc, Newcomer};
use crate::settings::{self, RootOptions};
use std::time::Duration;
use switchboard_core::{Aggregates, FramingChoice, Limits, OnTimeout, Pool, Roots, ServerSettings, Settings};
use switchboard_protocol::Framing;

/// Deadlines are the daemon's; ours only keep pending requests from adding up for ever.
const RELAY_TIMEOUT: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// How often a daemon that is at work for us is asked whether it lives. With the ten seconds that it has for an answer, one
/// that hangs is given up within fifteen.
const HEALTH_CHECK_INTERVAL: Duration = Duration::from_secs(4);
/// How long the connection may take to close.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// Our client, as the daemon is told of it.
pub(crate) fn newcomer(server: Option<&str>, ad_hoc: Option<AdHoc>, roots: &RootOptions) -> Newcomer {
    let own = settings::own_surroundings(roots);
    let text = |pair: (std::ffi::OsString, std::ffi::OsString)| {
        Some((pair.0.into_string().ok()?, pair.1.into_string().ok()?))
    };
    Newcomer {
        server: server.unwrap_or_default().to_owned(),
        everything: server.is_none(),
        ad_hoc,
        working_folder: own.working_folder,
        pinned: own.pinned,
        given: own.given,
        default: own.default,
        env: Vars::own().all().filter_map(text).collect(),
        handover: 0,
        // Without random numbers a request that is turned away is answered with an error.
        refusal_mark: token::random().ok(),
        log: None,
    }
}

/// Settings of the relay. Limits and deadlines are the daemon's.
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
        max_in_flight: usize::MAX,
        max_queue: Limits::default().pending_per_client,
        ..ServerSettings::new(server)
    };
    Settings {
        servers: vec![relay],
        pool: Pool::default(),
        roots: Roots::default(),
        dialect: settings::learnt_dialect(config.dialect),
        shutdown_grace: config.shutdown_grace,
        limits: settings::limits(config),
        linger: None,
        aggregates: Aggregates::default(),
        stays: false,
        first_question: 1,
        seed: u64::from(std::process::id()),
        report_routes: false,
    }
}

//! The character of a run: how its limits are set, how its parties behave, and how it ends.

use super::rng::Rng;
use std::time::Duration;
use switchboard_core::{
    Aggregates, FramingChoice, Limits, OnTimeout, Pool, RetryAfterCrash, Roots, Scope, ServerSettings,
    Settings,
};
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Dialect, Framing};

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) settings: Settings,
    pub(super) steps: usize,
    /// So many clients come in the course of the run.
    pub(super) clients: usize,
    /// Ticks come when they are wanted; else late.
    pub(super) is_punctual: bool,
    /// In so many of a hundred cases no process can be made.
    pub(super) spawn_failures: usize,
    /// The longest padding of a message.
    pub(super) longest: usize,
    /// Some processes of this run die soon after their start.
    pub(super) is_crashy: bool,
    /// Before the end, time goes on until every request must have been answered.
    pub(super) settles: bool,
    pub(super) end: End,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Drain,
    Kill,
    InputsClose,
    ClientsLost,
    Exit,
    Shutdown,
    /// A drain, and a second or a kill before it is done.
    DrainTwice,
    DrainThenKill,
}

impl Plan {
    pub(super) fn roll(rng: &mut Rng, seed: u64) -> Self {
        let is_crashy = rng.percent(35);
        Self {
            settings: settings(rng, seed),
            steps: rng.within(150..=350),
            clients: rng.within(1..=4),
            is_punctual: rng.percent(60),
            spawn_failures: *rng.pick(&[0, 0, 3, 30]),
            longest: *rng.pick(&[40, 300, 2000]),
            is_crashy,
            settles: rng.percent(50),
            end: *rng.pick(&[
                End::Drain,
                End::Drain,
                End::Kill,
                End::InputsClose,
                End::ClientsLost,
                End::Exit,
                End::Shutdown,
                End::DrainTwice,
                End::DrainThenKill,
            ]),
        }
    }
}

fn settings(rng: &mut Rng, seed: u64) -> Settings {
    let timeout = rng.weighted(&[(3, secs(1)), (3, secs(10)), (2, secs(60)), (2, secs(600))]);
    let hard_timeout = match rng.below(3) {
        0 => None,
        1 => Some(timeout * 2),
        _ => Some(timeout + Duration::from_millis(700)),
    };
    let server = ServerSettings {
        // Each client has a backend of its own here; how they share is the affair of the other simulator.
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
        hard_timeout,
        on_timeout: *rng.pick(&[OnTimeout::Probe, OnTimeout::Probe, OnTimeout::Restart, OnTimeout::Keep]),
        retry_after_crash: *rng.pick(&[RetryAfterCrash::Safe, RetryAfterCrash::Safe, RetryAfterCrash::Off]),
        shutdown_grace: rng.millis(200..=5000),
        max_in_flight: *rng.pick(&[64, 64, 1, 2, 5]),
        max_queue: if rng.percent(50) { 256 } else { rng.within(1..=8) },
        ..ServerSettings::new("sim")
    };
    Settings {
        servers: vec![server],
        pool: Pool::default(),
        roots: Roots::default(),
        dialect: *rng.pick(&[
            LearntDialect::Open,
            LearntDialect::Open,
            LearntDialect::Open,
            LearntDialect::Fixed(Dialect::Standard),
        ]),
        shutdown_grace: rng.millis(200..=5000),
        limits: if rng.percent(50) { Limits::default() } else { tight_limits(rng) },
        linger: None,
        aggregates: Aggregates::default(),
        stays: false,
        first_question: 1,
        seed,
        report_routes: rng.percent(50),
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

//! A client on our standard streams that cannot be served: each request is answered with the reason. An IDE
//! shows the error of `initialize`; for a process that just exits it shows only "connection closed".

use super::tasks::Tasks;
use crate::backends::{Dispatch, NoBackends};
use crate::fronts::{self, Arrival, Wanted};
use crate::hub::Hub;
use crate::io::reader::ClientReader;
use crate::telemetry::Telemetry;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::access::{AuditPolicy, IdentityLimits, NewLimiter, NoTokens};
use switchboard_core::redact::Secrets;
use switchboard_core::{Aggregates, ClientId, Core, Limits, Pool, Roots, Settings, Surroundings};
use switchboard_process::parent::Parent;
use switchboard_process::signals::Signals;
use switchboard_process::stdio::OwnStdio;
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::framing::DEFAULT_MESSAGE_LIMIT_BYTES;
use switchboard_protocol::{ErrorAnswer, ErrorKind};

/// Time limit for the client to read its last answers.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(1);

/// Reason why the client cannot be served.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub message: String,
    /// How to fix it.
    pub hint: String,
    /// The end of our parent process does not mean the client's end.
    pub ignore_parent: bool,
}

/// Answers until the client ends or a signal arrives. Must be called within a tokio runtime.
pub async fn run(refusal: Refusal, stdio: OwnStdio) -> std::io::Result<()> {
    let parent = Parent::watch();
    let signals = Signals::new()?;
    let error = ErrorAnswer::new(ErrorKind::ConfigError, refusal.message).retryable(false).hint(refusal.hint);
    let core = Core::refusing(settings(), error);
    let hub = Hub::new(core, Dispatch::to(Arc::new(NoBackends)), Telemetry::silent());
    let client = ClientId(1);
    let surroundings = Surroundings::default();
    let (wants, reader) = (Wanted::All(Vec::new()), ClientReader::default());
    let arrival = Arrival { client, wants, surroundings, reader };
    let mut tasks = Tasks::of(&hub);
    tasks.obey(&hub, signals);
    let streams = (stdio.input, stdio.output);
    tasks.spawn(
        "serving",
        // The framing is detected from the client, since there is no config to fix it.
        fronts::stdio::serve(hub.clone(), arrival, streams, None, DEFAULT_MESSAGE_LIMIT_BYTES),
    );
    if !refusal.ignore_parent {
        tasks.follow(&hub, client, parent);
    }
    hub.finished(client, LAST_ANSWERS_TIMEOUT).await;
    tasks.end();
    Ok(())
}

/// Default limits and no server.
fn settings() -> Settings {
    Settings {
        servers: Vec::new(),
        pool: Pool::default(),
        roots: Roots::default(),
        dialect: LearntDialect::Open,
        client_era: Default::default(),
        shutdown_grace: LAST_ANSWERS_TIMEOUT,
        limits: Limits::default(),
        identity_limits: IdentityLimits::default(),
        limiter: NewLimiter::default(),
        linger: None,
        aggregates: Aggregates::default(),
        profiles: Vec::new(),
        stays: false,
        first_question: 1,
        state_key: Default::default(),
        started: std::time::SystemTime::now(),
        seed: u64::from(std::process::id()),
        authenticator: Arc::new(NoTokens),
        report_routes: false,
        audit: AuditPolicy::default(),
        secrets: Secrets::NONE,
    }
}

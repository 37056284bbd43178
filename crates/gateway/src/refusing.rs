//! A client on our standard streams when there is nothing to serve: each of its requests gets the reason as its answer. An
//! IDE shows the error that `initialize` gets; of a process that only ends it shows "connection closed".

use crate::backends::Plan;
use crate::fronts::{self, Arrival, Wanted};
use crate::hub::Hub;
use crate::intake::ClientReader;
use crate::solo;
use crate::task;
use crate::telemetry::Telemetry;
use std::time::Duration;
use switchboard_core::{Aggregates, ClientId, Core, Limits, Pool, Roots, Settings, Surroundings};
use switchboard_process::parent::Parent;
use switchboard_process::signals::Signals;
use switchboard_process::stdio::OwnStdio;
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::framing::DEFAULT_MESSAGE_LIMIT_BYTES;
use switchboard_protocol::{ErrorAnswer, ErrorKind};

/// Time for the last answers to be read.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// Why there is nothing to serve.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// The end of the process that started us is not the client's.
    pub ignore_parent: bool,
}

/// Answers until the client, or a signal, ends it. Must be called within a tokio runtime.
pub async fn run(refusal: Refusal, stdio: OwnStdio) -> std::io::Result<()> {
    let parent = Parent::watch();
    let signals = Signals::new()?;
    let error = ErrorAnswer::new(ErrorKind::ConfigError, refusal.message).retryable(false).hint(refusal.hint);
    let core = Core::refusing(settings(), error);
    let hub = Hub::new(core, Plan::Nothing, Telemetry::silent());
    let client = ClientId(1);
    let surroundings = Surroundings::default();
    let here =
        Arrival { client, wants: Wanted::All(Vec::new()), surroundings, reader: ClientReader::default() };
    let tasks = [
        task::spawn("time", hub.clone().keep_time()),
        task::spawn("ending", solo::obey(hub.clone(), signals)),
        task::spawn(
            "serving",
            fronts::stdio::serve(hub.clone(), here, stdio, None, DEFAULT_MESSAGE_LIMIT_BYTES),
        ),
        task::spawn("following", solo::follow(hub.clone(), client, parent, refusal.ignore_parent)),
    ];
    hub.finished(client, LAST_ANSWERS).await;
    tasks.iter().for_each(|task| task.abort());
    Ok(())
}

/// No server, and the usual limits.
fn settings() -> Settings {
    Settings {
        servers: Vec::new(),
        pool: Pool::default(),
        roots: Roots::default(),
        dialect: LearntDialect::Open,
        shutdown_grace: LAST_ANSWERS,
        limits: Limits::default(),
        linger: None,
        aggregates: Aggregates::default(),
        stays: false,
        first_question: 1,
        seed: u64::from(std::process::id()),
        report_routes: false,
    }
}

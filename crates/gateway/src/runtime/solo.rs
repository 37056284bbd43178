//! One client on our standard streams, and its backends, in one process.

use super::gateway::{Gateway, Lifetime};
use super::tasks::LAST_WRITES_TIMEOUT;
use crate::config::{Config, LogLevel, ServerConfig};
use crate::fronts;
use crate::settings::{self, RootOptions};
use crate::telemetry::{LogOptions, Telemetry};
use std::path::PathBuf;
use switchboard_core::{ClientId, ServerId};
use switchboard_process::parent::Parent;
use switchboard_process::signals::Signals;
use switchboard_process::stdio::OwnStdio;

/// What to run.
pub struct Solo {
    pub config: Config,
    pub servers: Vec<ServerConfig>,
    /// The client sees all of them as one, and not the only one as it is.
    pub as_one: bool,
    pub roots: RootOptions,
    pub state_folder: PathBuf,
    pub log: LogOptions,
    /// The end of the process that started us is not the client's.
    pub ignore_parent: bool,
}

/// Serves the client until it, or a signal, ends it. Must be called within a tokio runtime.
pub async fn run(solo: Solo, stdio: OwnStdio) -> std::io::Result<()> {
    let parent = Parent::watch();
    let signals = Signals::new()?;
    let Solo { config, servers, as_one, roots, state_folder, log, ignore_parent } = solo;
    let reports_routes = matches!(log.level, LogLevel::Debug | LogLevel::Trace);
    let telemetry = Telemetry::start(log);
    let gateway = Gateway::new(&config, servers, &state_folder, Lifetime::Client, telemetry, reports_routes);
    let hub = &gateway.hub;
    let client = ClientId(1);
    let mut tasks = gateway.start_upkeep();
    tasks.obey(hub, signals);
    let arrival = gateway.own_client(client, (!as_one).then_some(ServerId(0)), &roots);
    let (framing, limit) = (settings::fixed(config.framing), config.max_message_bytes);
    let streams = (stdio.input, stdio.output);
    tasks.spawn("serving", fronts::stdio::serve(hub.clone(), arrival, streams, framing, limit));
    if !ignore_parent {
        tasks.follow(hub, client, parent);
    }
    hub.finished(client, LAST_WRITES_TIMEOUT).await;
    tasks.end();
    gateway.close().await;
    Ok(())
}

//! One client on our standard streams, and its backends, in one process.

use super::gateway::{Gateway, Lifetime};
use super::policy::Policy;
use super::tasks::LAST_WRITES_TIMEOUT;
use crate::config::{Config, LogLevel, ServerConfig};
use crate::fronts;
use crate::settings::{self, RootOptions};
use crate::telemetry::{LogOptions, Telemetry};
use crate::tokens::Secret;
use std::path::PathBuf;
use switchboard_core::{ClientId, ServerId};
use switchboard_process::parent::Parent;
use switchboard_process::signals::Signals;
use switchboard_process::stdio::OwnStdio;

/// Client and servers to run.
pub struct Solo {
    pub config: Config,
    pub servers: Vec<ServerConfig>,
    /// The client sees all servers as one, rather than the only server directly.
    pub as_one: bool,
    /// Profile of the config that narrows the client's rights.
    pub profile: Option<String>,
    pub roots: RootOptions,
    pub state_folder: PathBuf,
    pub log: LogOptions,
    /// Token of the client.
    pub token: Option<Secret>,
    /// The end of our parent process does not mean the client's end.
    pub ignore_parent: bool,
}

/// Serves the client until it ends or a signal arrives. Must be called within a tokio runtime.
pub async fn run(solo: Solo, stdio: OwnStdio) -> std::io::Result<()> {
    // Watched from the start: the parent may end while the servers are prepared.
    let parent = Parent::watch();
    let signals = Signals::new()?;
    let Solo { config, servers, as_one, profile, roots, state_folder, log, token, ignore_parent } = solo;
    let reports_routes = matches!(log.level, LogLevel::Debug | LogLevel::Trace);
    let telemetry = Telemetry::start(log);
    let lifetime = Lifetime::Client { policy: Policy::default() };
    let gateway = Gateway::new(&config, servers, &state_folder, lifetime, telemetry, reports_routes);
    let hub = &gateway.hub;
    let client = ClientId(1);
    let mut tasks = gateway.start_upkeep();
    tasks.obey(hub, signals);
    // Without `as_one` there is exactly one server, which has the first number.
    let proof = settings::proof(token.as_ref(), config.stdio_access);
    let mut arrival = gateway.own_client(client, (!as_one).then_some(ServerId(0)), &roots, proof);
    arrival.surroundings.profiles.extend(profile.map(Into::into));
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

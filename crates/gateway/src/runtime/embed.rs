//! One client over any pair of streams: the gateway as part of another program.

use super::gateway::{Gateway, Lifetime};
use super::policy::Policy;
use super::tasks::LAST_WRITES_TIMEOUT;
use crate::config::Config;
use crate::daemon::reload::Overrides;
use crate::fronts;
use crate::io::input::Input;
use crate::io::stream_writer::StreamWriter;
use crate::settings::{self, RootOptions};
use crate::telemetry::Telemetry;
use std::path::Path;
use switchboard_core::ClientId;
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves one MCP client over a pair of streams, until it closes its end and has its last answers.
///
/// The client sees all enabled servers of `config` as one. They are started on first use, with the variables
/// and the working folder of this process, and are stopped before this returns. Lists and facts about
/// launches are stored below `state_folder`; nothing is logged.
///
/// Must be called within a tokio runtime with I/O and time enabled. The guard processes run this program too:
/// call [`prepare_process`](crate::prepare_process) first in `main`. To end early, close `input`; a dropped
/// future leaves its servers to their guards, which end them with this process.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::path::Path;
/// use switchboard_gateway::config;
///
/// let text = r#"{ "mcpServers": { "files": { "command": "my-server" } } }"#;
/// let config = config::load(Path::new("embedded"), text).config.ok_or("the config has errors")?;
/// let (client, server) = tokio::io::duplex(64 * 1024);
/// let (input, output) = tokio::io::split(server);
/// tokio::spawn(async move {
///     let state = std::env::temp_dir().join("my-program");
///     switchboard_gateway::runtime::serve_client(config, &state, input, output).await;
/// });
/// // `client` speaks MCP, one message per line.
/// # drop(client);
/// # Ok(())
/// # }
/// ```
pub async fn serve_client(
    config: Config,
    state_folder: &Path,
    input: impl AsyncRead + Send + 'static,
    output: impl AsyncWrite + Send + 'static,
) {
    serve_client_by(Policy::default(), config, state_folder, input, output).await;
}

/// Same as [`serve_client`], by another policy.
pub async fn serve_client_by(
    policy: Policy,
    config: Config,
    state_folder: &Path,
    input: impl AsyncRead + Send + 'static,
    output: impl AsyncWrite + Send + 'static,
) {
    let servers = Overrides::default().servers(&config);
    let (lifetime, telemetry) = (Lifetime::Client { policy }, Telemetry::silent());
    let gateway = Gateway::new(&config, servers, state_folder, lifetime, telemetry, false);
    let client = ClientId(1);
    let mut tasks = gateway.start_upkeep();
    let proof = settings::proof(None, config.stdio_access);
    let arrival = gateway.own_client(client, None, &RootOptions::default(), proof);
    let streams = (Input::Stream(Box::pin(input)), StreamWriter::new(output));
    let (framing, limit) = (settings::fixed(config.framing), config.max_message_bytes);
    tasks.spawn("serving", fronts::stdio::serve(gateway.hub.clone(), arrival, streams, framing, limit));
    gateway.hub.finished(client, LAST_WRITES_TIMEOUT).await;
    tasks.end();
    gateway.close().await;
}

//! Switchboard inside another program: serves a client over a pair of streams in memory, from a config value.
//!
//! `cargo run --example embed -- COMMAND [ARGUMENT …]` starts that MCP server behind Switchboard and lists its tools.

#![forbid(unsafe_code)]

use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::path::Path;
use switchboard_gateway::config::{self, Config};
use switchboard_gateway::runtime::serve_client;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

/// Bytes that each direction of the client's connection holds.
const CONNECTION_BYTES: usize = 64 << 10;

fn main() -> anyhow::Result<()> {
    // Must come first: guard processes run this program too, and do not return from this call.
    switchboard_gateway::prepare_process();
    let command: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(&command))
}

async fn run(command: &[String]) -> anyhow::Result<()> {
    let config = config_for(command)?;
    let state_folder = switchboard_gateway::temporary_state_folder();
    let (client, server) = tokio::io::duplex(CONNECTION_BYTES);
    let (input, output) = tokio::io::split(server);
    let serving = tokio::spawn(async move { serve_client(config, &state_folder, input, output).await });
    list_tools(client).await?;
    // The client has closed its end, so the servers are stopped and the gateway ends.
    serving.await.context("the gateway ended early")
}

/// Config with one server, as a config file would have it.
fn config_for(command: &[String]) -> anyhow::Result<Config> {
    let [program, arguments @ ..] = command else { bail!("usage: embed COMMAND [ARGUMENT …]") };
    let text = json!({ "mcpServers": { "embedded": { "command": program, "args": arguments } } }).to_string();
    let loaded = config::load(Path::new("embed"), &text);
    let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    loaded.config.with_context(|| problems.join("\n"))
}

/// Minimal MCP client: the handshake, and one request.
#[expect(clippy::print_stdout, reason = "it is what the example is for")]
async fn list_tools(connection: DuplexStream) -> anyhow::Result<()> {
    let (input, mut output) = tokio::io::split(connection);
    let mut input = BufReader::new(input);
    let client = json!({ "name": "embed", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    say(&mut output, json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello })).await?;
    let welcome = hear_answer(&mut input, 1).await?;
    println!("connected to {}", welcome["result"]["serverInfo"]["name"]);
    say(&mut output, json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
    say(&mut output, json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" })).await?;
    let list = hear_answer(&mut input, 2).await?;
    for tool in list["result"]["tools"].as_array().context("the answer has no tools")? {
        println!("tool {}", tool["name"]);
    }
    // Tells the gateway that the client has left, so that `serve_client` returns.
    output.shutdown().await.context("the connection broke")
}

async fn say(output: &mut WriteHalf<DuplexStream>, message: Value) -> anyhow::Result<()> {
    output.write_all(format!("{message}\n").as_bytes()).await.context("the connection broke")
}

/// Answer to a request; earlier messages are skipped.
async fn hear_answer(input: &mut BufReader<ReadHalf<DuplexStream>>, id: u64) -> anyhow::Result<Value> {
    let mut line = String::new();
    while input.read_line(&mut line).await? > 0 {
        let message: Value = serde_json::from_str(&line)?;
        // A request of the server may use the same number as its id.
        if message["id"] == id && message.get("method").is_none() {
            return Ok(message);
        }
        line.clear();
    }
    bail!("the connection ended without an answer")
}

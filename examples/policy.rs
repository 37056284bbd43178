//! Another policy: the embedding program decides who a client is, what it may use and how often. Guests have a badge,
//! see the tools whose names begin with `e`, and may make two calls each.
//!
//! `cargo run --example policy -- COMMAND [ARGUMENT …]` starts that MCP server, and calls its first visible tool three
//! times as a guest.

#![forbid(unsafe_code)]

use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use switchboard_gateway::access::{
    Authenticator, CallAttempt, CallLimiter, CallRefusal, ExceededLimit, Identity, LimitScope, NewLimiter,
    Patterns, Permit, Rights,
};
use switchboard_gateway::config::{self, Config};
use switchboard_gateway::runtime::{Policy, serve_client_by};
use switchboard_gateway::{Moment, Principal};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

const BADGE: &str = "guest-badge-7";
const CALLS_PER_GUEST: NonZeroU32 = NonZeroU32::new(2).unwrap();
const CONNECTION_BYTES: usize = 64 << 10;

/// Knows one badge. The identity that it returns carries the rights.
#[derive(Debug)]
struct Badges(Arc<Identity>);

impl Authenticator for Badges {
    fn identify(&self, token: &str) -> Option<Arc<Identity>> {
        (token == BADGE).then(|| self.0.clone())
    }

    fn is_valid(&self, identity: &Arc<Identity>) -> bool {
        Arc::ptr_eq(identity, &self.0)
    }
}

/// Counts the calls of each identity, for good.
#[derive(Debug, Default)]
struct Quota(HashMap<Principal, u32>);

impl CallLimiter for Quota {
    fn begin(&mut self, call: &CallAttempt<'_>, _now: Moment) -> Result<Option<Permit>, CallRefusal> {
        let made = self.0.entry(call.identity.principal).or_default();
        if *made >= CALLS_PER_GUEST.get() {
            let limit = ExceededLimit::Concurrent(CALLS_PER_GUEST);
            let retry_after = Duration::from_secs(86_400);
            return Err(CallRefusal { scope: LimitScope::Token, limit, retry_after, users: 1 });
        }
        *made += 1;
        // A permit would come back at the end of the call; this policy only counts beginnings.
        Ok(None)
    }

    fn end(&mut self, _permit: Permit) {}

    fn held(&self) -> usize {
        0
    }
}

fn policy() -> Policy {
    let tools = Patterns { allow: vec!["e*".to_owned()], deny: Vec::new() };
    let rights = vec![Arc::new(Rights { tools, ..Rights::default() })];
    let guest = Identity { principal: Principal(100), name: "guest".into(), rights, ..Identity::default() };
    Policy {
        authenticator: Some(Arc::new(Badges(guest.into()))),
        limiter: NewLimiter::by(|| Box::new(Quota::default())),
    }
}

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
    let serving =
        tokio::spawn(async move { serve_client_by(policy(), config, &state_folder, input, output).await });
    visit(client).await?;
    serving.await.context("the gateway ended early")
}

/// Config with one server, whose clients need a token.
fn config_for(command: &[String]) -> anyhow::Result<Config> {
    let [program, arguments @ ..] = command else { bail!("usage: policy COMMAND [ARGUMENT …]") };
    let server = json!({ "command": program, "args": arguments });
    let text = json!({ "mcpServers": { "embedded": server }, "access": { "stdio": "token" } }).to_string();
    let loaded = config::load(Path::new("policy"), &text);
    let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    loaded.config.with_context(|| problems.join("\n"))
}

/// Minimal MCP client of a guest.
#[expect(clippy::print_stdout, reason = "it is what the example is for")]
async fn visit(connection: DuplexStream) -> anyhow::Result<()> {
    let (input, output) = tokio::io::split(connection);
    let mut client = Client { input: BufReader::new(input), output, last: 0 };
    let info = json!({ "name": "policy", "version": "1" });
    let mut hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    println!("without a badge: {}", outcome(&client.ask("initialize", hello.clone()).await?));
    hello["proxy"] = json!({ "authToken": BADGE });
    println!("with a badge: {}", outcome(&client.ask("initialize", hello).await?));
    client.say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
    let list = client.ask("tools/list", json!({})).await?;
    let tools = list["result"]["tools"].as_array().context("the answer has no tools")?;
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    println!("tools: {}", names.join(" "));
    for number in 1..=3 {
        let call = json!({ "name": names.first().context("no tool is visible")?, "arguments": {} });
        println!("call {number}: {}", outcome(&client.ask("tools/call", call).await?));
    }
    // Tells the gateway that the client has left, so that `serve_client_by` returns.
    client.output.shutdown().await.context("the connection broke")
}

/// `ok`, or the kind of the error.
fn outcome(answer: &Value) -> &str {
    answer["error"]["data"]["kind"].as_str().unwrap_or("ok")
}

struct Client {
    input: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
    last: u64,
}

impl Client {
    async fn say(&mut self, message: Value) -> anyhow::Result<()> {
        self.output.write_all(format!("{message}\n").as_bytes()).await.context("the connection broke")
    }

    /// The answer to a request; other messages are skipped.
    async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.last += 1;
        let id = self.last;
        self.say(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        let mut line = String::new();
        while self.input.read_line(&mut line).await? > 0 {
            let message: Value = serde_json::from_str(&line)?;
            // A request of the server may use the same number as its id.
            if message["id"] == id && message.get("method").is_none() {
                return Ok(message);
            }
            line.clear();
        }
        bail!("the connection ended without an answer")
    }
}
